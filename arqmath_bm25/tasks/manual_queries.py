"""Manual queries: what a person wrote to be searched for in place of the topics' text.

A file has a row for each topic: its id, a TAB, then keywords and formulas, with dollar signs around
formulas; further TABs may separate them. The labs call a run manual if a person had a hand in any
of its queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.progress import tell
from arqmath_bm25.runs.rows import read_columns

if TYPE_CHECKING:
    from arqmath_bm25.tasks.task import Task, TopicFile


def read_queries(path: Path) -> dict[str, str]:
    """Read the query of each topic, in the order of the file.

    Raises InputError for a missing, empty or binary file, a topic without a query, and one with
    two.
    """
    queries: dict[str, str] = {}
    for row, (topic, *words) in read_columns(path, "file of queries"):
        query = " ".join(filter(None, words))
        if not topic or not query:
            raise InputError(
                f"{path}: row {row}: found {shown(topic or query)} alone; expected a topic, a TAB, "
                "then keywords and formulas, with dollar signs around formulas"
            )
        if topic in queries:
            raise InputError(f"{path}: row {row}: a second query for topic {topic}")
        queries[topic] = query
    return queries


def with_queries(
    task: Task[Any], sets: Sequence[TopicFile], queries: Mapping[str, str], path: Path
) -> list[TopicFile]:
    """Return topic sets with queries in place of what the topics say; topics without one go.

    Raises InputError for a query whose topic is in none of the sets.
    """
    topics = {topic.topic_id for topic_set in sets for topic in topic_set.topics}
    for topic, query in queries.items():
        if topic not in topics:
            read = ", ".join(str(topic_set.path) for topic_set in sets)
            raise InputError(f"{path}: topic {topic} is not in {read}; --topics chooses others")
        if note := task.advice(query):
            tell(f"{path}: topic {topic}: {note}")
    if without := len(topics) - len(queries):
        tell(f"{path}: {without:,} of {len(topics):,} topics have no query, so no rows either")
    return [
        topic_set._replace(
            topics=[
                task.topic(query)._replace(topic_id=topic.topic_id, excluded=topic.excluded)
                for topic in topic_set.topics
                if (query := queries.get(topic.topic_id, ""))
            ]
        )
        for topic_set in sets
    ]
