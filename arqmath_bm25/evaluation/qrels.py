"""Judgments (qrels): TREC's four columns `topic 0 document grade`, read and written.

BEIR's three columns, `query-id corpus-id score`, are read as well, by that header, and JSON lines
with these names or the usual others (`collection.row_names`), as MTEB and Hugging Face have them.

Official files differ: LF or CRLF, TAB or blanks, no newline at the end (2021 Task 2), grades as
`2.0` (2020 Task 2). Grades are 0-3 in Tasks 1 and 2; Task 3 has 5 (system failure) and 6 (do not
know) as well.

Judgments of Task 2 are converted to visual ids, whichever ids a file has:

| official file | ids |
|---|---|
| 2020, qrel_with_formula_ids/ and any `formula_id` | of formula instances: re-keyed here |
| 2020, `visual_id` | 1 … 9,926, which belong to no formula index |
| 2021 | visual ids of v2; 65,681 of 28 million formulas have another one in v3 |
| 2022, and files made anew with `v3` in their names | visual ids of v3 |

Formula ids are nearly consecutive, so on the whole collection every visual id is a formula id as
well, and 39 % of the judged formula ids are visual ids too. So the name of a file decides. If it
does not say, one kind of ids must fit by a wide margin.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from arqmath_bm25.core.arrays import Flags
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.core.reading import open_bytes, read_text
from arqmath_bm25.core.writing import complete
from arqmath_bm25.runs.formula_ids import FormulaIds, id_numbers
from arqmath_bm25.runs.rows import plain_columns, read_columns

# Topic -> document -> grade.
Qrels = dict[str, dict[str, int]]
QrelsRow = tuple[int, str, str, str]  # number of the row, topic, document, grade as written

# The kind of ids in judgments of Task 2.
IdKind = Literal["visual", "visual_v2", "formula"]


class Judgments(NamedTuple):
    """The judgments of a file; in Task 2 by visual id."""

    file: Path
    qrels: Qrels
    ids: IdKind | None = None  # Task 2: the kind of ids in the file; rankings use the same
    notes: tuple[str, ...] = ()
    relevant: int = RELEVANT  # the relevance level: the lowest grade that counts as relevant


# The time of trec_eval grows with the square of the highest grade, and in the end it crashes.
_GRADE = re.compile(r"(-?[0-9])(?:\.0*)?")
_COLUMNS = ("topic", "0", "document", "grade")
_BEIR = ["query-id", "corpus-id", "score"]

# TREC's second column as it usually is; it has no meaning.
_ITERATION = re.compile("[Qq]?[0-9]")


def grades_in(qrels: Qrels) -> Iterator[int]:
    """Return the grades of all judgments."""
    return chain.from_iterable(map(dict.values, qrels.values()))


def read_qrels(path: Path) -> Qrels:
    """Read the judgments of a file: TREC's columns, BEIR's header, or JSON lines.

    Raises InputError naming file and row for a missing, empty or binary file, a wrong number of
    columns, columns in another order, a row of JSON without its three members, a grade that is not
    from -9 to 9, and a document with two different grades.
    """
    with open_bytes(path, "qrels file") as file:
        start = file.read(1 << 10).removeprefix(codecs.BOM_UTF8)
    rows = _columns(path)
    columns = None
    if start.lstrip().startswith(b"{"):
        rows = _json_lines(path)
    else:
        columns = plain_columns(path)
    if columns and len(columns) == len(_COLUMNS):
        topics, iterations, *docs_and_grades = columns
        if all(map(_ITERATION.fullmatch, set(iterations))):
            rows = zip(count(1), topics, *docs_and_grades)

    qrels: Qrels = {}
    read = {}
    for row, topic, doc, text in rows:
        if text not in read:
            read[text] = read_grade(f"{path}: row {row}", doc, text)
        grade = read[text]
        grades = qrels.setdefault(topic, {})
        earlier = grades.setdefault(doc, grade)
        if earlier != grade:
            raise InputError(
                f"{path}: row {row}: {doc} has grade {grade} for topic {topic} here and "
                f"{earlier} in an earlier row; remove one of them"
            )

    return qrels


def _json_lines(path: Path) -> Iterator[QrelsRow]:
    """Yield the judgment of each line of JSON."""
    # pydantic takes a tenth of a second to load.
    from pydantic import ValidationError

    from arqmath_bm25.collection.json_rows import JudgmentRow
    from arqmath_bm25.core.configuration import faults

    lines = read_text(path, "qrels file").split("\n")
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue

        try:
            judgment = JudgmentRow.model_validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"{path}: row {row}: {faults(error)}; expected a judgment such as "
                '{"query-id": "q1", "corpus-id": "d7", "score": 1}'
            ) from None

        yield row, judgment.query_id, judgment.doc_id, judgment.score


def _columns(path: Path) -> Iterator[QrelsRow]:
    """Yield the judgment of each row with TREC's columns or below BEIR's."""
    names: Sequence[str] = _COLUMNS
    for row, columns in read_columns(path, "qrels"):
        where = f"{path}: row {row}"
        if row == 1 and columns == _BEIR:
            names = _BEIR
            continue

        found = len(columns)
        if found != len(names):
            hint = ""
            if names == _COLUMNS and found in (5, 6):
                hint = "; this looks like a run"
            raise InputError(
                f"{where}: expected the {len(names)} columns of qrels ({', '.join(names)}), "
                f"found {found}{hint}"
            )

        topic, *iteration, doc, text = columns
        # trec_eval reads over the iteration, whatever it is: NTCIR-12 has "xxx".
        if iteration and not _ITERATION.fullmatch(iteration[0]):
            is_exchanged = _ITERATION.fullmatch(doc) or _GRADE.fullmatch(doc)
            if is_exchanged or topic in ("0", "Q0"):
                raise InputError(
                    f"{where}: column 2 is {shown(iteration[0])}; expected 0: the columns of qrels "
                    f"are {', '.join(_COLUMNS)}"
                )

        yield row, topic, doc, text


def read_grade(where: str, doc: str, text: str) -> int:
    """Read the grade of a document, as 2 or 2.0; `where` begins the message of an InputError."""
    match = _GRADE.fullmatch(text)
    if match is None:
        hint = ""
        if _GRADE.fullmatch(doc) and text.isdecimal():
            hint = "; columns 3 and 4 seem to have changed places"
        raise InputError(
            f"{where}: grade is {shown(text)}; expected a whole number from -9 to 9{hint}"
        )

    return int(match[1])


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgments in the order given; `path` appears only when it is complete."""
    with complete(path, by_user=True) as file:
        for topic, grades in qrels.items():
            for doc, grade in grades.items():
                file.write(f"{topic}\t0\t{doc}\t{grade}\n")


