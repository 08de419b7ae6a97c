"""Configurations that differ from the defaults: `edited("task1", ("k1: 1.2", "k1: 1.7"))`."""

from __future__ import annotations

from arqmath_bm25.core.configuration import default_config


def edited(task: str, *changes: tuple[str, str]) -> str:
    """Return the default configuration of a task with changes; each old text is in it once."""
    text = default_config(task).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{task}.yaml has {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    return text
