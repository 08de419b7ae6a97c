"""configs/*.yaml → typed settings. A fault is reported by the key that holds it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from arqmath_bm25.errors import InputError
from arqmath_bm25.runs import RunName, Variant

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextSettings(Settings):
    """How prose becomes words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True


class LatexSettings(Settings):
    """How formulas become terms."""

    ngrams: tuple[Annotated[int, Field(ge=1, le=5)], Annotated[int, Field(ge=1, le=5)]] = (1, 3)
    form: Literal["symbols", "words"] = "symbols"

    @model_validator(mode="after")
    def _ordered(self) -> LatexSettings:
        if self.ngrams[0] > self.ngrams[1]:
            raise ValueError("ngrams: the first number must not exceed the second")
        return self


class AnalysisSettings(Settings):
    """What decides the terms of an index."""

    text: TextSettings = TextSettings()
    latex: LatexSettings = LatexSettings()

    @property
    def fingerprint(self) -> str:
        """Short hash that tells indexes of different analysis apart."""
        settings = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]


class Bm25Settings(Settings):
    """Parameters of BM25 (Robertson and Zaragoza 2009), the same for all fields."""

    k1: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


class QuerySettings(Settings):
    """How a topic becomes weighted terms."""

    saturation: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0


class RunSettings(Settings):
    """What run files are called."""

    team: NamePart
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    primary: Variant


Task1Field = Literal[
    "contents",
    "answer_math",
    "question_text",
    "question_math",
    "title_text",
    "title_math",
    "tags",
    "linked_text",
    "linked_math",
]


class Task1Settings(Settings):
    """configs/task1.yaml."""

    run: RunSettings
    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    variants: Annotated[dict[Variant, dict[Task1Field, Weight]], Field(min_length=1)]

    @model_validator(mode="after")
    def _usable_variants(self) -> Task1Settings:
        if self.run.primary not in self.variants:
            raise ValueError(f"run.primary: {self.run.primary!r} is not among the variants")
        for variant, weights in self.variants.items():
            if not any(weights.values()):
                raise ValueError(f"variants.{variant}: at least one weight must be above 0")
        return self

    def weights(self, variant: Variant) -> dict[str, float]:
        """Weight of every field that a variant looks into."""
        return {field: weight for field, weight in self.variants[variant].items() if weight}

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task1", self.run.id, variant, primary)


def default_config(task: str) -> Path:
    """Path of the configuration that comes with the package."""
    package = Path(__file__).parent
    checkout = package.parent / "configs"  # an installed package has them inside
    return (checkout if checkout.is_dir() else package / "configs") / f"{task}.yaml"


def load_task1(path: Path | None = None) -> Task1Settings:
    """Read a Task 1 configuration, the default one without `path`; see `load`."""
    return load(Task1Settings, path or default_config("task1"))


