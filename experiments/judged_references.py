"""Judgments as references: the documents that are relevant for a query are those that it refers to.

So it is in premise selection, where a proof cites the premises. A query then learns from all others
(`index docs --train FILE`), never from its own judgments.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from arqmath_bm25.collection.own_documents import read_documents
from arqmath_bm25.core.writing import complete

if TYPE_CHECKING:
    from arqmath_bm25.evaluation.qrels import Qrels


def write_references(queries: Path, qrels: Qrels, path: Path) -> None:
    """Write the judged queries as rows of JSON, with what is relevant for each as `references`."""
    with complete(path) as file:
        for query, _ in read_documents(queries):
            grades = qrels.get(query.doc_id, {})
            references = [doc_id for doc_id, grade in grades.items() if grade > 0]
            row = {
                "id": query.doc_id,
                "title": query.title,
                "text": query.text,
                "references": references,
            }
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