# No note is needed if a collection has this share of the judged documents.
_ENOUGH = 0.5


class ComparabilityWarning(str):
    """A warning that scores cannot show which run is better."""

    __slots__ = ()


def level_notes(qrels: Qrels, relevant: int) -> list[str]:
    """Return a warning if no grade reaches the relevance level."""
    highest = max(grades_in(qrels), default=0)
    if highest >= relevant:
        return []

    warning = (
        f"no judgment has grade {relevant} or more, from which on documents count as relevant, so "
        "every binary measure is 0"
    )
    if highest > 0:
        warning += "; relevant=1 counts them from grade 1 on"
    return [warning]


def coverage_notes(
    qrels: Qrels, holds: Callable[[Sequence[str]], Flags]
) -> list[ComparabilityWarning]:
    """Return a warning if a collection lacks most of the judged documents.

    `holds` returns for each id whether the collection has it.
    """
    judged = list(chain.from_iterable(qrels.values()))
    held = int(holds(judged).sum())
    if held >= _ENOUGH * len(judged):
        return []

    warning = (
        f"of {len(judged):,} judged documents the collection has {held:,}: these scores cannot be "
        "compared with published ones"
    )
    return [ComparabilityWarning(warning)]


# The folder of the official files of 2020 with formula ids.
_FOLDER = "qrel_with_formula_ids"

# Names of files, and the kind of their ids.
_NAMES: tuple[tuple[str, IdKind], ...] = (
    (r"formula_?ids?", "formula"),
    (r"[._-]v3\b", "visual"),
    (r"qrel_task2_2021", "visual_v2"),
    (r"visual_?ids?|qrel_task2_2022", "visual"),
)

# Limits for the ratio of judged ids that are formula ids to those that are visual ids. On the whole
# collection it is 1.0 for files with visual ids and 2.6 for files with formula ids.
_MIN_OF_FORMULAS = 2.0
_MAX_OF_VISUALS = 1.25

# So many ids may be formula ids by chance.
_CHANCE = 3

# The official 2020 file numbers the formulas that were submitted from 1 to 9,926.
_LAST_OF_2020 = 9_926
_NOTE_2020 = ComparabilityWarning(
    "the qrels seem to have the visual ids of 2020 (1 … 9926), which belong to no formula index: "
    "use qrel_with_formula_ids/qrel_task2.tsv"
)


def by_visual_id(
    qrels: Qrels, ids: FormulaIds, file: Path, kind: IdKind | None = None
) -> Judgments:
    """Return judgments by visual id; formula ids are re-keyed with the maximum grade.

    Without `kind`, the name of the file decides which ids they are, else the ids themselves. Raises
    InputError if these can be either.
    """
    judged = id_numbers(set().union(*qrels.values()))
    kind = kind or kind_of_name(file)
    if kind is None:
        formulas = int(ids.has(judged).sum())
        visual_ids = int(ids.is_visual(judged).sum())
        kind = "visual"
        if formulas >= _MIN_OF_FORMULAS * visual_ids + _CHANCE:
            kind = "formula"
        elif formulas >= _MAX_OF_VISUALS * visual_ids + _CHANCE:
            raise InputError(
                f"{file}: {formulas:,} of its {len(judged):,} ids are formula ids of the "
                f"collection, {visual_ids:,} are visual ids: which of them it judges has to be "
                f"said (ids: {', '.join(get_args(IdKind))})"
            )
    if kind != "formula":
        notes: tuple[str, ...] = ()
        if len(judged) > _LAST_OF_2020 // 2 and judged.max() <= _LAST_OF_2020:
            notes = (_NOTE_2020,)
        return Judgments(file, qrels, kind, notes)

    rekeyed: Qrels = {}
    for topic, grades in qrels.items():
        rows = ids.find(id_numbers(grades)).tolist()
        for row, grade in zip(rows, grades.values(), strict=True):
            if row >= 0:
                best = rekeyed.setdefault(topic, {})
                visual = str(ids.visual[row])
                best[visual] = max(grade, best.get(visual, grade))

    known = int(ids.has(judged).sum())
    note = (
        f"the judgments name formulas, which count by their visual ids, the highest grade of each: "
        f"{known:,} of {len(judged):,} are in the formula index, "
        f"{len(rekeyed)} of {len(qrels)} topics have any"
    )
    return Judgments(file, rekeyed, kind, (note,))


def kind_of_name(file: Path) -> IdKind | None:
    """Return the kind of ids that a file has by its name; None if the name does not say."""
    if file.parent.name == _FOLDER:
        return "formula"

    name = file.name.lower()
    for pattern, kind in _NAMES:
        if re.search(pattern, name):
            return kind
    return None
