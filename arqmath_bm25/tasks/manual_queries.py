"""Manual queries: what a person wrote to be searched for in place of the topics' text.

A file has a row for each topic: its id, a TAB, then keywords and formulas, with dollar signs around
formulas; further TABs may separate them. The labs call a run manual if a person had a hand in any
of its queries.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.progress import tell
from arqmath_bm25.runs.rows import read_columns
from arqmath_bm25.tasks.task import Task, TopicFile


def read_queries(path: Path) -> dict[str, str]:
    """Read the query of each topic, in the order of the file.

    Raises InputError for a missing, empty or binary file, a topic without a query, and one with
    two.
    """
    if path.suffix == ".jsonl":
        raise InputError(f"{path}: queries as JSON lines are topics", topics=path)

    queries = {}
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
    task: Task, sets: Sequence[TopicFile], queries: Mapping[str, str], path: Path
) -> list[TopicFile]:
    """Return topic sets in which queries replace the texts of topics.

    Topics without a query are left out. Raises InputError for a query of an unknown topic.
    """
    topics = set[str]()
    for topic_set in sets:
        topics.update(topic.topic_id for topic in topic_set.topics)

    for topic_id, query in queries.items():
        if topic_id not in topics:
            read = ", ".join(str(topic_set.path) for topic_set in sets)
            raise InputError(f"{path}: topic {topic_id} is not in {read}", topics="FILE")
        note = task.advice(query)
        if note:
            tell(f"{path}: topic {topic_id}: {note}")

    without = len(topics) - len(queries)
    if without:
        tell(f"{path}: {without:,} of {len(topics):,} topics have no query, so no rows either")

    replaced = []
    for topic_set in sets:
        asked = []
        for topic in topic_set.topics:
            if topic.topic_id in queries:
                typed = task.topic(queries[topic.topic_id])
                asked.append(typed._replace(topic_id=topic.topic_id, excluded=topic.excluded))
        replaced.append(topic_set._replace(topics=asked))
    return replaced
