"""Break small inputs of every kind at random places and read them.

An element may also become exactly empty, or stand there twice. Texts of documents are analysed and
written as HTML besides.

Each input must end in one of two ways: it is read and every row is accounted for, or it is refused
with an InputError that names the file. Anything else is printed with the number of the input, which
makes it again (`--only KIND --first NUMBER --inputs 1`): a traceback, a hang (CPU seconds), a row
of the original that stands unbroken in the file and was lost.

    python tests/support/fuzz_inputs.py --inputs 10000 --seed 1
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.fetching import unpack
from arqmath_bm25.collection.formulas import (
    COLUMNS,
    read_formula_ids,
    read_formulas,
    read_topic_formulas,
)
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.premises import read_premises, read_statements
from arqmath_bm25.collection.published import Archive
from arqmath_bm25.collection.source_files import read_source
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.manifest import MANIFEST, Manifest
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.writing import Source
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import TASKS, configured

if TYPE_CHECKING:
    from collections.abc import Callable

CPU_SECONDS: Final = 5  # for one input of a few kilobytes
_ROW = '   <row Id="{0}" PostTypeId="{1}"{2} Score="3" Body="&lt;p&gt;Post {0}: {3}&lt;/p&gt;"/>\n'
_MATH = ("x^2", r"\frac{a}{b} &lt; c", "caf\u00e9 \U0001d411", r"\sum_{i=1}^n i")
# What breaks things: marks of all the formats, and values at the ends of their ranges.
_PIECES: Final = tuple(
    piece.encode("utf-8", "surrogatepass")
    for piece in (
        *"<>&\"'\t\n\r\0 {}[]:,-\\%*#|\ufeff\ud800\uffff", "<row ", "<rOw ", "/>", "<!--", "-->",
        "<![CDATA[", "]]>", "&#31;", "&lol;", "&#xD800;", "&#" + 5000 * "9" + ";", "<!DOCTYPE x>",
        "<?x?>", "\r\n", '""', "-1", "04", "1e400", "nan", 5000 * "9", 19 * "9", "2.0", "0x1",
        "1_0", "\u0664", "true", "null", "2001-99-99", "!!python/object:x", "&a [*a]", "? ",
        "[" * 3000, "\\ud800", "\u2028",
    )
)  # fmt: skip


_ELEMENT: Final = re.compile(rb"(<(\w+)\b[^<>]*>)(?:.*?)(</\2>)|<\w+\b[^<>]*/>", re.DOTALL)
_ANALYZER: Final = Analyzer(AnalysisSettings())


@dataclass(frozen=True)
class Kind:
    """A kind of input: a good one, and how it is read."""

    content: bytes
    read: Callable[[Path], set[str]]  # returns the rows that came out, by their keys
    name: str = "input"
    row: str = ""  # regular expression of an unbroken row; its group is the key
    hides: bytes = b"<!--|<!\\[CDATA"  # what may rightly hide an unbroken row
    beside: tuple[Path, ...] = ()  # files that it may refer to


def _posts(path: Path) -> set[str]:
    table = PostTable.scan(path)
    counts = dict(table.counts)
    total = counts.pop("rows")
    assert total == sum(counts.values()), table.counts
    threads = list(table.threads())
    assert len(table) == sum(len(t.answers) + (t.question is not None) for t in threads)
    found = {str(post) for post in table.ids}
    assert all(table.read(post) is not None for post in found)
    return found


def _links(path: Path) -> set[str]:
    links = PostLinks.read(path)
    counts = dict(links.counts)
    total = counts.pop("rows")
    assert total == sum(counts.values()), links.counts
    return set(map(str, links.rows[:, 1]))


def _formulas(path: Path) -> set[str]:
    rows = list(read_formulas(path))
    try:
        ids = [number for block in read_formula_ids(path) for number in block.formula.tolist()]
    except InputError as error:
        if "expected a whole number" not in str(error):
            raise
    else:
        assert ids == [int(row.formula_id) for row in rows], "rows and blocks differ"
    return {row.formula_id for row in rows}


def _unpack(path: Path) -> set[str]:
    archive = Archive("Formulas/latex_representation_v3", ("1.tsv", "2.tsv"), 2000)
    unpack(path, archive, path.with_name("unpacked"))
    return set()


def _manifest(path: Path) -> set[str]:
    found = Manifest.read(path.parent)
    assert found is None or (isinstance(found.task, str) and isinstance(found.counts, dict))
    return set()


def _config(task: str) -> Callable[[Path], set[str]]:
    def read(path: Path) -> set[str]:
        configured(task, path)
        return set()

    return read


def _text(path: Path) -> set[str]:
    """Analyse a text as each kind of document, and write it as HTML."""
    text = read_text(path)
    for kind in ("post", "html", "markdown", "latex", "lean", "isabelle", "coq", "plain", None):
        document = UserDocument("1", text, text[:60], kind=kind)
        for delimiters in ("mathjax", "auto"):
            for content in document.marked(delimiters).contents(delimiters):
                _ANALYZER(content)
            writer = PostWriter([], delimiters)
            writer.body(document.body(delimiters))
    return set()


def _source(path: Path) -> set[str]:
    read_source(path, path.parent)
    return set()


def _keys(read: Callable[[Path], Any], *names: str) -> Callable[[Path], set[str]]:
    """Return a reader of the rows that `read` finds, by their attributes of these names."""
    key = attrgetter(*names)
    return lambda path: {
        found if isinstance(found, str) else " ".join(found) for found in map(key, read(path))
    }


def _judgments(path: Path) -> set[str]:
    return {f"{topic} {doc}" for topic, docs in read_qrels(path).items() for doc in docs}


def _zip(method: int) -> bytes:
    with io.BytesIO() as file:
        with ZipFile(file, "w", method) as zipped:
            for name in ("v3/1.tsv", "v3/2.tsv"):
                zipped.writestr(name, "id\tpost_id\tthread_id\ttype\tformula\n" * 20)
        return file.getvalue()


_POST: Final = (
    r'<row Id="([1-9][0-9]{0,8})" PostTypeId="[12]"(?: ParentId="[1-9][0-9]?")? Score="3" '
    r'Body="&lt;p&gt;Post [^"<&]*(?:&lt;[^"<&]*)*&gt;"/>'
)
_LINK: Final = (
    r'<row Id="[0-9]+" PostId="([1-9][0-9]?)" RelatedPostId="[1-9][0-9]?" LinkTypeId="1"/>'
)
_TOPIC: Final = r'<Topic number="(B\.[0-9]+)">\n<F'
_FORMULA: Final = r"(?m)^([0-9]+)\t[0-9]+\t[0-9]+\tanswer\t\t[0-9]+\t[0-9]+\t\tx$"
_TOPIC_FORMULA: Final = r"(?m)^(q_[0-9]+)\tA\.[0-9]+\t[0-9]+\ttitle\tx_[0-9]+$"
_JUDGMENT: Final = r"(?m)^(A\.[0-9]\t0\t[0-9]+)\t[0-3]$"
_HIT: Final = r"(?m)^(A\.[0-9]\t[0-9]+)\t(?:7\t)?[0-9]\t[0-9.]+\trun$"
_ANSWER: Final = r"(?m)^(A\.[0-9])\t1\t[0-9]\trun\tpost [0-9]\t[^\n]*$"


def _rows(row: str, count: int) -> str:
    return "".join(
        row.format(n, n + 40, -(-n // 5), 9.5 - n % 5, n % 4, n % 5 + 1)
        for n in range(1, count + 1)
    )


def _posts_xml() -> str:
    questions = {n: n - (n - 1) % 3 for n in range(1, 25)}
    return "".join(
        _ROW.format(n, 1 + (n != q), "" if n == q else f' ParentId="{q}"', _MATH[n % 4])
        for n, q in questions.items()
    )


TEXTS: Final = {
    "a post": r"""<p>Let <span class="math-container" id="q_1">$x^2$</span> be <b>large</b>; see
