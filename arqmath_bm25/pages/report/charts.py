"""Charts as SVG to stand inside a page, coloured by the page's style sheet; bars are links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WIDTH: Final = 900
_LEFT: Final = 56  # room for the labels of the y axis
_TOP: Final = 14
_SVG: Final = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="group" aria-label="{}">'
    "<title>{}</title>{}</svg>"  # a group: of an image, nobody could reach the links
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart of differences."""

    name: str
    value: float
    link: str


def differences(bars: Sequence[Bar], title: str) -> Markup:
    """Draw a bar for each topic, the greatest gain first: links of class `gain` or `loss`."""
    height = 200
    most = max([abs(bar.value) for bar in bars] + [0.05])
    width = (_WIDTH - _LEFT) / max(len(bars), 1)

    def place(value: float) -> float:
        return _TOP + (1 - value / most) * height / 2

    drawn = [_guide(place(n * most / 2), f"{n * most / 2:+.2f}", n == 0) for n in range(-2, 3)]
    for at, bar in enumerate(sorted(bars, key=lambda bar: -bar.value)):
        if bar.value:
            label = f"{bar.name}: {bar.value:+.4f}"
            drawn += Markup(
                '<a class="{}" href="{}" aria-label="{}"><title>{}</title>'
                '<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.4f}"/></a>'
            ).format(
                "gain" if bar.value > 0 else "loss", bar.link, label, label, _LEFT + at * width,
                min(place(0), place(bar.value)), width * 0.9, abs(place(bar.value) - place(0)),
            ),  # fmt: skip
    return _SVG.format(_WIDTH, height + 2 * _TOP, title, title, Markup("").join(drawn))


def curves(
    points: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x_title: str,
    x_labels: Sequence[tuple[float, str]],
) -> Markup:
    """Draw a line of (x, y) for each name, y from 0 to 1; `x_labels` are places and their names.

    In the SVG, the lines are `.color-0`, `.color-1` … in the order of `points`.
    """
    height = 280
    places = [x for line in points.values() for x, _ in line] + [x for x, _ in x_labels]
    least, most = min(places), max(places)
    scale = (_WIDTH - _LEFT - 30) / ((most - least) or 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + 10 + (x - least) * scale, _TOP + (1 - y) * height

    drawn = [_guide(place(0, n / 5)[1], f"{n / 5:.1f}", n == 0) for n in range(6)]
    text = Markup('<text x="{:.2f}" y="{}">{}</text>')
    drawn += [text.format(place(x, 0)[0], height + _TOP + 26, name) for x, name in x_labels]
    drawn.append(text.format((_LEFT + _WIDTH) / 2, height + _TOP + 56, x_title))
    for number, (name, line) in enumerate(points.items()):
        dots = Markup("").join(_dots(name, [(*place(x, y), y) for x, y in line]))
        path = " ".join("{:.2f},{:.2f}".format(*place(x, y)) for x, y in line)
        drawn.append(
            Markup('<g class="series color-{}"><polyline points="{}"/>{}</g>').format(
                number, path, dots
            )
        )
    return _SVG.format(_WIDTH, height + _TOP + 66, title, title, Markup("").join(drawn))


def _dots(name: str, places: Sequence[tuple[float, float, float]]) -> Iterator[Markup]:
    for x, y, value in places:
        dot = Markup('<circle cx="{:.3f}" cy="{:.3f}" r="4"><title>{}: {:.3f}</title></circle>')
        yield dot.format(x, y, escape(name), value)


def _guide(y: float, label: str, axis: bool) -> Markup:
    return Markup(
        '<path class="{}" d="M{} {:.2f}H{}"/><text class="value" x="{}" y="{:.2f}">{}</text>'
    ).format("axis" if axis else "guide", _LEFT, y, _WIDTH, _LEFT - 8, y + 5, label)
