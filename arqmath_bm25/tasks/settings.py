"""The settings of the tasks: what configs/*.yaml may hold."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.analysis.settings import (
    AnalysisSettings,
    FormulaAnalysisSettings,
    FormulaField,
    TextSettings,
)
from arqmath_bm25.core.configuration import NamePart, Settings, Weight, faults, load
from arqmath_bm25.core.labs import RunName, RunTask, Variant
from arqmath_bm25.engines.engine import Bm25

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
FieldKind = Literal["text", "math", "operators"]  # of its terms, as its name ends
DocumentVariant = Literal[Variant, "cited"]
View = Literal["tokens", "characters", "words"]  # what a text is cut into (NLPS)
_KERNEL: dict[View, float] = {"tokens": 0.4, "characters": 0.3, "words": 0.3}
# Of sections: the weight of their first words, and b of a field in units of that of all fields.
_LEAD = 0.2
_LENGTHS_OF_SECTIONS = {"contents": 2 / 3, "title_text": 4 / 3}


def _beside(path: object, info: ValidationInfo) -> object:
    """Return a path as seen from the folder of the configuration that names it."""
    if isinstance(path, str) and info.context is not None:
        return str(info.context / path)
    return path


def kind(field: str) -> FieldKind:
    """Return what the terms of a field are: `math`, `operators` or else `text`."""
    if field.endswith("_math"):
        return "math"
    if field.endswith("_operators"):
        return "operators"
    return "text"


class TaskSettings(Settings):
    """Settings that every task has."""

    if TYPE_CHECKING:  # each declares its own

        @property
        def variants(self) -> Mapping[Any, Any]:
            """The variants by name."""

        @property
        def analysis(self) -> Settings:
            """The analysis of its index."""

        @property
        def primary(self) -> str:
            """The default variant."""

    @property
    def of_collection(self) -> dict[str, Any]:
        """What the configuration says of the collection."""
        return dict(getattr(self, "collection", ()))

    @property
    def fields(self) -> Sequence[str] | None:
        """The fields that an engine indexes, `contents` first; None if no engine searches."""
        return None

    @model_validator(mode="after")
    def _known_variants(self) -> Self:
        primary = "primary"
        if hasattr(self, "run"):
            primary = "run.primary"
        named = [(primary, self.primary)]
        for key in ("rerank", "cited"):
            named += [(key, variant) for variant in getattr(self, key, ())]
        for key, variant in named:
            if variant not in self.variants:
                known = ", ".join(self.variants)
                raise ValueError(f"{key}: {variant!r} is not among the variants {known}")
        return self


class FieldBm25Settings(Settings):
    """Parameters of BM25 for one field."""

    k1: Positive
    b: Share


class CollectionSettings(Settings):
    """What an index holds, where no option says it."""

    delimiters: Delimiters | None = None


class DumpSettings(CollectionSettings):
    """What an index of a dump holds."""

    site: str | None = None
    until: str | None = None


class RowsSettings(CollectionSettings):
    """What an index of own documents holds."""

    whole: bool | None = None
    # Its digest is in the index; no manifest has the path of a machine.
    train: Annotated[Path | None, BeforeValidator(_beside)] = Field(default=None, exclude=True)


class Bm25Settings(Settings):
    """Parameters of BM25 (Robertson and Zaragoza 2009)."""

    k1: Positive = 1.2
    b: Share = 0.75
    fields: dict[str, FieldBm25Settings] = Field(default_factory=dict)  # those with their own

    @property
    def parameters(self) -> Bm25:
        """The parameters as engines take them."""
        by_field = {name: (own.k1, own.b) for name, own in self.fields.items()}
        return Bm25(self.k1, self.b, by_field)


class QuerySettings(Settings):
    """How topics are turned into weighted query terms."""

    k3: Positive = 2.0
    # Whether a word or formula of a question's body counts each time that the body repeats it.
    repeats: bool = True
    # Terms of a kind that are searched for, those with the greatest weight times idf; without all.
    max_terms: dict[FieldKind, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    # Words of a question's body that more than this share of the questions hold are left out.
    max_df: Annotated[float, Field(gt=0, le=1)] = 1
    # Formulas weigh 1 + brevity / n times as much in a query of n different words.
    brevity: Weight = 0


class TeamSettings(Settings):
    """Names of runs."""

    team: NamePart
    primary: str

    def tag(self, task: RunTask, variant: Any) -> str:
        """Return the tag of the run of a variant."""
        return f"{self.team}-{variant}"


class RunSettings(TeamSettings):
    """Official names of runs."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]

    def tag(self, task: RunTask, variant: Any) -> str:
        """Return the tag of the run of a variant, its official name."""
        method: Literal["", "extract"] = ""
        if task == "task3":
            method = "extract"
        primary = variant == self.primary
        return str(RunName(self.team, task, self.id, variant, primary, method=method))