<a href="https://a.org/b?c=1&amp;d">this</a>.</p><blockquote><p>So \(y\) is too.</p></blockquote>
<ol><li>one</li><li><code>a $b$ c</code></li></ol><pre><code>x &lt; y</code></pre>
<img src="cat.png" alt="a cat"><hr><p>$$\begin{align} a &amp;= b \\ c &amp;= d \end{align}$$</p>""",
    "a page": r"""<!DOCTYPE html><html><head><title>Sums</title><style>p {}</style></head><body>
<script type="math/tex">x+y</script><script type="math/tex; mode=display">\frac{a}{b}</script>
<math alttext="z^2"><semantics><msup><mi>z</mi><mn>2</mn></msup><annotation
encoding="application/x-tex">z^2</annotation></semantics></math><code class="latex">p+q</code>
<math><mrow><mi>a</mi><mo>=</mo><mfrac><mn>1</mn><mi>n</mi></mfrac></mrow></math>
<img class="mwe-math-fallback-image-inline" alt="r_1" src="r.svg"><span class="katex"><span
class="katex-mathml"><math><semantics><mi>k</mi><annotation encoding="application/x-tex">k
</annotation></semantics></math></span><span class="katex-html"><span>k</span></span></span>
<table><tr><th>a</th><td>$b$</td></tr></table><nav>menu</nav><h2 id="two">Two</h2><p>text</p>
</body></html>""",
    "Markdown": """---\ntitle: Notes\n---\n# Primes of $n$\n\nThere are **many** primes, [see](u).\n
