"""The labs' own rules: tasks, years, names, columns and limits.

Sources: the guidelines of ARQMath 1-3 (CLEF 2020-2022) and of TextGraphs-16 (NLPS).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from arqmath_bm25.core.errors import InputError, shown

LabTask = Literal["task1", "task2", "task3"]  # of ARQMath
LAB_TASKS: tuple[LabTask, ...] = get_args(LabTask)
RankingTask = Literal["task1", "task2", "docs"]  # with many documents for a topic
RunTask = Literal["task1", "task2", "task3", "nlps", "docs"]
TASKS: tuple[RunTask, ...] = get_args(RunTask)
Variant = Literal["text", "math", "both"]
Year = Literal["2020", "2021", "2022"]
YEARS: tuple[Year, ...] = get_args(Year)
# Topics are numbered through the labs.
TOPIC_NUMBERS: dict[Year, range] = {
    "2020": range(1, 101),
    "2021": range(201, 301),
    "2022": range(301, 401),
}
Split = Literal["dev", "test"]  # sets of statements (NLPS)
SPLITS: tuple[Split, ...] = get_args(Split)

MAX_DEPTH = 1000  # rows of a topic that the labs accept
MAX_ANSWER = 1200  # characters of an answer (Task 3)
MAX_RUNS = 5  # of a team in a task
MAX_INSTANCES = 5  # posts in which one formula is judged (Task 2)
PREMISES = 500  # of a statement that the shared task demands and evaluates (NLPS)
SITE = "math.stackexchange.com"  # whose posts the collection holds
# The lab dropped posts after 2018, and so must anyone who starts from a raw dump: the topics are
# questions of 2019-2021 and stand in it together with their answers.
LAST_YEAR = 2018
# What assessors choose from; None is no judgment.
GRADE_OF_LABEL: dict[str, int | None] = {
    "High": 3,
    "Medium": 2,
    "Low": 1,
    "Not relevant": 0,
    "System failure": None,
    "Do not know": None,
}
GRADES = sorted(grade for grade in GRADE_OF_LABEL.values() if grade is not None)
HIGHEST = GRADES[-1]  # larger ones of Task 3 say why there is no grade
RELEVANT = 2  # the least grade that counts as relevant in ARQMath

_PRIME_PREFIX = re.compile(r"prime?_")
_TOPIC = re.compile(r"[AB]\.([1-9][0-9]{0,2})")


@dataclass(frozen=True)
class RunName:
    """The parts of an official file name: `[team]-[task]-[id]-[manual|auto]-[fields]-[P|A].tsv`.

    Task 3 has `extract` or `generate` before the last part.
    """

    team: str
    task: RunTask
    run_id: str
    variant: Variant
    primary: bool
    manual: bool = False
    method: Literal["", "extract", "generate"] = ""

    def __str__(self) -> str:
        how = "auto"
        if self.manual:
            how = "manual"
        kind = "A"
        if self.primary:
            kind = "P"
        parts = [self.team, self.task, self.run_id, how, self.variant, self.method, kind]
        return "-".join(filter(None, parts))


_NAME = re.compile(
    r"(?P<team>[^-\s]+)-(?P<task>task[123])-(?P<run_id>.+?)-(?P<how>manual|auto)"
    r"-(?P<variant>text|math|both)(?:-(?P<method>extract|generate))?-(?P<kind>[PA])"
)


def parse_run_name(stem: str) -> RunName | None:
    """Read the parts of a file name (without its ending); None if it is not an official one."""
    match = _NAME.fullmatch(stem)
    if match is None or (match["task"] == "task3") != bool(match["method"]):
        return None
    team, task, run_id, how, variant, method, kind = match.groups(default="")
    # The pattern admits no other words.
    return RunName(team, task, run_id, variant, kind == "P", how == "manual", method)  # type: ignore[arg-type]


def run_stem(path: Path) -> str:
    """Return the name of a run file without its ending."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def official_stem(path: Path) -> str:
    """Return the file name without its ending, without the organisers' prefix `prim_`/`prime_`."""
    return _PRIME_PREFIX.sub("", run_stem(path), count=1)


def year_of(topics: Iterable[str]) -> Year:
    """Return the lab's year of topic ids; InputError unless all are of one year."""
    topic_of = dict[Year, str]()
    for topic in topics:
        number = int(match[1]) if (match := _TOPIC.fullmatch(topic)) else 0
        year = next((year for year, numbers in TOPIC_NUMBERS.items() if number in numbers), None)
        if year is None:
            ranges = ", ".join(f"A.{of[0]}-{of[-1]}" for of in TOPIC_NUMBERS.values())
            raise InputError(
                f"topic {shown(topic)} is of none of the labs ({ranges}, or B), so it "
                "names no judgments",
                qrels="FILE",
            )
        topic_of.setdefault(year, topic)
    if not topic_of:
        raise InputError("there is no topic that names the year of the judgments", qrels="FILE")
    if len(topic_of) > 1:
        named = " and ".join(f"{topic} ({year})" for year, topic in sorted(topic_of.items()))
        raise InputError(f"topics of more than one year, {named}; choose one", topics="YEAR")
    return next(iter(topic_of))


def known_year(topics: Iterable[str]) -> Year | None:
    """Return the lab's year of topic ids; None if there is no such year, or more than one."""
    try:
        return year_of(topics)
    except InputError:
        return None