class RerankSettings(Settings):
    """Settings of the reranker: the weight of threads, and how many answers it reranks."""

    thread: Weight = 0
    depth: Annotated[int, Field(ge=1)] = 100


class LabSettings(TaskSettings):
    """Settings of tasks whose runs have the name of a team."""

    run: TeamSettings

    @property
    def primary(self) -> str:
        """The default variant."""
        return self.run.primary


class RankingSettings(LabSettings):
    """Settings that Tasks 1 and 2 share."""

    all_fields: ClassVar[tuple[str, ...]]
    former_fields: ClassVar[Mapping[str, str]] = {}  # before version 0.6 → now
    collection: CollectionSettings = Field(default_factory=DumpSettings)
    bm25: Bm25Settings = Field(default_factory=Bm25Settings)
    if TYPE_CHECKING:
        variants: dict[Any, Any]  # each declares its own

    def weights(self, variant: str) -> dict[str, float]:
        """The weight of each field that a variant searches."""
        weights = getattr(self.variants[variant], "fields", self.variants[variant])
        return {field: weight for field, weight in weights.items() if weight}

    @property
    def fields(self) -> tuple[Any, ...]:
        """The fields to index: `contents`, which documents must have, and those weighed."""
        indexed = {"contents", *self._weighed}
        return tuple(field for field in self.all_fields if field in indexed)

    @property
    def _weighed(self) -> set[str]:
        return {field for variant in self.variants for field in self.weights(variant)}

    @model_validator(mode="after")
    def _usable_variants(self) -> Self:
        chosen = {name: getattr(of, "fields", of) for name, of in self.variants.items()}
        named = set(self.bm25.fields).union(*chosen.values())
        former = [f"{old} is {new}" for old, new in self.former_fields.items() if old in named]
        if former:
            raise ValueError(f"fields have other names since version 0.6: {', '.join(former)}")

        for variant, fields in chosen.items():
            for field in fields:
                if field not in self.all_fields:
                    known = ", ".join(self.all_fields)
                    raise ValueError(f"variants.{variant}.{field}: unknown; there are {known}")
            if not self.weights(variant):
                raise ValueError(f"variants.{variant}: at least one weight must be above 0")
        for field in self.bm25.fields:
            if field not in self._weighed:
                known = ", ".join(sorted(self._weighed))
                raise ValueError(f"bm25.fields.{field}: no variant weighs it; there are {known}")
        return self


class FieldSettings(RankingSettings):
    """Settings of rankings by weighted fields of words and formulas."""

    former_fields: ClassVar[Mapping[str, str]] = {
        "answer_math": "body_math",
        "answer_operators": "body_operators",
    }
    analysis: AnalysisSettings = Field(default_factory=AnalysisSettings)
    query: QuerySettings = Field(default_factory=QuerySettings)

    @model_validator(mode="after")
    def _has_the_terms_it_weighs(self) -> Self:
        if self.analysis.latex.tokenizer and "math" not in map(kind, self.fields):
            raise ValueError(
                "analysis.latex.tokenizer: no variant weighs a field of tokens, as body_math"
            )
        operators = [
            f"variants.{name}.{field}"
            for name in self.variants
            for field in self.weights(name)
            if kind(field) == "operators"
        ]
        if operators and not self.analysis.latex.operators:
            raise ValueError(f"{operators[0]}: needs analysis.latex.operators")
        return self


