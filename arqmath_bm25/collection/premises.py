"""PS-ProofWiki, the collection of TextGraphs-16: premises, and statements that cite them.

The shared task distributes JSON objects: `knowledge_base.json` (premise id → text) and
`train_set.json`, `dev_set.json`, `test_set.json` (statement id → text and ids of its premises; in
the test set these are masked). Ids are integers of up to 39 digits, bare in the lists of premises
and in quotes as keys; those of the original PS-ProofWiki are UUIDs. They are text here: a 64-bit
number cannot hold them, and a float changes them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import SPLITS, Split
from arqmath_bm25.core.reading import parse_json, read_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

PUBLISHED = "https://github.com/ai-systems/tg2022task_premise_retrieval"

_KNOWLEDGE_BASE = "knowledge_base.json"


class Premise(NamedTuple):
    """A definition or a theorem that a proof may use."""

    premise_id: str
    text: str  # prose with `$…$` around formulas


@dataclass(frozen=True)
class PremiseFiles:
    """The files of a distribution, all in one directory. Raises InputError for an absent one."""

    name: str  # of the collection: keeps its indexes and runs apart
    directory: Path

    @classmethod
    def at(cls, data: Path) -> PremiseFiles:
        """Find the files in DATA itself or in DATA/nlps.

        Raises InputError if DATA is no directory.
        """
        here = cls(Layout(data).name, data)
        below = data / "nlps"
        if here.has_premises() or not below.is_dir():
            return here
        return cls(here.name, below)

    @property
    def knowledge_base(self) -> Path:
        """The premises to choose from."""
        return self._file(_KNOWLEDGE_BASE)

    @property
    def train(self) -> Path:
        """Statements with their premises, to learn from."""
        return self._file("train_set.json")

    def statements(self, split: Split) -> Path:
        """Statements to find premises for."""
        return self._file(f"{split}_set.json")

    def splits(self) -> tuple[Split, ...]:
        """The splits for which there is a file of statements."""
        return tuple(split for split in SPLITS if self._find(f"{split}_set.json"))

    def has_premises(self) -> bool:
        """Return whether there is a knowledge base."""
        return self._find(_KNOWLEDGE_BASE) is not None

    def _find(self, name: str) -> Path | None:
        """Find a file, plain or packed by gzip."""
        for path in (self.directory / name, self.directory / f"{name}.gz"):
            if path.is_file():
                return path

        return None

    def _file(self, name: str) -> Path:
        file = self._find(name)
        if file is not None:
            return file

        hint = f"it is published at {PUBLISHED}"
        path = self.directory / name
        for zipped in (path.with_suffix(".json.zip"), path.with_suffix(".zip")):
            if zipped.exists():
                hint = f"unzip {zipped.name} first"

        raise InputError(f'DATA={self.directory}: missing file "{name}"; {hint}')


def read_premises(path: Path) -> list[Premise]:
    """Read a knowledge base.

    Raises InputError for a file that is not such JSON, an id that is neither an integer nor a UUID
    or that comes twice, a missing text and an empty knowledge base.
    """
    from arqmath_bm25.collection.json_rows import PREMISES  # loads pydantic

    texts = _read(path, "premise", PREMISES)
    if not texts:
        raise InputError(f"{path}: the knowledge base is empty; expected premise ids with texts")
    return list(starmap(Premise, texts.items()))


def read_statements(path: Path) -> list[Statement]:
    """Read a train, dev or test set, in the order of the file.

    Raises InputError for a file that is not such JSON, an id that is neither an integer nor a UUID,
    a statement that comes twice, a missing text or list of premises, and a set without statements.
    """
    from arqmath_bm25.collection.json_rows import STATEMENTS  # loads pydantic

    statements = _read(path, "statement", STATEMENTS)
    if not statements:
        raise InputError(f"{path}: there are no statements; expected ids with texts and premises")

    records = []
    for statement_id, row in statements.items():
        premises = tuple(dict.fromkeys(row.premises))
        records.append(Statement(statement_id, row.text, premises))
    return records


def _read(path: Path, kind: str, form: TypeAdapter[T]) -> T:
    """Read a JSON object whose keys are ids; all its numbers become text, digit for digit."""
    from pydantic import ValidationError

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            ((twice, _),) = counts.most_common(1)
            raise InputError(f"{path}: {twice} comes twice as a key; remove one of the two")

        return members

    try:
        text = read_text(path, f"{kind} file")
        content = parse_json(text, parse_int=str, parse_float=str, object_pairs_hook=once)
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None

    try:
        return form.validate_python(content)
    except ValidationError as error:
        fault = error.errors()[0]
        keys = [str(key)[:60] for key in fault["loc"] if key != "[key]"]
        where = " ".join([kind, *keys])
        says = fault["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {where}: {says}, found {shown(fault['input'])}") from None
