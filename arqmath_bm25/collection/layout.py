"""Where every official file lies below DATA, the root of an ARQMath distribution.

Paths are those of the organisers' backup site, odd blanks included (" Scripts & Qrels", "Task 1 ").
A missing file is named together with the place where it is published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

PUBLISHED: Final = "https://www.cs.rit.edu/~dprl/ARQMath-backup/"

Year = Literal["2020", "2021", "2022"]
YEARS: Final[tuple[Year, ...]] = get_args(Year)

# Newest first. A raw archive dump (Posts.xml in DATA itself) serves as well.
POSTS: Final = (
    "Collection/Posts.V1.3.xml",
    "Collection/Posts.V1.2.xml",
    "Posts.xml",
    "Collection/Posts.xml",
)
LINKS: Final = ("Collection/PostLinks.V1.3.xml", "Collection/PostLinks.V1.2.xml", "PostLinks.xml")
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
# Newest first. Formulas of v1 have no visual ids: they can be searched, but not evaluated.
_FORMULAS: Final = ("v3", "v2", "v1")


def topic_formulas(year: Year, representation: Representation) -> str:
    """Where the formulas of the topics of a year lie below DATA."""
    name = _IN_FILE_NAMES[representation]
    return _TOPIC_FORMULAS[year].format(name.lower() if year == "2020" else name)


class Layout:
    """The files of one distribution. Raises InputError where one that is asked for is absent."""

    def __init__(self, data: Path) -> None:
        if not data.is_dir():
            found = "it is a file" if data.exists() else "there is no such directory"
            raise InputError(
                f"DATA={data}: {found}. Expected the root of an ARQMath distribution: a directory "
                f"with Collection/, Topics/ and Evaluation/, published at {PUBLISHED}"
            )
        self.data = data

    @property
    def name(self) -> str:
        """Name of the collection: its directory's, used to keep its indexes and runs apart."""
        return self.data.resolve().name

    def posts(self) -> Path:
        """Posts of the newest version that is there, or of a raw dump."""
        for path in POSTS:
            if (self.data / path).is_file():
                return self.data / path
        return self._missing("Collection/Posts.V1.3.xml (unzipped from Posts.V1.3.zip)")

    def post_links(self) -> Path | None:
        """Links between posts; None where there are none, as they are not essential."""
        for path in LINKS:
            if (self.data / path).is_file():
                return self.data / path
        return None

    def has_posts(self) -> bool:
        """Tell whether there are posts."""
        return any((self.data / path).is_file() for path in POSTS)

    def task1_topics(self, year: Year) -> Path:
        """Topics of Task 1 and Task 3."""
        return self._file(TASK1_TOPICS[year])

    def task1_qrels(self, year: Year) -> Path:
        """Official judgments of Task 1."""
        return self._file(TASK1_QRELS[year])

    def task1_years(self) -> tuple[Year, ...]:
        """Years whose Task 1 topics are there."""
        return tuple(year for year in YEARS if (self.data / TASK1_TOPICS[year]).is_file())

    def judged_years(self) -> tuple[Year, ...]:
        """Years whose Task 1 judgments are there."""
        return tuple(year for year in YEARS if (self.data / TASK1_QRELS[year]).is_file())

    def task2_topics(self, year: Year) -> Path:
        """Topics of Task 2."""
        return self._file(TASK2_TOPICS[year])

    def task2_qrels(self, year: Year) -> Path:
        """Official judgments of Task 2: by formula id in 2020, by visual id since."""
        return self._file(TASK2_QRELS[year])

    def task2_years(self) -> tuple[Year, ...]:
        """Years whose Task 2 topics are there."""
        return tuple(year for year in YEARS if (self.data / TASK2_TOPICS[year]).is_file())

    def topic_formulas(self, year: Year, representation: Representation) -> Path:
        """All formulas of the topics of a year."""
        return self._file(topic_formulas(year, representation))

    def has_topic_formulas(self, year: Year, representation: Representation) -> bool:
        """Tell whether the formulas of the topics of a year are there."""
        return (self.data / topic_formulas(year, representation)).is_file()

    def judged_task2_years(self) -> tuple[Year, ...]:
        """Years whose Task 2 judgments are there."""
        return tuple(year for year in YEARS if (self.data / TASK2_QRELS[year]).is_file())

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

    def _file(self, path: str) -> Path:
        if not (self.data / path).is_file():
            self._missing(path)
        return self.data / path

    def _missing(self, path: str) -> Path:
        raise InputError(f'DATA={self.data}: missing file "{path}"; it is published at {PUBLISHED}')
