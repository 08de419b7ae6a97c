"""Charts carry no script and no style of their own; their bars are links with names."""

from __future__ import annotations

from lxml import etree

from arqmath_bm25.pages.page_files import templates

SVG = "{http://www.w3.org/2000/svg}"
VALUES = {"A.1": 0.0, "A.2": -0.5, "A.3": 0.25}
PAGES = {"A.1": "a1.html", "A.2": "a2.html", "A.3": "a3.html"}
CHARTS = templates("report").get_template("charts.html").module


def differences(values: dict[str, float], pages: dict[str, str], title: str) -> str:
    return str(CHARTS.differences(values, pages, title)).strip()


def curves(
    points: dict[str, list[tuple[float, float]]], title: str, x_title: str,
    x_labels: list[tuple[float, str]],
) -> str:  # fmt: skip
    return str(CHARTS.curves(points, title, x_title, x_labels)).strip()


def bars(svg: str, kind: str) -> list[etree._Element]:
    return list(etree.fromstring(svg).iterfind(f"{SVG}a[@class='{kind}']"))


def test_gains_and_losses_are_links_of_two_kinds() -> None:
    svg = differences(VALUES, PAGES, "b minus a")
    (gain,), (loss,) = bars(svg, "gain"), bars(svg, "loss")
    assert (gain.get("href"), gain.get("aria-label")) == ("topics/a3.html", "A.3: +0.2500")
    assert (loss.get("href"), loss.get("aria-label")) == ("topics/a2.html", "A.2: -0.5000")
    heights = [float(link.find(f"{SVG}rect").get("height")) for link in (gain, loss)]
    assert abs(heights[1] / heights[0] - 2) < 1e-6


def test_lines_go_through_their_points() -> None:
    svg = curves({"a": [(0, 1.0), (1, 0.5)], "b": [(0, 0.0)]}, "T", "recall", [(0, "0")])
    root = etree.fromstring(svg)
    dots = [
        [(float(c.get("cx")), float(c.get("cy"))) for c in group.iter(f"{SVG}circle")]
        for group in root.iterfind(f".//{SVG}g")
    ]
    (top, middle), (bottom,) = dots
    assert middle[0] > top[0] == bottom[0]
    assert abs((middle[1] - top[1]) * 2 - (bottom[1] - top[1])) < 1e-3  # y grows downwards
    assert "a: 0.500" in [title.text for title in root.iter(f"{SVG}title")]


def test_text_cannot_become_an_element_or_attribute() -> None:
    hostile = '"><script>alert(1)</script>'
    for svg in (
        differences({hostile: 0.1}, {hostile: "x.html"}, hostile),
        curves({hostile: [(0, 1.0)]}, hostile, hostile, [(0, hostile)]),
    ):
        root = etree.fromstring(svg)
        names = {etree.QName(element).localname for element in root.iter()}
        assert not names & {"script", "style", "defs", "desc"}
        attributes = {name for element in root.iter() for name in element.attrib}
        assert not attributes & {"id", "style", "onclick", "target"}
        assert root.get("aria-label") == hostile


def test_the_same_numbers_give_the_same_chart() -> None:
    assert differences(VALUES, PAGES, "T") == differences(VALUES, PAGES, "T")
