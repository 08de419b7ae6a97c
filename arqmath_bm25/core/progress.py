"""Progress: on standard error for the command line, in the log `arqmath_bm25` for the library.

A terminal shows a bar, a rate and the remaining time. Without a terminal a line with the time that
the work has taken so far is written after ten seconds, then whenever that time has doubled, and
every ten minutes: quick work says nothing, and a log stays short. `console` is quiet until the
command line says otherwise.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress
from rich.segment import Segment

_PAUSE: Final = 10.0  # seconds before the first line
_LONGEST_PAUSE: Final = 600.0
# A notebook is no terminal, though its kernel asks for colours (FORCE_COLOR).
_terminal = bool(sys.stderr and sys.stderr.isatty())
# What a server, a file or a run may be called must not steer the terminal.
_STEERING: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class PlainConsole(Console):
    """A console that passes no control characters of a text to the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the text with a mark in place of every control character."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else _STEERING.sub("\ufffd", segment.text)
            yield segment._replace(text=text)


console = PlainConsole(
    stderr=True, highlight=False, force_terminal=_terminal, force_jupyter=False, quiet=True
)
_log: Final = logging.getLogger("arqmath_bm25")
_log.addHandler(logging.NullHandler())


def tell(note: str) -> None:
    """Print a note on standard error; the work goes on."""
    _log.warning(note)
    console.print(f"note: {note}", style="yellow", markup=False)


def counted(number: int, things: str) -> str:
    """Write a number of things, given in the plural: "1 query", "1,234 queries"."""
    if number == 1:
        things = re.sub(r"^(\w+?)(ies|s)\b", lambda s: s[1] + "y" * (s[2] == "ies"), things)
    return f"{number:,} {things}"


@contextmanager
def progress(what: str, total: float, unit: str) -> Iterator[Callable[[float], None]]:
    """Show progress over `total` units; yields the function that advances it."""
    _log.info("%s: %s %s", what, f"{total:,.0f}", unit)
    silent = console.quiet or not console.is_terminal
    with Progress(console=console, disable=silent, transient=True) as bar:
        task = bar.add_task(what, total=total)
        with _lines(lambda: f"{what}: {bar.tasks[0].percentage:.0f} % of {total:,.0f} {unit}"):
            yield lambda step: bar.advance(task, step)


@contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """Show the current step of work of unknown length; yields the function that changes it."""
    _log.info(what)
    with console.status(what) as shown, _lines(lambda: str(shown.status)):
        yield shown.update


@contextmanager
def _lines(line: Callable[[], str]) -> Iterator[None]:
    """Write a line from time to time if there is no terminal."""
    if console.is_terminal:
        yield
        return
    done, began = Event(), monotonic()

    def write() -> None:
        pause = _PAUSE
        while not done.wait(pause):
            seconds = monotonic() - began
            console.print(f"{line()}, {seconds:.0f} s so far", markup=False, soft_wrap=True)
            pause = min(seconds, _LONGEST_PAUSE)

    thread = Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
