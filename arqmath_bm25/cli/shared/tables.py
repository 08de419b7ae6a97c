"""Tables of scores: for the terminal, to paste into a paper (LaTeX, Markdown), or as CSV."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable

from arqmath_bm25.core.progress import PlainConsole, console

TableForm = Literal["terminal", "latex", "markdown", "csv"]
PASTED: Final[tuple[TableForm, ...]] = ("latex", "markdown")
DAGGER: Final = "†"

_LATEX: Final = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$",
    ">": "$>$", "′": "$'$", "†": r"$^\dagger$", "…": r"\ldots{}", "·": r"$\cdot$", "–": "--",
    "→": r"$\to$", "Δ": r"$\Delta$",
})  # fmt: skip


class Marked(NamedTuple):
    """A number followed by a mark."""

    value: float
    mark: str


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """A table whose first column has names, and the others numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()
    left: Sequence[str] = ()  # further columns of text
    dispensable: Sequence[str] = ()  # columns that a narrow terminal leaves out, in this order


def print_tables(tables: Sequence[ScoreTable], form: TableForm) -> None:
    """Print tables in a form."""
    if form == "terminal":
        for table in tables:
            print_table(table)
    else:
        write = _WRITERS[form]
        typer.echo("\n".join(write(table) for table in tables), nl=False)

    if form == "csv":
        for table in tables:
            for note in table.notes:
                console.print(f"note: {note}", markup=False, soft_wrap=True)


def print_table(table: ScoreTable) -> None:
    """Print a table with its notes below it, as wide as the terminal; a pipe has no width."""
    terminal = PlainConsole(highlight=False)
    if not terminal.is_terminal:
        terminal = PlainConsole(highlight=False, width=200)

    drawn = _fitting(table, terminal)
    terminal.print(drawn)
    for note in table.notes:
        terminal.print(f"  {escape(note)}", soft_wrap=True)


def in_terminal() -> bool:
    """Return whether tables go to a terminal, and not to a pipe or file."""
    return PlainConsole().is_terminal


def _fitting(table: ScoreTable, terminal: Console) -> RichTable:
    """Draw a table that fits: with less space, or without columns, where it is too wide."""
    drawn = _drawn(table)
    if _width(drawn, terminal) <= terminal.width:
        return drawn

    without: list[str] = []
    drawn = _drawn(table, tight=True)
    for name in table.dispensable:
        if _width(drawn, terminal) <= terminal.width:
            break
        without.append(name)
        drawn = _drawn(table, without, tight=True)

    return drawn


def _drawn(table: ScoreTable, without: Sequence[str] = (), *, tight: bool = False) -> RichTable:
    title = escape(table.caption) if table.caption else None
    padding = (0, 0) if tight else (0, 1)
    drawn = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=padding)
    kept = [place for place, name in enumerate(table.header) if name not in without]
    for place in kept:
        name = table.header[place]
        if place == 0 or name in table.left:
            drawn.add_column(escape(name), overflow="fold")
        else:
            drawn.add_column(escape(name), justify="right", no_wrap=True)

    for row in table.rows:
        cells = list(row)
        drawn.add_row(*(escape(shown(cells[place])) for place in kept))

    return drawn


def _width(drawn: RichTable, terminal: Console) -> int:
    """Return the width of a table whose lines do not break."""
    options = terminal.options.update(width=10_000)
    title, drawn.title = drawn.title, None  # which may break
    width = Measurement.get(terminal, options, drawn).maximum
    drawn.title = title
    return width


def shown(cell: object) -> str:
    """Return a cell as text; numbers have four digits."""
    if isinstance(cell, Marked):
        return f"{cell.value:.4f}{cell.mark}"
    if isinstance(cell, float):
        return f"{cell:.4f}"
    return str(cell)


def latex(table: ScoreTable) -> str:
    """Write a table for LaTeX; no package is needed."""
    names = [name for name in table.header[1:] if name not in table.left]
    columns = "l" * (len(table.header) - len(names)) + "r" * len(names)
    lines = [
        r"\begin{table}",
        r"\caption{" + table.caption.translate(_LATEX) + "}",
        r"\begin{tabular}{" + columns + "}",
        r"\hline",
        _latex_row(table.header),
        r"\hline",
        *map(_latex_row, table.rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    lines += [f"% {note}" for note in table.notes]
    return "\n".join(lines) + "\n"


def _latex_row(row: Sequence[object]) -> str:
    cells = [shown(cell).translate(_LATEX) for cell in row]
    return " & ".join(cells) + r" \\"


def markdown(table: ScoreTable) -> str:
    """Write a table for Markdown (GitHub's, pandoc's pipe tables)."""
    alignments = []
    for place, name in enumerate(table.header):
        is_text = place == 0 or name in table.left
        alignments.append(":--" if is_text else "--:")

    lines = [
        _markdown_row(table.header),
        "|" + "|".join(alignments) + "|",
        *map(_markdown_row, table.rows),
        "",
        _markdown_text(table.caption),
    ]
    for note in table.notes:
        lines += ["", _markdown_text(note)]
    return "\n".join(lines) + "\n"


def _markdown_row(row: Sequence[object]) -> str:
    cells = [_markdown_text(shown(cell)) for cell in row]
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    for character in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(character, f"\\{character}")
    return text


def comma_separated(table: ScoreTable) -> str:
    """Write a table as CSV, with all digits and without marks."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    for row in table.rows:
        writer.writerow(cell.value if isinstance(cell, Marked) else cell for cell in row)
    return text.getvalue()


_WRITERS: Final[Mapping[str, Callable[[ScoreTable], str]]] = {
    "latex": latex,
    "markdown": markdown,
    "csv": comma_separated,
}