class Task1Settings(FieldSettings):
    """configs/task1.yaml."""

    # `contents` and the body are the answer's own, title and tags those of its question.
    all_fields = (
        "contents", "body_math", "body_operators",
        "question_text", "question_math", "question_operators",
        "title_text", "title_math", "title_operators", "tags",
    )  # fmt: skip
    run: RunSettings
    collection: DumpSettings = Field(default_factory=DumpSettings)
    bag: bool = False  # all words of an answer and its question in one field, `contents`
    words: bool = False  # keep the words as written, to complete and to correct queries
    model: Literal["bm25", "tf_idf", "linked"] = "bm25"
    variants: dict[Variant, dict[str, Weight]]
    rerank: dict[Variant, RerankSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        if (self.bag or self.model == "tf_idf") and self.fields != ("contents",):
            raise ValueError("variants: with bag or tf_idf, `contents` is the one field")
        weights = {weight for of in self.variants.values() for weight in of.values()}
        if self.model == "linked" and weights != {1}:
            raise ValueError("variants: with the model linked nothing is weighed; weights are 1")
        if self.bm25.fields and self.model != "bm25":
            raise ValueError(f"bm25.fields: not with the model {self.model}; delete this key")
        return self


class RidgeSettings(Settings):
    """The regression; see cited/ridge.py."""

    kernel: dict[View, Weight] = Field(default=_KERNEL.copy())
    penalty: Positive = 0.5
    self_citation: Weight = 0.8


class CitedSettings(Settings):
    """Weights of the evidence from references; see cited/cited_documents.py."""

    ridge: Weight = 0.5
    profile: Weight = 0.1
    citations: Weight = 0.05
    # Learn from the documents before the query alone, in the order of the corpus.
    earlier: bool = False


class DocumentSettings(FieldSettings):
    """configs/docs.yaml."""

    # `contents` are the words of title and body, `body_text` those of the body alone, `lead_text`
    # the first of these.
    all_fields = (
        "contents", "lead_text", "body_text", "body_math", "body_operators",
        "title_text", "title_math", "title_operators", "tags",
    )  # fmt: skip
    former_fields: ClassVar[Mapping[str, str]] = {
        **FieldSettings.former_fields,
        "question_text": "body_text",
        "question_math": "body_math",
        "question_operators": "body_operators",
    }
    collection: RowsSettings = Field(default_factory=RowsSettings)
    variants: dict[DocumentVariant, dict[str, Weight]]
    ridge: RidgeSettings = Field(default_factory=RidgeSettings)
    cited: dict[DocumentVariant, CitedSettings] = Field(default_factory=dict)

    @property
    def of_folder(self) -> Self:
        """The settings for sections, of which long ones are about as much as short ones.

        What is set for a field by itself stays.
        """
        fields = dict(self.bm25.fields)
        for name, factor in _LENGTHS_OF_SECTIONS.items():
            b = min(1, self.bm25.b * factor)
            fields.setdefault(name, FieldBm25Settings(k1=self.bm25.k1, b=b))

        variants = {}
        for name, weights in self.variants.items():
            variants[name] = weights
            if "contents" in weights:
                variants[name] = {"lead_text": _LEAD, **weights}

        bm25 = self.bm25.model_copy(update={"fields": fields})
        return self.model_copy(update={"bm25": bm25, "variants": variants})


class FormulaVariant(Settings):
    """Evidence for a formula: its own fields and its context."""

    fields: dict[FormulaField, Weight]
    context: Weight = 0


class Task2Settings(RankingSettings):
    """configs/task2.yaml."""

    all_fields = get_args(FormulaField)
    run: RunSettings
    collection: DumpSettings = Field(default_factory=DumpSettings)
    analysis: FormulaAnalysisSettings = Field(default_factory=FormulaAnalysisSettings)
    variants: dict[Variant, FormulaVariant]


def _load_answers(value: object, info: ValidationInfo) -> object:
    """Load a Task 1 configuration from the folder of the configuration that names it."""
    if info.context is None:  # the settings of a manifest
        return value
    if isinstance(value, str):
        return load(Task1Settings, info.context / value)

    try:
        return Task1Settings.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(faults(error, Task1Settings)) from None


class Task3Settings(LabSettings):
    """configs/task3.yaml."""

    run: RunSettings
    ranking: Annotated[Task1Settings, BeforeValidator(_load_answers)]

    @property
    def variants(self) -> Mapping[Any, Any]:
        """Those of the ranking."""
        return self.ranking.variants


class NlpsAnalysisSettings(Settings):
    """How the words of a text are read."""

    text: TextSettings = Field(default_factory=TextSettings)


class TfidfVariant(Settings):
    """The baseline of the shared task; it has nothing to set."""

    method: Literal["tfidf"]


class RidgeVariant(Settings):
    """Premises by what the training set cites; see premises/premise_ridge.py."""

    method: Literal["ridge"]
    profile: Weight
    text: Weight
    citations: Weight


class NlpsSettings(TaskSettings):
    """configs/nlps.yaml."""

    analysis: NlpsAnalysisSettings = Field(default_factory=NlpsAnalysisSettings)
    ridge: RidgeSettings = Field(default_factory=RidgeSettings)
    primary: str
    variants: dict[NamePart, Annotated[TfidfVariant | RidgeVariant, Field(discriminator="method")]]

    @model_validator(mode="after")
    def _any_view(self) -> Self:
        if not any(self.ridge.kernel.values()):
            raise ValueError("ridge.kernel: at least one weight must be above 0")
        return self
