"""Tables of scores: for the terminal, to paste into a paper (LaTeX, Markdown), or as CSV."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable

from arqmath_bm25.core.progress import PlainConsole, console

TableForm = Literal["terminal", "latex", "markdown", "csv"]

# Forms that are pasted into a paper.
PASTED: tuple[TableForm, ...] = ("latex", "markdown")
DAGGER = "†"

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "′": "$'$",
        "†": r"$^\dagger$",
        "…": r"\ldots{}",
        "·": r"$\cdot$",
        "–": "--",
        "→": r"$\to$",
        "Δ": r"$\Delta$",
    }
)


class MarkedNumber(NamedTuple):
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
    left: Sequence[str] = ()  # further columns of text, which are aligned left
    dispensable: Sequence[str] = ()  # columns that a narrow terminal leaves out, in this order


def print_tables(tables: Sequence[ScoreTable], form: TableForm) -> None:
    """Print tables in a form."""
    if form == "terminal":
        for table in tables:
            print_table(table)
    else:
        typer.echo("\n".join(map(_WRITERS[form], tables)), nl=False)

    if form == "csv":
        for table in tables:
            for note in table.notes:
                console.print(f"note: {note}", soft_wrap=True)


def print_table(table: ScoreTable) -> None:
    """Print a table with its notes below it, as wide as the terminal; a pipe has no width."""
    terminal = PlainConsole()
    if not terminal.is_terminal:
        terminal = PlainConsole(width=200)

    # A table that is too wide has less space between its columns, or some are left out.
    layout = _lay_out(table)
    left_out = []
    if _width(layout, terminal) > terminal.width:
        layout = _lay_out(table, padding=0)
    for name in table.dispensable:
        if _width(layout, terminal) > terminal.width:
            left_out.append(name)
            layout = _lay_out(table, left_out, padding=0)

    terminal.print(layout)
    for note in table.notes:
        terminal.print(f"  {note}", soft_wrap=True)


def in_terminal() -> bool:
    """Return whether tables go to a terminal, and not to a pipe or file."""
    return PlainConsole().is_terminal


def _lay_out(table: ScoreTable, left_out: Sequence[str] = (), padding: int = 1) -> RichTable:
    """Return a table for the terminal, without some of the columns."""
    layout = RichTable(
        title=table.caption or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, padding),
    )
    columns = [column for column, name in enumerate(table.header) if name not in left_out]
    for column in columns:
        name = table.header[column]
        if column == 0 or name in table.left:
            layout.add_column(name, overflow="fold")
        else:
            layout.add_column(name, justify="right", no_wrap=True)

    for row in table.rows:
        layout.add_row(*(format_cell(row[column]) for column in columns))
    return layout


def _width(layout: RichTable, terminal: Console) -> int:
    """Return the width of a table if no line of it breaks; its title may break."""
    options = terminal.options.update(width=10_000)
    title = layout.title
    layout.title = None
    width = Measurement.get(terminal, options, layout).maximum
    layout.title = title
    return width


def format_cell(cell: object) -> str:
    """Return a cell as text; numbers have four digits."""
    if isinstance(cell, MarkedNumber):
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
    """Write a row for LaTeX."""
    cells = [format_cell(cell).translate(_LATEX) for cell in row]
    return " & ".join(cells) + r" \\"


def markdown(table: ScoreTable) -> str:
    """Write a table for Markdown (GitHub's, pandoc's pipe tables)."""
    left = (table.header[0], *table.left)
    alignments = [":--" if name in left else "--:" for name in table.header]
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
    """Write a row for Markdown."""
    cells = [_markdown_text(format_cell(cell)) for cell in row]
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    for character in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(character, f"\\{character}")
    return text


def comma_separated(table: ScoreTable) -> str:
    """Write a table as CSV, with all digits and without marks."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    for row in table.rows:
        cells = []
        for cell in row:
            if isinstance(cell, MarkedNumber):
                cell = cell.value
            cells.append(cell)
        writer.writerow(cells)
    return text.getvalue()


_WRITERS: Mapping[str, Callable[[ScoreTable], str]] = {
    "latex": latex,
    "markdown": markdown,
    "csv": comma_separated,
}
