"""Write the sample collection in the official ARQMath layout from its readable source.

The source is five YAML files: ``source/collection.yaml`` (questions, answers, comments, links),
``source/users.yaml``, ``source/topics.yaml`` and ``source/formula_topics.yaml`` (Task 1 and Task 2
topics with their judgments), and ``source/second_assessor.yaml``. `build` reads and checks them and
writes the collection, the formula index in LaTeX, the topics and the qrels of the three labs, with
the names, escaping and line ends of the official files, and what two assessors said in Turkle's
form. The same source always gives the same bytes. Run it with
``python -m tools.sample.build [OUTPUT]``.
"""

from __future__ import annotations

import csv
import html
import io
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import yaml

from arqmath_bm25.collection.published import official
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.core.sample_data import SAMPLE
from tools.sample.activity_rows import link_rows, tag_rows, timestamp, user_rows, vote_rows
from tools.sample.read_source import (
    Answer,
    FormulaTopic,
    Question,
    Topic,
    check,
    load_collection,
    load_formula_topics,
    load_topics,
    load_users,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from arqmath_bm25.core.labs import Year
    from tools.sample.activity_rows import Row

SOURCE = Path(__file__).parent / "source"

VISUAL_ID_OFFSET = 500_000
"""Visual ids start above this number, so that none is equal to a formula id."""

TSV_HEADER = (
    "id", "post_id", "thread_id", "type", "comment_id",
    "old_visual_id", "visual_id", "issue", "formula",
)  # fmt: skip

_MATH = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$")
_BLOCK_TAG = re.compile(r"<(?:ul|ol|blockquote|pre|table|hr|h[1-6])\b")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True)
class Lab:
    """The file conventions of one lab year."""

    topics_newline: str
    qrels_newline: str
    escape_math: bool
    judges_instances: bool  # Task 2 qrels hold formula ids; visual ids if not


LABS: dict[Year, Lab] = {
    "2020": Lab("\r\n", "\r\n", escape_math=True, judges_instances=True),
    "2021": Lab("\r\n", "\r\n", escape_math=False, judges_instances=False),
    "2022": Lab("\n", "\n", escape_math=False, judges_instances=False),
}


