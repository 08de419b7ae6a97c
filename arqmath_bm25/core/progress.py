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
from html import escape
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress
from rich.segment import Segment

_PAUSE = 10.0  # seconds before the first line
_LONGEST_PAUSE = 600.0
_NOTEBOOK_PAUSE = 0.5  # between two states of the bar in a notebook
# A notebook is no terminal, though its kernel asks for colours (FORCE_COLOR).
_terminal = bool(sys.stderr and sys.stderr.isatty())
# What a server, a file or a run may be called must not steer the terminal.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class PlainConsole(Console):
    """A console that prints a text as it is, but for its control characters."""

    def __init__(self, **options: Any) -> None:
        # Names of files may have brackets, which are no markup here.
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the text with a mark in place of every control character."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else _STEERING.sub("\ufffd", segment.text)
            yield segment._replace(text=text)


console = PlainConsole(stderr=True, force_terminal=_terminal, force_jupyter=False, quiet=True)
_log = logging.getLogger("arqmath_bm25")
_log.addHandler(logging.NullHandler())


def tell(note: str) -> None:
    """Print a note on standard error; the work goes on."""
    _log.warning(note)
    console.print(f"note: {note}", style="yellow")


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
        shown = bar.tasks[0]

        def line() -> str:
            return f"{what}: {shown.percentage:.0f} % of {total:,.0f} {unit}"

        with _lines(line, lambda: shown.percentage):
            yield lambda step: bar.advance(task, step)


@contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """Show the current step of work of unknown length; yields the function that changes it."""
    _log.info(what)
    with console.status(what) as shown, _lines(lambda: str(shown.status)):
        yield shown.update


@contextmanager
def _lines(
    line: Callable[[], str], percentage: Callable[[], float | None] = lambda: None
) -> Iterator[None]:
    """Write a line from time to time if there is no terminal; show a bar in a notebook."""
    if console.is_terminal:
        yield
        return
    done, began = Event(), monotonic()
    display: Any = None  # of a notebook that runs this
    ipython = sys.modules.get("IPython")
    if hasattr(ipython and ipython.get_ipython(), "kernel"):
        display = import_module("IPython.display")

    def draw() -> None:
        if done.wait(_PAUSE):
            return
        bar = display.display(display.HTML(""), display_id=True)
        while not done.wait(_NOTEBOOK_PAUSE):
            seconds = monotonic() - began
            share = percentage()  # without one the bar moves to and fro
            value = "" if share is None else f' value="{share:.0f}"'
            text = escape(f"{line()}, {seconds:.0f} s so far")
            bar.update(display.HTML(f'<progress max="100"{value}></progress> {text}'))
        bar.update(display.HTML(""))

    def write() -> None:
        pause = _PAUSE
        while not done.wait(pause):
            seconds = monotonic() - began
            console.print(f"{line()}, {seconds:.0f} s so far", soft_wrap=True)
            pause = min(seconds, _LONGEST_PAUSE)

    thread = Thread(target=write if display is None else draw, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
