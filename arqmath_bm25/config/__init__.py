"""configs/*.yaml → typed settings. A fault is reported by the key that holds it."""

from arqmath_bm25.config.base import (
    AnalysisSettings,
    Bm25Settings,
    LatexSettings,
    QuerySettings,
    RunSettings,
    Settings,
    TextSettings,
    default_config,
    load,
)
from arqmath_bm25.config.nlps import (
    Bm25Variant,
    NlpsField,
    NlpsSettings,
    SupervisedVariant,
    TfidfVariant,
    load_nlps,
)
from arqmath_bm25.config.task1 import FusionSettings, Task1Field, Task1Settings, load_task1
from arqmath_bm25.config.task2 import (
    FormulaAnalysisSettings,
    FormulaField,
    FormulaVariant,
    Task2Settings,
    load_task2,
)
from arqmath_bm25.config.task3 import Ranking, Task3Settings, load_task3

__all__ = [
    "AnalysisSettings",
    "Bm25Settings",
    "Bm25Variant",
    "FormulaAnalysisSettings",
    "FormulaField",
    "FormulaVariant",
    "FusionSettings",
    "LatexSettings",
    "NlpsField",
    "NlpsSettings",
    "QuerySettings",
    "Ranking",
    "RunSettings",
    "Settings",
    "SupervisedVariant",
    "Task1Field",
    "Task1Settings",
    "Task2Settings",
    "Task3Settings",
    "TextSettings",
    "TfidfVariant",
    "default_config",
    "load",
    "load_nlps",
    "load_task1",
    "load_task2",
    "load_task3",
]
