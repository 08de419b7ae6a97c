"""Progress on standard error: bar, rate and remaining time; silent where that is no terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Task

# A notebook is no terminal, though its kernel asks for colours (FORCE_COLOR).
_terminal = bool(sys.stderr and sys.stderr.isatty())
console = Console(stderr=True, highlight=False, force_terminal=_terminal, force_jupyter=False)


def tell(note: str) -> None:
    """Say what a user may not expect, without ending the work."""
    console.print(f"note: {note}", style="yellow", markup=False)


class _Rate(TextColumn):
    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> str:  # type: ignore[override]  # rich accepts any renderable
        return f"{task.speed:,.0f} {task.fields['unit']}/s" if task.speed else ""


@contextmanager
def progress(what: str, total: float, unit: str) -> Iterator[Callable[[float], None]]:
    """Show a bar for work of `total` units; yields the function to call with each step."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        task = bar.add_task(what, total=total, unit=unit)
        yield lambda step: bar.advance(task, step)