@dataclass
class FormulaIndex:
    """Numbers the formulas of the posts and keeps their rows for the TSV files."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    visual_ids: dict[str, int] = field(default_factory=dict)

    def add(self, latex: str, post: int, thread: int, kind: str, comment: int | None) -> int:
        """Record one formula instance and return its id."""
        formula_id = len(self.rows) + 1
        if formula_id > VISUAL_ID_OFFSET:
            raise ValueError(f"post {post}: too many formulas for VISUAL_ID_OFFSET")
        key = "".join(latex.split())
        visual_id = str(self.visual_ids.setdefault(key, VISUAL_ID_OFFSET + len(self.visual_ids)))
        comment_id = "" if comment is None else str(comment)
        place = (str(post), str(thread), kind, comment_id)
        self.rows.append((str(formula_id), *place, visual_id, visual_id, "", latex))
        return formula_id

    def look(self, latex: str) -> list[str]:
        """Return the visual id of a formula, nothing if no post has it."""
        visual_id = self.visual_ids.get("".join(latex.split()))
        return [] if visual_id is None else [str(visual_id)]

    def returnable(self, latex: str) -> list[str]:
        """Return the ids of the instances of a formula that do not stand in comments."""
        visual = self.look(latex)
        return [row[0] for row in self.rows if row[6] in visual and row[3] != "comment"]


def build(output: Path) -> None:
    """Write the whole sample tree below `output`.

    Raises ValueError, naming the id, if the source contradicts itself.
    """
    questions = load_collection(SOURCE / "collection.yaml")
    topics = load_topics(SOURCE / "topics.yaml")
    formula_topics = load_formula_topics(SOURCE / "formula_topics.yaml")
    users = load_users(SOURCE / "users.yaml")
    check(questions, topics, users)

    formulas = FormulaIndex()
    posts, comments = _post_rows(questions, formulas)
    collection = output / "Collection"
    _write(collection / "Posts.V1.3.xml", _rows_xml("posts", posts))
    _write(collection / "Comments.V1.3.xml", _rows_xml("comments", comments))
    _write(collection / "Tags.V1.3.xml", _rows_xml("tags", tag_rows(questions)))
    _write(collection / "PostLinks.V1.3.xml", _rows_xml("postlinks", link_rows(questions)))
    _write(collection / "Votes.V1.3.xml", _rows_xml("votes", vote_rows(questions)))
    _write(collection / "Users.V1.3.xml", _rows_xml("users", user_rows(questions, users)))

    middle = (len(formulas.rows) + 1) // 2
    index = output / "Formulas" / "latex_representation_v3"
    _write_formulas(index / "1.tsv", formulas.rows[:middle])
    _write_formulas(index / "2.tsv", formulas.rows[middle:])

    for year, lab in LABS.items():
        of_year = [topic for topic in topics if topic.year == year]
        searched = [topic for topic in formula_topics if topic.year == year]
        _write(
            output / official("topics", "task1")[year],
            _topics_xml(of_year, lab),
            lab.topics_newline,
        )
        _write(output / official("qrels", "task1")[year], _qrels(of_year), lab.qrels_newline)
        path, text = official("topics", "task2")[year], _formula_topics_xml(of_year, searched, lab)
        _write(output / path, text, lab.topics_newline)
        path, text = official("qrels", "task2")[year], _formula_qrels(searched, formulas, lab)
        _write(output / path, text, lab.qrels_newline)

    second = yaml.safe_load((SOURCE / "second_assessor.yaml").read_text(encoding="utf-8"))
    for assessor, others in (("first", {}), ("second", second)):
        text = _assessments(topics, second, others, assessor)
        _write(output / "Assessments" / f"{assessor}.csv", text)


# Text and formulas


def _mark_up(text: str, where: str, span: Callable[[str, str], str]) -> str:
    """Turn one block of text into one line, with `span(delimiter, latex)` for each formula."""
    line = " ".join(text.split("\n"))
    if "$" in _MATH.sub("", line):
        raise ValueError(f"{where}: unbalanced $ in {line!r}")

    def replace(match: re.Match[str]) -> str:
        display, inline = match.groups()
        return span("$", inline) if display is None else span("$$", display)

    return _MATH.sub(replace, line)


def _body(source: str, where: str, span: Callable[[str, str], str]) -> str:
    """Wrap the paragraphs of a body in `<p>`, unless they begin with a block tag."""
    blocks = [_mark_up(block, where, span) for block in _BLANK_LINES.split(source.strip())]
    return " ".join(b if _BLOCK_TAG.match(b) else f"<p>{b}</p>" for b in blocks)


def _post_span(
    formulas: FormulaIndex, post: int, thread: int, kind: str, comment: int | None = None
) -> Callable[[str, str], str]:
    """Spans of the collection: numbered by `formulas`, LaTeX escaped, no dollar signs."""

    def span(_delimiter: str, latex: str) -> str:
        formula_id = formulas.add(latex, post, thread, kind, comment)
        escaped = html.escape(latex, quote=False)
        return f'<span class="math-container" id="{formula_id}">{escaped}</span>'

    return span


def _topic_span(lab: Lab, formulas: list[str]) -> Callable[[str, str], str]:
    """Spans of the topics of one year: numbered q_1, q_2, ..., with their dollar signs.

    Formula q_n of the year becomes the n-th of `formulas`.
    """

    def span(delimiter: str, latex: str) -> str:
        formulas.append(latex)
        content = html.escape(latex, quote=False) if lab.escape_math else latex
        content = f"{delimiter}{content}{delimiter}"
        return f'<span class="math-container" id="q_{len(formulas)}">{content}</span>'

    return span


# Rows


def _post_rows(
    questions: Sequence[Question], formulas: FormulaIndex
) -> tuple[list[Row], list[Row]]:
    """Return the rows of the posts and of the comments, and number the formulas."""
    posts: dict[int, Row] = {}
    comments: dict[int, Row] = {}

    def add_comments(post: Question | Answer, thread: int) -> None:
        for comment in post.comments:
            span = _post_span(formulas, post.id, thread, "comment", comment.id)
            comments[comment.id] = {
                "CreationDate": timestamp(comment.date),
                "Id": comment.id,
                "PostId": post.id,
                "Score": comment.score,
                "Text": _mark_up(comment.text.strip(), f"comment {comment.id}", span),
                "UserId": comment.owner,
            }

    for question in questions:
        thread = question.id
        where = f"question {thread}"
        title = _mark_up(question.title, where, _post_span(formulas, thread, thread, "title"))
        body = _body(question.body, where, _post_span(formulas, thread, thread, "question"))
        posts[thread] = {
            "Id": thread,
            "PostTypeId": 1,
            "CreationDate": timestamp(question.date),
            "ViewCount": question.views,
            "Score": question.score,
            "CommentCount": len(question.comments),
            "OwnerUserId": question.owner,
            "Title": title,
            "Body": body,
            "AnswerCount": len(question.answers),
            "AcceptedAnswerId": next((a.id for a in question.answers if a.accepted), None),
            "Tags": "".join(f"<{tag}>" for tag in question.tags),
        }
        add_comments(question, thread)
        for answer in question.answers:
            span = _post_span(formulas, answer.id, thread, "answer")
            posts[answer.id] = {
                "Id": answer.id,
                "PostTypeId": 2,
                "CreationDate": timestamp(answer.date),
                "Score": answer.score,
                "CommentCount": len(answer.comments),
                "OwnerUserId": answer.owner,
                "Body": _body(answer.body, f"answer {answer.id}", span),
                "ParentId": thread,
            }
            add_comments(answer, thread)
    return [posts[i] for i in sorted(posts)], [comments[i] for i in sorted(comments)]


# Files


def _escape(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _rows_xml(root: str, rows: Iterable[Row]) -> str:
    lines = ['<?xml version="1.0" ?>', f"<{root}>"]
    for row in rows:
        pairs = [f'{k}="{_escape(str(v))}"' for k, v in row.items() if v is not None]
        lines.append(f"   <row {' '.join(pairs)}/>")
    lines.append(f"</{root}>")
    return "\n".join(lines) + "\n"


def _topics_xml(topics: Iterable[Topic], lab: Lab) -> str:
    span = _topic_span(lab, [])
    lines = ['<?xml version="1.0" ?>', "<Topics>"]
    for topic in topics:
        lines.append(f'   <Topic number="{_escape(topic.number)}">')
        lines += _question_xml(topic, span)
        lines.append("   </Topic>")
    lines.append("</Topics>")
    return "\n".join(lines) + "\n"


def _question_xml(topic: Topic, span: Callable[[str, str], str]) -> list[str]:
    where = f"topic {topic.number}"
    title = _mark_up(topic.title, where, span)
    question = _body(topic.question, where, span)
    return [
        f"      <Title>{_escape(title)}</Title>",
        f"      <Question>{_escape(question)}</Question>",
        f"      <Tags>{_escape(','.join(topic.tags))}</Tags>",
    ]


def _formula_topics_xml(topics: Iterable[Topic], searched: Iterable[FormulaTopic], lab: Lab) -> str:
    """Write the topics of which a formula is searched; formulas are numbered as in Task 1."""
    formulas: list[str] = []
    span = _topic_span(lab, formulas)
    questions: dict[str, tuple[int, list[str]]] = {}
    for topic in topics:
        before = len(formulas)
        questions[topic.number] = (before, _question_xml(topic, span))
    lines = ['<?xml version="1.0" ?>', "<Topics>"]
    for wanted in searched:
        before, question = questions[wanted.number.replace("B", "A")]
        if wanted.formula not in formulas[before:]:
            raise ValueError(f"topic {wanted.number}: its question has no {wanted.formula}")
        lines += [
            f'   <Topic number="{_escape(wanted.number)}">',
            f"      <Formula_Id>q_{formulas.index(wanted.formula, before) + 1}</Formula_Id>",
            f"      <Latex>{_escape(wanted.formula)}</Latex>",
            *question,
            "   </Topic>",
        ]
    lines.append("</Topics>")
    return "\n".join(lines) + "\n"


def _qrels(topics: Iterable[Topic]) -> str:
    return "".join(
        f"{topic.number}\t0\t{answer_id}\t{grade}\n"
        for topic in topics
        for answer_id, grade in topic.judgments.items()
    )


def _assessments(
    topics: Iterable[Topic], seen: Container[str], others: Mapping[str, Mapping[int, object]],
    assessor: str,
) -> str:  # fmt: skip
    """Return what an assessor said of the answers to topics that were `seen`, as Turkle has it.

    `others` are the grades that are not those of the qrels.
    """
    labels = {str(grade): label for label, grade in GRADE_OF_LABEL.items() if grade is not None}
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = ("Input.topic_id", "Input.doc_id", "Input.post_1")
    writer.writerow([*columns, "Answer.grade_1", "Turkle.Username"])
    for topic in topics:
        for answer, grade in topic.judgments.items() if topic.number in seen else ():
            given = str(others.get(topic.number, {}).get(answer, grade))
            label = labels.get(given, "Do not know")
            writer.writerow([topic.number, answer, answer, label, assessor])
    return file.getvalue()


def _formula_qrels(topics: Iterable[FormulaTopic], formulas: FormulaIndex, lab: Lab) -> str:
    lines = []
    for topic in topics:
        for latex, grade in topic.judgments.items():
            judged = formulas.returnable(latex) if lab.judges_instances else formulas.look(latex)
            if not judged:
                raise ValueError(f"topic {topic.number} judges {latex}, which no post has")
            lines += [f"{topic.number}\t0\t{doc_id}\t{grade}\n" for doc_id in judged]
    return "".join(lines)


def _write_formulas(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(TSV_HEADER)
        writer.writerows(rows)


def _write(path: Path, text: str, newline: str = "\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline=newline)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE)
