"""Where every official file lies below DATA, the root of an ARQMath distribution.

Paths are those of the organisers' backup site, odd blanks included (" Scripts & Qrels", "Task 1 ").
A missing file is named together with the place where it is published.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from arqmath_bm25.collection.own_documents import corpus_in
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.core.labs import LabTask, Year

PUBLISHED: Final = "https://www.cs.rit.edu/~dprl/ARQMath-backup/"


def _versions(name: str) -> tuple[str, ...]:
    """Where a kind of dump lies, newest first; raw archive dumps lie in DATA itself."""
    lab = (f"Collection/{name}.V1.3.xml", f"Collection/{name}.V1.2.xml")
    return (*lab, f"{name}.xml", f"Collection/{name}.xml")


POSTS: Final = _versions("Posts")
LINKS: Final = _versions("PostLinks")
COMMENTS: Final = _versions("Comments")
VOTES: Final = _versions("Votes")
USERS: Final = _versions("Users")
TAGS: Final = _versions("Tags")
TASK1_TOPICS: Final[dict[Year, str]] = {
    "2020": "Topics/Task1&3 Topics/ARQMath-1/Topics/Topics_V2.0.xml",
    "2021": "Topics/Task1&3 Topics/ARQMath-2/Topics/Topics_Task1_2021_V1.1.xml",
    "2022": "Topics/Task1&3 Topics/ARQMath-3/Topics/Topics_Task1_2022_V0.1.xml",
}
_QRELS: Final = "Evaluation/ Scripts & Qrels/"
TASK1_QRELS: Final[dict[Year, str]] = {
    "2020": _QRELS + "ARQMath-1/Task 1 /qrel_official_task1",
    "2021": _QRELS + "ARQMath-2/Task1/Qrel Files/qrel_task1_2021_test.tsv",
    "2022": _QRELS + "ARQMath-3/Task 1/Qrel Files/qrel_task1_2022_official.tsv",
}
TASK2_TOPICS: Final[dict[Year, str]] = {
    "2020": "Topics/Task2 Topics/ARQMath-1/Topics/Topics_V1.1.xml",
    "2021": "Topics/Task2 Topics/ARQMath-2/Topics/Topics_Task2_2021_V1.1.xml",
    "2022": "Topics/Task2 Topics/ARQMath-3/Topics/Topics_Task2_2022_V0.1.xml",
}
# Task 3 has the topics of Task 1; its answers are judged under ids of their own.
TOPICS: Final[dict[LabTask, Mapping[Year, str]]] = {
    "task1": TASK1_TOPICS,
    "task2": TASK2_TOPICS,
    "task3": TASK1_TOPICS,
}
# All formulas of the topics, by representation.
Representation = Literal["latex", "slt", "opt"]
_TOPIC_FORMULAS: Final[dict[Year, str]] = {
    "2020": "Topics/Task2 Topics/ARQMath-1/Formulas/Formula_topics_{}_V2.0.tsv",
    "2021": "Topics/Task2 Topics/ARQMath-2/Formulas/Topics_2021_Formulas_{}_V1.1.tsv",
    "2022": "Topics/Task2 Topics/ARQMath-3/Formulas/Topics_Formulas_{}.V0.1.tsv",
}
_IN_FILE_NAMES: Final[dict[Representation, str]] = {"latex": "Latex", "slt": "SLT", "opt": "OPT"}
# The visual ids of the 2020 file belong to no formula index; its formula ids do. The 2021 file
# has visual ids of v2, which differ from v3 in 65,681 of 28 million formulas.
TASK2_QRELS: Final[dict[Year, str]] = {
    "2020": _QRELS + "ARQMath-1/Task2/qrel_with_formula_ids/qrel_task2.tsv",
    "2021": _QRELS + "ARQMath-2/Task2/Qrel Files/qrel_task2_2021_test_official_evaluation.tsv",
    "2022": _QRELS + "ARQMath-3/Task2/Qrel Files/qrel_task2_2022_official.tsv",
}
QRELS: Final[dict[LabTask, Mapping[Year, str]]] = {
    "task1": TASK1_QRELS,
    "task2": TASK2_QRELS,
    "task3": {},
}
# Newest first. Formulas of v1 have no visual ids: they can be searched, but not evaluated.
_FORMULAS: Final = ("v3", "v2", "v1")


def topic_formulas(year: Year, representation: Representation) -> str:
    """Where the formulas of the topics of a year lie below DATA."""
    name = _IN_FILE_NAMES[representation]
    return _TOPIC_FORMULAS[year].format(name.lower() if year == "2020" else name)


class Layout:
    """The files of one distribution. Raises InputError where one that is asked for is absent."""

    def __init__(self, data: str | Path) -> None:
        data = Path(data)
        if not data.is_dir() and corpus_in(data) is None:
            found = "it is a file" if data.exists() else "there is no such directory"
            if data.suffix.lower() in (".7z", ".zip", ".gz", ".bz2", ".xz"):
                raise InputError(
                    f"DATA={data}: an archive; unpack it into a directory, and give that"
                )
            raise InputError(
                f"DATA={data}: {found}. Expected the root of an ARQMath distribution: a directory "
                f"with Collection/, Topics/ and Evaluation/, published at {PUBLISHED}"
            )
        self.data = data

    @property
    def name(self) -> str:
        """Name of the collection: its directory's, used to keep its indexes and runs apart."""
        return self.data.resolve().stem if self.data.is_file() else self.data.resolve().name

    def posts(self) -> Path:
        """Posts of the newest version that is there, or of a raw dump."""
        missing = "Collection/Posts.V1.3.xml (unzipped from Posts.V1.3.zip)"
        return self._newest(POSTS) or self._missing(missing)

    def post_links(self) -> Path | None:
        """Links between posts; None where there are none, as they are not essential."""
        return self._newest(LINKS)

    def comments(self) -> Path | None:
        """Comments on posts; None where there are none."""
        return self._newest(COMMENTS)

    def votes(self) -> Path | None:
        """Votes on posts; None where there are none."""
        return self._newest(VOTES)

    def users(self) -> Path | None:
        """Users of the site; None where there are none."""
        return self._newest(USERS)

    def tags(self) -> Path | None:
        """Tags of the site; None where there are none."""
        return self._newest(TAGS)

    def has_posts(self) -> bool:
        """Tell whether there are posts."""
        return self._newest(POSTS) is not None

    def has_lab_topics(self) -> bool:
        """Tell whether topics of the labs may be searched for in these posts."""
        return (self.data / "Topics").is_dir() or self.posts().name.startswith("Posts.V")

    def topics(self, task: LabTask, year: Year) -> Path:
        """Topics of a year."""
        return self._file(TOPICS[task][year])

    def years(self, task: LabTask) -> tuple[Year, ...]:
        """Years whose topics are there."""
        return self._years(TOPICS[task])

    def qrels(self, task: LabTask, year: Year) -> Path:
        """Official judgments: of Task 2 by formula id in 2020, by visual id since."""
        return self._file(QRELS[task][year])

    def judged_years(self, task: LabTask) -> tuple[Year, ...]:
        """Years whose judgments are there."""
        return self._years(QRELS[task])

    def _years(self, files: Mapping[Year, str]) -> tuple[Year, ...]:
        return tuple(y for y in YEARS if y in files and (self.data / files[y]).is_file())

    def topic_files(
        self, task: LabTask, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return the topic files of years, or files, that are named, each with its name.

        Without `chosen`, those of all years that are there. Raises InputError for a year that is
        not, or was none of the labs'.
        """
        files = []
        for name in chosen or self.years(task) or YEARS[:1]:  # the last says what is missing
            year = next((year for year in YEARS if year == name), None)
            if year:
                files.append((name, self.topics(task, year)))
            elif name.isdecimal():
                raise InputError(f"--topics {name}: the labs were held in {', '.join(YEARS)}")
            else:
                files.append((Path(name).stem, Path(name)))
        return files

    def topic_formulas(self, year: Year, representation: Representation) -> Path:
        """All formulas of the topics of a year."""
        return self._file(topic_formulas(year, representation))

    def formulas(self, representation: Representation = "latex") -> Path:
        """Directory of the formula TSVs of the newest version that is there."""
        for version in _FORMULAS:
            path = self.data / f"Formulas/{representation}_representation_{version}"
            if path.is_dir():
                return path
        name = f"{representation}_representation_v3"
        return self._missing(f"Formulas/{name}/1.tsv (unzipped from {name}.zip)")

    def formula_source(self, representation: Representation = "latex") -> Path:
        """Directory of the formula TSVs; of a dump without any, its posts, which hold LaTeX."""
        if representation == "latex" and not self.has_formulas() and self.has_posts():
            return self.posts()
        return self.formulas(representation)

    def has_formulas(self) -> bool:
        """Tell whether there are formula TSVs."""
        return any((self.data / f"Formulas/latex_representation_{v}").is_dir() for v in _FORMULAS)

    def _newest(self, versions: tuple[str, ...]) -> Path | None:
        return next((self.data / path for path in versions if (self.data / path).is_file()), None)

    def _file(self, path: str) -> Path:
        if not (self.data / path).is_file():
            self._missing(path)
        return self.data / path

    def _missing(self, path: str) -> Path:
        raise InputError(f'DATA={self.data}: missing file "{path}"; it is published at {PUBLISHED}')
