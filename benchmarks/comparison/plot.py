"""Time and memory of the builds over size, as two panels of one SVG."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pygal
from pygal.style import CleanStyle

from comparison.growth import FULL, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from comparison.growth import Step

    Value = Callable[[Step], float]

_WIDTH, _HEIGHT = 560, 400
_SCRIPT = re.compile("<script.*?</script>", re.DOTALL)  # settings for tooltips that it has not
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73")
_SECONDS: Final[Mapping[str, Value]] = {
    "Task 1": lambda step: step.task1.seconds,
    "Task 2": lambda step: step.task2.seconds,
    "both": lambda step: step.seconds,
}
_MEGABYTES: Final[Mapping[str, Value]] = {
    "Task 1": lambda step: step.task1.together,
    "Task 2": lambda step: step.task2.together,
    "a worker": lambda step: step.worker,
}


def draw(steps: Sequence[Step], path: Path) -> None:
    """Write the plot: points that were measured, and straight lines to the full collection."""
    panels = [
        _panel("Seconds to build", _SECONDS, steps),
        _panel("MB of all processes, and of a worker", _MEGABYTES, steps),
    ]
    placed = [
        _SCRIPT.sub("", panel).replace(
            "<svg ", f'<svg x="{n * _WIDTH}" width="{_WIDTH}" height="{_HEIGHT}" ', 1
        )
        for n, panel in enumerate(panels)
    ]
    size = f"{2 * _WIDTH} {_HEIGHT}"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">{"".join(placed)}</svg>\n',
        encoding="utf-8",
    )


def _panel(title: str, curves: Mapping[str, Value], steps: Sequence[Step]) -> str:
    sizes = [step.gigabytes for step in steps]
    chart = pygal.XY(
        title=title, x_title="GB of posts", width=_WIDTH, height=_HEIGHT, js=(), no_prefix=True,
        style=CleanStyle(
            colors=[colour for colour in _COLOURS for _ in range(2)], guide_stroke_color="#bbb",
            major_guide_stroke_color="#bbb",
        ),
        disable_xml_declaration=True, legend_at_bottom=True, xrange=(0, FULL * 1.05),
        include_x_axis=True, show_x_guides=True, truncate_legend=-1,
        x_labels=[0, 1, 2, 3, FULL],
    )  # fmt: skip
    for name, value in curves.items():
        values = [value(step) for step in steps]
        chart.add(name, list(zip(sizes, values, strict=True)), stroke=False)
        line = Line.fit(sizes, values)
        ends = [(x, line.at(x)) for x in (0, FULL)]
        chart.add(None, ends, show_dots=False)
    return str(chart.render(is_unicode=True))
