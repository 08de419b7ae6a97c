"""Where every official file lies below DATA, the root of an ARQMath distribution.

Paths are those of the organisers' backup site, odd blanks included (" Scripts & Qrels", "Task 1 ").
An error about a missing file says where it is published.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from arqmath_bm25.collection.own_documents import corpus_in
from arqmath_bm25.collection.published import PUBLISHED, DataPart, official
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, LabTask, Year

Dump = Literal["Posts", "PostLinks", "Comments", "Votes", "Users", "Tags"]
Representation = Literal["latex", "slt", "opt"]

# Bytes of a file that is read within two seconds.
QUICKLY_READ = 100_000_000

# Where a kind of dump lies, newest first; raw archive dumps lie in DATA itself.
_DUMPS = ("Collection/{}.V1.3.xml", "Collection/{}.V1.2.xml", "{}.xml", "Collection/{}.xml")
# The names by which a distribution of the labs, a dump, the files of NLPS or a corpus are known.
_KNOWN = tuple("Collection Topics Formulas Posts.xml knowledge_base.json nlps corpus.jsonl".split())
_HEAD = 4_096  # characters by which a file of topics is recognized
_IMPORT = re.compile(r"corpus-[0-9a-f]{16}")  # the name of an import; see imports.py
# Newest first. Formulas of v1 have no visual ids: they can be searched, but not evaluated.
_FORMULAS = ("v3", "v2", "v1")


class Layout:
    """The files of one distribution. Raises InputError for one that is absent."""

    def __init__(self, data: str | Path) -> None:
        data = Path(data)
        self.data = data
        if not data.is_dir() and self.corpus is None:
            raise _unknown(data)
        # The collection's name, which keeps its indexes and runs apart.
        self.name = data.resolve().name
        if data.is_file():
            self.name = data.resolve().stem
        elif _IMPORT.fullmatch(self.name):
            self.name = data.resolve().parent.name

    @property
    def corpus(self) -> Path | None:
        """The file of own documents; None if there is none."""
        return corpus_in(self.data)

    def is_known(self) -> bool:
        """Return whether the directory has the form of a distribution, a dump or a corpus."""
        return any((self.data / name).exists() for name in _KNOWN) or any(
            self.data.glob("*/Posts.xml")
        )

    def posts(self) -> Path:
        """Posts of the newest version, or of a raw dump."""
        posts = self.dump("Posts")
        if posts is not None:
            return posts

        dumps = [path.parent.name for path in sorted(self.data.glob("*/Posts.xml"))]
        if dumps:
            raise InputError(
                f"DATA={self.data}: Posts.xml is not here, but in {', '.join(dumps)}; give one of "
                f"these directories, such as {self.data / dumps[0]}"
            )

        return self._missing("Collection/Posts.V1.3.xml (unzipped from Posts.V1.3.zip)")

    def dump(self, kind: Dump) -> Path | None:
        """A dump of the newest version; None if absent."""
        for form in _DUMPS:
            path = self.data / form.format(kind)
            if path.is_file():
                return path

        return None

    def has_posts(self) -> bool:
        """Return whether there are posts."""
        return self.dump("Posts") is not None

    def topics(self, task: LabTask, year: Year) -> Path:
        """Topics of a year."""
        return self._file(official("topics", task)[year])

    def qrels(self, task: LabTask, year: Year) -> Path:
        """Official judgments: of Task 2 by formula id in 2020, by visual id since.

        The visual ids of the 2020 file belong to no formula index; its formula ids do. The 2021
        file has visual ids of v2, which differ from v3 in 65,681 of 28 million formulas.
        """
        return self._file(official("qrels", task)[year])

    def years(self, task: LabTask, part: DataPart = "topics") -> tuple[Year, ...]:
        """Years for which there are topics, or judgments (part `qrels`)."""
        files = official(part, task)
        return tuple(
            year for year in YEARS if year in files and (self.data / files[year]).is_file()
        )

    def topic_files(
        self, task: LabTask, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return the topic files of `chosen`, which are years or paths, each with its name.

        Without `chosen`, return the files of all years. Raises InputError for a year without a file
        or without a lab.
        """
        of_years = {str(year): year for year in YEARS}
        files = []

        for name in chosen or self.years(task) or YEARS[:1]:  # the last raises the right error
            if name in of_years:
                files.append((name, self.topics(task, of_years[name])))
            elif name.isdecimal() or not (os.sep in name or "." in name or Path(name).exists()):
                raise InputError(f"topics {name}: expected {', '.join(YEARS)}, or a topic file")
            else:
                files.append((Path(name).stem, Path(name)))

        return files

    def topic_formulas(self, year: Year) -> Path:
        """All formulas of the topics of a year."""
        return self._file(official("formulas", "task2")[year])

    def formulas(self, representation: Representation = "latex") -> Path:
        """Directory of the formula TSVs of the newest version."""
        found = self._formulas(representation)
        name = f"{representation}_representation_v3"
        return found or self._missing(f"Formulas/{name}/1.tsv (unzipped from {name}.zip)")

    def _formulas(self, representation: Representation) -> Path | None:
        for version in _FORMULAS:
            path = self.data / f"Formulas/{representation}_representation_{version}"
            if path.is_dir():
                return path
        return None

    def formula_source(self, representation: Representation) -> Path:
        """Directory of the formula TSVs; of a dump without any, its posts, which hold LaTeX."""
        if representation == "latex" and not self.has_formulas() and self.has_posts():
            return self.posts()
        return self.formulas(representation)

    def has_formulas(self) -> bool:
        """Return whether there are formula TSVs."""
        return self._formulas("latex") is not None

    def _file(self, path: str) -> Path:
        if not (self.data / path).is_file():
            self._missing(path)
        return self.data / path

    def _missing(self, path: str) -> Path:
        if self.corpus:
            raise InputError(
                f"DATA={self.data}: documents of your own have no {path.partition(' ')[0]} of the "
                "labs; their task is docs"
            )
        source = f"it is published at {PUBLISHED}, and `arqmath-bm25 fetch` downloads it"
        raise InputError(f'DATA={self.data}: missing file "{path}"; {source}')


def ntcir_topics(data: Path) -> Path | None:
    """Return the file of NTCIR's topics in a folder; None if there is none."""
    for path in sorted(data.glob("*.xml")):
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
        if "ntcir" in head.lower() and "topic" in head:
            return path
    return None


def _unknown(data: Path) -> InputError:
    """Return the error for a path that is no collection."""
    if data.is_file() and data.suffix.lower() in (".7z", ".zip", ".gz", ".bz2", ".xz"):
        return InputError(f"DATA={data}: an archive; unpack it and give the unpacked data")

    if data.is_file() and data.suffix.lower() == ".pdf":
        return InputError(
            f"DATA={data}: PDF is not read; give its LaTeX, HTML or text, or "
            "pip install 'arqmath-bm25[pdf]'"
        )

    if "*" in data.name:
        return InputError(f"DATA={data}: no such file; give the folder, {data.parent}")

    what = "no such file or directory"
    if data.exists():
        what = "unknown kind of file"
    return InputError(
        f"DATA={data}: {what}. Expected documents: a .jsonl, .tsv, .csv or .parquet file, "
        "a folder of LaTeX, Markdown, HTML, notebooks or texts, or a directory with "
        "corpus.jsonl; or the directory of an ARQMath distribution (published at "
        f"{PUBLISHED}), or one with Posts.xml or knowledge_base.json"
    )
