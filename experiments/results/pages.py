"""Results as tables in Markdown and as a page: what was expected, what was made, how.

Markdown tables of expected scores are what README.md and docs/RESULTS.md show between markers.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arqmath_bm25.pages.page_files import Pages
    from experiments.results.book import Book, Table

SIGNS: Final = {True: "✓", False: "✗", None: "–"}
_COLUMNS: Final = ("", "topics", "made", "expected", "difference", "judged@10", "CPU s", "")


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, numbers to the right."""
    of_words = {columns[0], "source", "version or SHA-256"}
    lines = [columns, ["---" if name in of_words else "---:" for name in columns], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def expected_table(*tables: Table, main: bool = False) -> str:
    """Return the expected scores as Markdown with three digits; `main` rows alone if asked for.

    The rows are those of the first table; the scores of the others stand beside them.
    """
    first = tables[0]
    columns = [" / ".join(first.measures.values())]
    for table in tables:
        columns += [_heading(table, one) for one in table.sets]

    rows = {key: row for key, row in first.rows.items() if row.main or not main}
    sourced = not main and any(row.source for row in rows.values())
    if sourced:
        columns.append("source")

    told = []
    for key, row in rows.items():
        cells = [row.name]
        for table in tables:
            scores = table.rows[key].scores if key in table.rows else {}
            cells += [joined(scores.get(one, ()), 3) for one in table.sets]
        if sourced:
            cells.append(row.source)
        told.append(cells)
    return markdown(columns, told)


def _heading(table: Table, one: str) -> str:
    """Return the name of a set of topics, with the size of its collection or how many they are."""
    if table.size:
        return f"{one}, {table.size}"
    if one in table.topics:
        return f"{one} ({table.topics[one]} topics)"
    return one


def write_results(book: Book, made: dict[str, Any], pages: Pages) -> None:
    """Write results.json, results.md and index.html."""
    place = pages.folder
    text = json.dumps(made, indent=1, ensure_ascii=False)
    (place / "results.json").write_text(text + "\n", encoding="utf-8")
    tables: list[dict[str, Any]] = [
        {
            "title": f"{book.tables[name].title}: {', '.join(book.tables[name].measures.values())}",
            "note": book.tables[name].note,
            "rows": list(_rows(book.tables[name], rows)),
            "commands": {book.tables[name].rows[key].name: rows[key]["commands"] for key in rows},
        }
        for name, rows in made["tables"].items()
    ]
    facts = {**made["versions"], "code": made["code"], "book": made["book"]}
    facts |= {f"data: {one['name']}": one["sha256"] for one in made["data"]}
    lines = [f"# Results on {book.collection}\n", book.note]
    for table in tables:
        lines += [f"## {table['title']}\n", table["note"]]
        lines.append(markdown(_COLUMNS, table["rows"]))
        for name, commands in table["commands"].items():
            lines.append("\n".join([f"{name}:\n", "```", *commands, "```\n"]))
    lines.append(markdown(["", "version or SHA-256"], facts.items()))
    (place / "results.md").write_text(
        "\n\n".join(line.strip() for line in lines if line) + "\n", encoding="utf-8"
    )
    pages.templates.filters["code"] = _with_code
    pages.write(
        "index.html", "results.html", book=book, columns=_COLUMNS, tables=tables, facts=facts
    )


def _rows(table: Table, made: dict[str, Any]) -> Iterable[list[str]]:
    """Yield a row for each run and set of topics; runs of other people have no score of ours."""
    for key, row in table.rows.items():
        for one in table.sets:
            expected = joined(row.scores.get(one, ()))
            if key not in made and one in row.scores:
                yield [f"{row.name}, {one}", "", "", expected, "", "", "", ""]
            elif key in made and one in made[key]["sets"]:
                found, cpu = made[key]["sets"][one], made[key]["cpu_seconds"]
                differences = " / ".join(f"{d:+.4f}" for d in found["difference"].values())
                judged = found["judged_at_10"]
                yield [
                    f"{row.name}, {one}", str(found["topics"]),
                    joined(found["measured"].values()), expected, differences,
                    "" if judged is None else f"{judged:.2f}", f"{cpu['index']} + {cpu['run']}",
                    SIGNS[found["ok"]],
                ]  # fmt: skip


def joined(values: Iterable[float | None], digits: int = 4) -> str:
    """Write scores as tables of papers do, .712 / .500; one that is not known as a dash."""
    told = ["–" if v is None else f"{v:.{digits}f}".removeprefix("0") for v in values]
    return " / ".join(told) or "–"


def _with_code(text: str) -> Markup:
    """Return a name in Markdown as HTML."""
    return Markup(re.sub("`(.+?)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped
