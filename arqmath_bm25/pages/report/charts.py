"""Charts as SVG to stand inside a page, drawn by pygal and coloured by the page's style sheet.

What pygal adds for itself goes: its script, its styles, its ids and its tooltips, which need the
script. So a chart is light or dark as the page is, and its bars are links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pygal
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lxml.etree import _Element

_COMMON: Final[dict[str, Any]] = {
    "js": (), "show_legend": False, "no_prefix": True, "disable_xml_declaration": True,
    "width": 900, "margin": 4, "x_title": None,
}  # fmt: skip
_LINK: Final = "{http://www.w3.org/1999/xlink}href"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart of differences."""

    name: str
    value: float
    link: str


def differences(bars: Sequence[Bar], title: str) -> Markup:
    """Draw a bar for each topic, the greatest gain first; bars below 0 have a class of their own.

    In the SVG, gains are `.color-0`, losses `.color-1`, both links.
    """
    ordered = sorted(bars, key=lambda bar: -bar.value)
    most = max([abs(bar.value) for bar in bars] + [0.05])
    chart = pygal.StackedBar(
        **_COMMON, margin_left=24, height=220, range=(-most, most), show_x_labels=False, spacing=0,
        y_labels=[{"value": n * most / 2, "label": f"{n * most / 2:+.2f}"} for n in range(-2, 3)],
    )  # fmt: skip
    chart.x_labels = [bar.name for bar in ordered]
    for sign in (1, -1):
        chart.add("", [_linked(bar) if bar.value * sign > 0 else None for bar in ordered])
    return _svg(chart, title)


def _linked(bar: Bar) -> dict[str, Any]:
    label = f"{bar.name}: {bar.value:+.4f}"
    return {"value": bar.value, "label": label, "xlink": {"href": bar.link}}


def curves(
    points: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x_title: str,
    x_labels: Sequence[tuple[float, str]],
) -> Markup:
    """Draw a line of (x, y) for each name, y from 0 to 1; `x_labels` are places and their names.

    In the SVG, the lines are `.color-0`, `.color-1` … in the order of `points`.
    """
    chart = pygal.XY(
        **{**_COMMON, "x_title": x_title}, height=360, range=(0, 1), dots_size=4,
        y_labels=[n / 5 for n in range(6)], show_x_guides=False,
    )  # fmt: skip
    chart.x_labels = [{"value": place, "label": name} for place, name in x_labels]
    for name, line in points.items():
        chart.add("", [{"value": (x, y), "label": f"{name}: {y:.3f}"} for x, y in line])
    return _svg(chart, title)


def _svg(chart: Any, title: str) -> Markup:
    chart.add_xml_filter(_bare(title))
    return Markup(chart.render(is_unicode=True))  # noqa: S704  # lxml has escaped every text


def _bare(title: str) -> Callable[[_Element], _Element]:
    def strip(root: _Element) -> _Element:
        for element in list(root.iter()):
            classes = str(element.get("class", "")).split() if isinstance(element.tag, str) else []
            if not isinstance(element.tag, str) or element.tag == "defs" or "tooltip" in classes:
                _remove(element)
                continue
            for name in {"id", "style", "target"} & set(element.keys()):
                del element.attrib[name]
            if element.tag == "desc":
                if "label" in classes and (parent := element.getparent()) is not None:
                    _label(parent, element.text or "")
                _remove(element)
        for link in root.iter("a"):
            link.set("href", link.attrib.pop(_LINK))
        for heading in root.findall("title"):
            heading.text = title
        root.set("role", "group")  # not img, whose parts, the links, nobody could reach
        root.set("aria-label", title)
        return root

    return strip


def _label(element: _Element, text: str) -> None:
    """Give an element a name, which is read aloud and shown where the pointer is."""
    if element.tag == "a":
        element.set("aria-label", text)
    name = element.makeelement("title", {}, None)
    name.text = text
    element.append(name)


def _remove(element: _Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