def load(model: type[S], path: Path) -> S:
    """Read a configuration file of a task.

    Raises InputError that names file and key for everything that is not as it must be.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read the configuration: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    try:
        return model.model_validate(loaded, context=path.parent)
    except ValidationError as error:
        faults = "; ".join(
            ": ".join(
                filter(None, (".".join(map(str, e["loc"])), e["msg"].removeprefix("Value error, ")))
            )
            for e in error.errors()
        )
        raise InputError(f"{path}: {faults}") from None


NlpsField = Literal["contents", "contents_math"]


class TfidfVariant(Settings):
    """The baseline of the shared task; it has nothing to set."""

    method: Literal["tfidf"]


class Bm25Variant(Settings):
    """Premises by their own text."""

    method: Literal["bm25"]
    fields: Annotated[dict[NlpsField, Weight], Field(min_length=1)]


class SupervisedVariant(Settings):
    """Premises by what the training set tells about them; see retrieval/nlps_supervised.py."""

    method: Literal["supervised"]
    fields: Annotated[dict[NlpsField, Weight], Field(min_length=1)]
    neighbours: Annotated[int, Field(ge=1, le=1000)]
    sharpness: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    votes: Weight
    profile: Weight
    text: Weight
    citations: Weight


class NlpsSettings(Settings):
    """configs/nlps.yaml."""

    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    primary: str
    variants: dict[
        NamePart,
        Annotated[TfidfVariant | Bm25Variant | SupervisedVariant, Field(discriminator="method")],
    ]

    @model_validator(mode="after")
    def _usable_variants(self) -> NlpsSettings:
        if self.primary not in self.variants:
            raise ValueError(f"primary: {self.primary!r} is not among the variants")
        for name, variant in self.variants.items():
            if not isinstance(variant, TfidfVariant) and not any(variant.fields.values()):
                raise ValueError(f"variants.{name}.fields: at least one weight must be above 0")
        return self


def load_nlps(path: Path | None = None) -> NlpsSettings:
    """Read an NLPS configuration, the default one without `path`; see `load`."""
    return load(NlpsSettings, path or default_config("nlps"))


FormulaField = Literal["contents", "patterns", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """How a formula becomes the terms of its fields."""

    source: Literal["latex", "slt"] = "latex"
    ngrams: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    layout: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    patterns: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (3, 4)

    @model_validator(mode="after")
    def _ordered(self) -> FormulaAnalysisSettings:
        for name in ("ngrams", "layout", "patterns"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name}: the first number must not exceed the second")
        return self


class FormulaVariant(Settings):
    """What counts for a formula: its own fields, and the posts that it stands in."""

    fields: Annotated[dict[FormulaField, Weight], Field(min_length=1)]
    context: Weight = 0


class Task2Settings(Settings):
    """configs/task2.yaml."""

    run: RunSettings
    analysis: FormulaAnalysisSettings = FormulaAnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    variants: Annotated[dict[Variant, FormulaVariant], Field(min_length=1)]

    @model_validator(mode="after")
    def _usable_variants(self) -> Task2Settings:
        if self.run.primary not in self.variants:
            raise ValueError(f"run.primary: {self.run.primary!r} is not among the variants")
        for name, variant in self.variants.items():
            if not any(variant.fields.values()):
                raise ValueError(f"variants.{name}.fields: at least one weight must be above 0")
        return self

    @property
    def fields(self) -> tuple[FormulaField, ...]:
        """The fields to index: `contents`, which every document has, and what variants weigh."""
        weighed = {f for v in self.variants.values() for f, weight in v.fields.items() if weight}
        return tuple(f for f in get_args(FormulaField) if f == "contents" or f in weighed)

    @property
    def fingerprint(self) -> str:
        """Short hash that tells indexes of different analysis or fields apart."""
        settings = json.dumps([self.analysis.model_dump(mode="json"), self.fields], sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task2", self.run.id, variant, primary)


def load_task2(path: Path | None = None) -> Task2Settings:
    """Read a Task 2 configuration, the default one without `path`; see `load`."""
    return load(Task2Settings, path or default_config("task2"))


class Ranking(Settings):
    """A Task 1 configuration, given by its file name in the directory of the one that names it."""

    path: Path
    settings: Task1Settings

    @model_validator(mode="before")
    @classmethod
    def _load(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, str) or info.context is None:
            return given
        path = info.context / given
        return {"path": path, "settings": load_task1(path)}


class Task3Settings(Settings):
    """configs/task3.yaml."""

    run: RunSettings
    ranking: Ranking
    passage: Literal["start", "best"]

    @model_validator(mode="after")
    def _known_primary(self) -> Task3Settings:
        if self.run.primary not in self.ranking.settings.variants:
            raise ValueError(
                f"run.primary: {self.run.primary!r} is not among the variants of the ranking"
            )
        return self

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task3", self.run.id, variant, primary, method="extract")


def load_task3(path: Path | None = None) -> Task3Settings:
    """Read a Task 3 configuration, the default one without `path`; see `load`."""
    return load(Task3Settings, path or default_config("task3"))
