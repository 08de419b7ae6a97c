"""The names that benchmarks and libraries give to the members of a row, and to TSV columns.

Documents and queries: BEIR, PyTerrier, ir_datasets, Pyserini. Judgments: BEIR, MTEB, Hugging Face,
ir_datasets, PyTerrier, MS MARCO.
"""

from typing import Final

IDS: Final = (
    "id",
    "_id",
    "docno",
    "doc_id",
    "qid",
    "query_id",
)
TEXTS: Final = (
    "text",
    "query",
    "contents",
)

# The columns of judgments.
QUERY_IDS: Final = (
    "query-id",
    "query_id",
    "qid",
    "queryid",
    "topic_id",
    "topic",
)
DOC_IDS: Final = (
    "corpus-id",
    "corpus_id",
    "doc_id",
    "docid",
    "docno",
    "doc-id",
    "pid",
)
GRADES: Final = (
    "score",
    "relevance",
    "rel",
    "label",
    "grade",
)
