"""The names that benchmarks and libraries give to the members of a row, and to TSV columns.

Documents and queries: BEIR, PyTerrier, ir_datasets, Pyserini. Judgments: BEIR, MTEB, Hugging Face,
ir_datasets, PyTerrier, MS MARCO.
"""

IDS = (
    "id",
    "_id",
    "docno",
    "doc_id",
    "qid",
    "query_id",
)
TEXTS = (
    "text",
    "query",
    "contents",
)

# The columns of judgments.
QUERY_IDS = (
    "query-id",
    "query_id",
    "qid",
    "queryid",
    "topic_id",
    "topic",
)
DOC_IDS = (
    "corpus-id",
    "corpus_id",
    "doc_id",
    "docid",
    "docno",
    "doc-id",
    "pid",
)
GRADES = (
    "score",
    "relevance",
    "rel",
    "label",
    "grade",
)
