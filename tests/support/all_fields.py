"""Settings of Task 1 that weigh every field, so that documents have them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.settings import Task1Settings

if TYPE_CHECKING:
    from arqmath_bm25.analysis.settings import AnalysisSettings


def all_fields(analysis: AnalysisSettings) -> Task1Settings:
    """Return settings with this analysis."""
    variants = {"both": dict.fromkeys(Task1Settings.all_fields, 1.0)}
    settings: Task1Settings = configured("task1").settings
    return settings.model_copy(update={"analysis": analysis, "variants": variants})
