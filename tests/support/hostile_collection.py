"""A collection, topics, judgments and runs in which everything that can try to run a script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from pathlib import Path

ATTACK = "window.attacked=1"
TAGS = (
    f"<script>{ATTACK}</script><img src=x onerror={ATTACK}><svg onload={ATTACK}></svg>"
    f'<iframe srcdoc="<script>parent.{ATTACK}</script>"></iframe>'
    f'<a class="bait" href="javascript:{ATTACK}">click</a><p onclick="{ATTACK}">press</p>'
    f'<math><mtext><img src=x onerror="{ATTACK}"></mtext></math><style>body{{display:none}}</style>'
)
LATEX = (
    rf"\text{{<img src=x onerror={ATTACK}>}} \href{{javascript:{ATTACK}}}{{x}} "
    rf"\mbox{{</math><script>{ATTACK}</script>}}"
)
MATH = f'<span class="math-container" id="1">{LATEX}</span>'
TITLE = f"Is <script>{ATTACK}</script> {MATH} a series?"
RUN_ID = f"<img src=x onerror={ATTACK}>"
RUN_NAME = f"<img src=x onerror={ATTACK}>&amp;.tsv"


def write_collection(data: Path) -> Path:
    """Write the collection and return it: question 1 with answers 2, 3 and 4; topics of 2021."""
    posts = [
        row(1, 1, f"<p>Series? {TAGS} {MATH}</p>", Title=TITLE, Tags="<a\"><b onclick='x'>"),
        row(2, 2, f"<p>The series {MATH} converges.</p>{TAGS}", ParentId=1),
        row(3, 2, f"<pre><code>{TAGS} series</code></pre>", ParentId=1),
        row(4, 2, f"<p>A series $x<y$ and &lt;script&gt;{ATTACK}&lt;/script&gt;</p>", ParentId=1),
    ]  # fmt: skip
    _write(data / "Collection" / "Posts.V1.3.xml", f"<posts>\n{''.join(posts)}</posts>\n")
    topics = "".join(
        f"<Topic number={quoteattr(number)}><Title>{_escape(TITLE)}</Title>"
        f"<Question>{_escape(f'<p>What is a series? {TAGS} {MATH}</p>')}</Question>"
        f"<Tags>series,{_escape(RUN_ID)}</Tags></Topic>\n"
        for number in ("A.201", "A.202")
    )
    _write(
        data / "Topics/Task1&3 Topics/ARQMath-2/Topics/Topics_Task1_2021_V1.1.xml",
        f"<Topics>\n{topics}</Topics>\n",
    )
    _write(
        data / "Evaluation/ Scripts & Qrels/ARQMath-2/Task1/Qrel Files/qrel_task1_2021_test.tsv",
        "A.201\t0\t2\t3\nA.201\t0\t3\t0\nA.202\t0\t4\t2\nA.202\t0\t2\t1\n",
    )
    return data


def write_folder(folder: Path) -> Path:
    """Write source files about series that try the same, by their names too; return the folder."""
    cells = [{"cell_type": "markdown", "source": f"# A series {TAGS}\n{TAGS} ${LATEX}$"}]
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{ATTACK}">{TAGS}</svg>'
    files = {
        f'"><script>{ATTACK}</script>.md': f"# Series {TAGS}\n\n{TAGS} {drawing} ![x](a.svg)\n",
        f'"><img src=x onerror={ATTACK}>.html': f"<title>{TAGS}</title><h1>Series</h1>{drawing}",
        "week.tex": rf"\section{{Series {TAGS}}} {TAGS} ${LATEX}$",
        "lab.ipynb": json.dumps({"cells": cells, "nbformat": 4}),
        "lists.md": "# Series\n" + "".join(" " * (n % 90) + "* x\n" for n in range(5000)),
        "lists.html": "<h1>Series</h1>" + "<ul><li>" * 5000,
        "a.svg": drawing,
    }
    for name, text in files.items():
        _write(folder / name, text)
    return folder


def write_runs(directory: Path) -> list[Path]:
    """Write two runs, one with a hostile name and run id."""
    rows = {
        RUN_NAME: ["A.201\t2", "A.201\t3", "A.202\t2", "A.202\t4"],
        "plain.tsv": ["A.201\t3", "A.201\t4", "A.201\t2", "A.202\t4"],
    }
    for name, lines in rows.items():
        text = "".join(
            f"{line}\t{rank}\t{9 - rank}\t{RUN_ID}\n" for rank, line in enumerate(lines, 1)
        )
        _write(directory / name, text)
    return [directory / name for name in rows]


def row(number: int, kind: int, body: str, **attributes: object) -> str:
    """Return one post as the lab's files have it."""
    known = {"Id": number, "PostTypeId": kind, "CreationDate": "2015-01-01T00:00:00", **attributes}
    written = " ".join(f"{name}={quoteattr(str(value))}" for name, value in known.items())
    return f"  <row {written} Body={quoteattr(body)}/>\n"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