$$\na = b\n$$\n\n```math\nc+d\n```\n\n* one\n* two\n\n| a | b |\n|---|---|\n| $x$ | y |\n""",
    "LaTeX": r"""\documentclass{article}\newcommand{\R}[1]{\mathbb{R}^{#1}}\def\be{\begin{equation}}
\begin{document}\section{Sums}\label{s}Let $x\in\R{n}$. % a comment
\begin{lemma}[Euler]\label{l}As in \eqref{e}, \emph{so} \(a_n\).
\begin{align}a&=b\label{e}\end{align}
\end{lemma}\begin{proof}By \ref{l}.\end{proof}\verb|$z$| \begin{tabular}{ll}a&b\\c&d\end{tabular}
\[\left(\frac12\right)^{\pmatrix{1\cr2}}\]\end{document}""",
    "Lean": """import Mathlib\n/-- A sum of $n$ terms. -/\ntheorem Nat.sum_le (n : ℕ) (h : 0 < n) :
    ∑ i ∈ Finset.range n, i ≤ n ^ 2 := by\n  simp [h]\n\ndef double (x : ℝ) : ℝ := 2 * x\n""",
    "plain words": "Why does sqrt(2) = 1.41... hold? What is norm(x+y), dim V = n? $5 and 10 %.",
}  # fmt: skip


def _notebook() -> str:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Sums\n", "Let $x$ be.\n"]},
        {"cell_type": "code", "metadata": {}, "source": ["print(1)\n"], "outputs": []},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _kinds() -> dict[str, Kind]:
    topics = _rows(
        '<Topic number="B.{0}">\n<Formula_Id>q_{0}</Formula_Id><Latex>x^{0} &lt; 1</Latex>\n'
        "<Title>Title {0} $x$</Title>\n<Question>&lt;p&gt;Why {0}?&lt;/p&gt;</Question>\n"
        "<Tags>algebra,limits</Tags>\n</Topic>\n",
        8,
    )
    formula = "{0}\t{1}\t9\tanswer\t\t{0}\t{0}\t\t"
    knowledge = {str(10**38 + n): f"Let $x_{n}$ be a number" for n in range(9)}
    statements = {key: {"text": text, "premises": [int(key)]} for key, text in knowledge.items()}
    manifest = Manifest(
        "task1",
        {"text": {}},
        None,
        {"latex": 1},
        [Source("Posts.xml", 9, "0")],
        {},
        {"rows": 5},
        1.5,
    )
    link = '  <row Id="{0}" PostId="{0}" RelatedPostId="{1}" LinkTypeId="1"/>\n'
    texts = {
        "posts": (f"<posts>\n{_posts_xml()}</posts>\n", _posts, _POST),
        "links": (f"<postlinks>\n{_rows(link, 24)}</postlinks>\n", _links, _LINK),
        "task1 topics": (f"<Topics>\n{topics}</Topics>", _keys(read_topics, "topic_id"), _TOPIC),
        "task2 topics": (
            f"<Topics>\n{topics}</Topics>", _keys(read_topics, "topic_id"), _TOPIC
        ),
        "formulas": (
            "\t".join(COLUMNS["v3"]) + "\n" + _rows(f'{formula}x\n{formula}"a\n""b"\n', 20),
            _formulas, _FORMULA,
        ),
        "topic formulas": (
            "id\ttopic_id\tthread_id\ttype\tformula\n"
            + _rows("q_{0}\tA.{0}\t9\ttitle\tx_{0}\n", 24),
            lambda path: {row["id"] for row in read_topic_formulas(path)}, _TOPIC_FORMULA,
        ),
        "qrels": (_rows("A.{2}\t0\t{0}\t{4}\n", 24), _judgments, _JUDGMENT),
        "task1 run": (
            _rows("A.{2}\t{0}\t{5}\t{3}\trun\n", 24),
            _keys(RULES["task1"].read, "topic_id", "doc_id"), _HIT,
        ),
        "task2 run": (
            _rows("A.{2}\t{0}\t7\t{5}\t{3}\trun\n", 24),
            _keys(RULES["task2"].read, "topic_id", "doc_id"), _HIT,
        ),
        "task3 run": (
            _rows("A.{0}\t1\t{4}\trun\tpost {4}\tAn answer with ${0}$.\n", 9),
            _keys(RULES["task3"].read, "topic_id"), _ANSWER,
        ),
        "premises": (json.dumps(knowledge, indent=1), _keys(read_premises, "premise_id"), ""),
        "statements": (
            json.dumps(statements, indent=1), _keys(read_statements, "statement_id"), ""
        ),
    }  # fmt: skip
    beside = tuple(default_config("task1").parent.glob("*.yaml"))
    return {
        **{name: Kind(text.encode(), read, row=row) for name, (text, read, row) in texts.items()},
        "manifest": Kind(json.dumps(asdict(manifest), indent=1).encode(), _manifest, MANIFEST),
        **{
            f"{task} config": Kind(
                default_config(task).read_bytes(), _config(task), f"{task}.yaml", beside=beside
            )
            for task in TASKS
        },
        **{f"text of {name}": Kind(text.encode(), _text) for name, text in TEXTS.items()},
        **{
            f"file {ending}": Kind(TEXTS[name].encode(), _source, f"notes.{ending}")
            for name, ending in (("LaTeX", "tex"), ("Markdown", "md"), ("a page", "html"))
        },
        "notebook": Kind(_notebook().encode(), _source, "notes.ipynb"),
        **{
            f"zip {method}": Kind(_zip(method), _unpack, "a.zip")
            for method in (ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA)
        },
    }


KINDS: Final = _kinds()


def broken(content: bytes, chance: random.Random) -> bytes:
    """Return the content after a few edits; now and then packed by gzip, before or after them."""
    packed = chance.random()
    if packed < 0.03:
        content = gzip.compress(content, mtime=0)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        elements = list(_ELEMENT.finditer(content))
        if elements and chance.random() < 0.2:
            content = _with_element_changed(content, chance.choice(elements), chance)
            continue
        a, b = sorted(chance.choices(range(len(content) + 1), k=2))
        if chance.random() < 0.7:
            b = min(b, a + chance.choice((1, 1, 2, 8, 60)))
        part = content[a:b]
        match chance.randrange(8):
            case 0:
                part = b""
            case 1:
                part *= 2
            case 2:
                part = chance.choice(_PIECES) + part
            case 3:
                part = chance.choice(_PIECES)
            case 4:
                part = part.swapcase()
            case 5:
                part = bytes(byte ^ (1 << chance.randrange(8)) for byte in part[:1]) + part[1:]
            case 6:
                c = chance.randrange(len(content) + 1)
                part = content[c : c + len(part)]
            case 7:
                content = content[:b] if chance.random() < 0.3 else content
        content = content[:a] + part + content[b:]
    return gzip.compress(content, mtime=0) if packed > 0.97 else content


def _with_element_changed(content: bytes, element: re.Match[bytes], chance: random.Random) -> bytes:
    """Return the content with an element that is empty, or stands there twice."""
    begin, name, end = element.groups()
    if name is None or chance.random() < 0.5:
        changed = element[0] * 2
    else:
        changed = begin + end
    return content[: element.start()] + changed + content[element.end() :]


class HangError(Exception):
    """An input took longer than CPU_SECONDS."""


def fault(name: str, number: int, seed: int, place: Path) -> tuple[str, str]:
    """Make and read an input; return how it ended, and what is wrong with that."""
    kind = KINDS[name]
    with tempfile.TemporaryDirectory(dir=place) as own:
        path = Path(own) / kind.name
        for file in kind.beside:
            shutil.copy(file, own)
        path.write_bytes(broken(kind.content, random.Random(f"{seed} {name} {number}")))
        return outcome(kind, path)


def outcome(kind: Kind, path: Path) -> tuple[str, str]:
    """Read an input; return how it ended ("read", "refused" or the fault), and what is wrong."""
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        found = kind.read(path)
    except InputError as error:
        named = str(path.parent) in str(error) and "None" not in str(error)
        return ("refused", "") if named else ("message", str(error))
    except HangError:
        return "hang", ""
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "traceback", f"{error!r:.200} ({Path(last.filename).name}:{last.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    lost = _unbroken(kind, path) - {key.replace("\t0\t", " ").replace("\t", " ") for key in found}
    return ("rows lost", " ".join(sorted(lost))) if lost else ("read", "")


def _unbroken(kind: Kind, path: Path) -> set[str]:
    """Return the keys of the rows that must have come out."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if not kind.row or re.search(kind.hides, content):
        return set()
    rows = re.findall(kind.row, content.decode("utf-8", "replace"))
    return {row.replace("\t0\t", " ").replace("\t", " ") for row in rows}


def _stop(*_: object) -> None:
    raise HangError


def main() -> int:
    """Read as many broken inputs as are asked for; the exit status tells whether all ended well."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="number of the first input")
    options.add_argument("--only", choices=KINDS, action="append", help="kinds of input")
    given = options.parse_args()
    signal.signal(signal.SIGVTALRM, _stop)
    names = given.only or list(KINDS)
    ends: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        for number in range(given.first, given.first + given.inputs):
            name = names[number % len(names)]
            how, what = fault(name, number, given.seed, Path(directory))
            ends[name, how] += 1
            if how not in ("read", "refused"):
                print(f"{name} {number}: {how}: {what}", flush=True)
    faults = 0
    for name in names:
        row = {how: count for (kind, how), count in sorted(ends.items()) if kind == name}
        faults += sum(count for how, count in row.items() if how not in ("read", "refused"))
        print(f"{name:15}", ", ".join(f"{how} {count:,}" for how, count in row.items()))
    print(f"{given.inputs:,} inputs, seed {given.seed}: {faults:,} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
