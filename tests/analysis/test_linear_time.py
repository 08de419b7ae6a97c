r"""Nobody can stop an analysis or a build with a long input: the time is linear in its length.

Attacked are every regular expression of the package, with what each of its repetitions can match,
again and again, and with words of its own; and every function that reads, with the worst that is
known. CPU time counts, the best of several attempts, so that a busy machine does not matter.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import random
import re
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from chances import drawn
from growth import check_growth

import arqmath_bm25
from arqmath_bm25.analysis import answer_text, html, latex, text
from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.latex_html import latex_html
from arqmath_bm25.analysis.light_markup import org_markdown, typst_markdown
from arqmath_bm25.analysis.macros import Macros
from arqmath_bm25.analysis.markdown_html import markdown_html
from arqmath_bm25.analysis.mathml import source_latex
from arqmath_bm25.analysis.rst_html import rst_html
from arqmath_bm25.analysis.safe_html import safe_body, safe_title
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.formulas import read_formula_ids, read_formulas
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable, read_tags
from arqmath_bm25.collection.premises import read_premises
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.lazy import Expression
from arqmath_bm25.evaluation.qrels import read_qrels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PER_DOUBLING = 2.6  # times as long: 2 if linear, 4 if quadratic


def expressions(name: str, held: object, seen: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the expressions that something of a module holds, however deep."""
    if isinstance(held, Expression):
        held = re.compile(held.pattern, held.made_with)
    if isinstance(held, re.Pattern):
        yield name, held
    elif id(held) not in seen and isinstance(held, tuple | list | set | frozenset | dict):
        seen.add(id(held))
        for number, part in enumerate(held.values() if isinstance(held, dict) else held):
            yield from expressions(f"{name}[{number}]", part, seen)
    elif isinstance(held, type) and id(held) not in seen:
        seen.add(id(held))
        yield from expressions(name, list(vars(held).values()), seen)


def all_expressions() -> dict[str, re.Pattern[Any]]:
    """Return those that stand in a module, and those that a function keeps or gives to `re`."""
    found: dict[str, re.Pattern[Any]] = {}
    names = [info.name for info in pkgutil.walk_packages(arqmath_bm25.__path__, "arqmath_bm25.")]
    for name in names:
        if name.endswith(("__main__", ".worker")):
            continue
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("arqmath_bm25"):
                raise
            continue  # it needs what is not installed here
        short = name.removeprefix("arqmath_bm25.")
        for local, held in vars(module).items():
            returned = str(getattr(held, "__annotations__", {}).get("return"))
            if hasattr(held, "cache_info") and "Pattern" in returned:
                held = held()  # which compiles it on first use
            own = not isinstance(held, type) or held.__module__ == name
            if own and not local.startswith("__"):
                found |= expressions(f"{short}.{local}", held, set())
        source = inspect.getsource(module)
        if "import re\n" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=function),
                    args=[ast.Constant(value=pattern), *_],
                ) if function != "compile":
                    if function in ("match", "fullmatch"):
                        pattern = rf"\A(?:{pattern})"
                    found.setdefault(f"{short}:{node.lineno}", re.compile(pattern))
    # Each once, by the first name.
    once = {(pattern.pattern, pattern.flags): name for name, pattern in reversed(found.items())}
    return {name: found[name] for name in once.values()}


EXPRESSIONS = all_expressions()


def matched(tree: Any, chance: random.Random) -> str:
    """Return a text that a parsed expression can match, by chance and without looking around."""
    text = ""
    for operator, argument in tree:
        kind = str(operator)
        if kind == "LITERAL":
            text += chr(argument)
        elif kind in ("NOT_LITERAL", "ANY"):
            text += chance.choice("a <-")
        elif kind == "IN":
            text += chance.choice(members(argument))
        elif kind == "BRANCH":
            text += matched(chance.choice(argument[1]), chance)
        elif kind.endswith("REPEAT"):
            least, most, inner = argument
            times = min(least + chance.choice((0, 1)), most)
            text += "".join(matched(inner, chance) for _ in range(times))
        elif kind in ("SUBPATTERN", "ATOMIC_GROUP"):
            text += matched(argument[-1] if kind == "SUBPATTERN" else argument, chance)
    return text


def members(items: list[tuple[Any, Any]]) -> list[str]:
    """Return some characters of a set."""
    examples = {"SPACE": " ", "NOT_SPACE": "a", "DIGIT": "1", "NOT_DIGIT": "a", "NOT_WORD": " "}
    some: list[str] = []
    for operator, argument in items:
        if str(operator) == "LITERAL":
            some.append(chr(argument))
        elif str(operator) == "RANGE":
            some += map(chr, argument)
        elif str(operator) == "CATEGORY":
            some.append(examples.get(str(argument).removeprefix("CATEGORY_"), "a"))
    if str(items[0][0]) == "NEGATE":
        return [character for character in "a <-1\n" if character not in some] or ["\u00e9"]
    return some


def repetitions(tree: Any, before: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield what stands before each unbounded repetition of a parsed expression, and a unit."""
    for step in tree:
        operator, argument = step
        kind = str(operator)
        if kind.endswith("REPEAT"):
            if argument[1] > 100:
                yield before, matched(argument[2], chance)
            yield from repetitions(argument[2], before, chance)
        elif kind == "BRANCH":
            for branch in argument[1]:
                yield from repetitions(branch, before, chance)
        elif kind in ("SUBPATTERN", "ATOMIC_GROUP"):
            inner = argument[-1] if kind == "SUBPATTERN" else argument
            yield from repetitions(inner, before, chance)
        before += matched([step], chance)


def source_of(pattern: re.Pattern[Any]) -> str:
    written = pattern.pattern
    return written if isinstance(written, str) else written.decode("latin1")


def parsed(pattern: re.Pattern[Any]) -> Any:
    return re._parser.parse(source_of(pattern), pattern.flags & ~re.UNICODE)  # type: ignore[attr-defined]


def attacks(pattern: re.Pattern[Any], chance: random.Random) -> set[tuple[str, str, str]]:
    """Return what stands before, what repeats, and what stands after."""
    tree = parsed(pattern)
    found = set()
    for _ in range(4):
        for before, unit in repetitions(tree, "", chance):
            found |= {(before, unit, ""), (before, unit, "\0"), ("", before + unit, "")}
    found = {parts for parts in found if parts[1]}
    words = sorted({" ", "a", "1", *LITERAL.findall(GRAMMAR.sub("\0", source_of(pattern)))})
    for length in (1, 1, 2, 2, 3, 4):
        unit, before = ("".join(chance.choices(words, k=k)).replace("\\", "") for k in (length, 2))
        found.add((before, unit or "\\", ""))
    return found


def check_doublings(
    read: Callable[[Any], object], source: Callable[[int], Any], doublings: int = 4, low: int = 8000
) -> None:
    """Compare the times of the shortest and the longest input.

    What is quadratic takes 256 times as long, far above the limit.
    """
    check_growth(read, source(low), source(low << doublings), PER_DOUBLING**doublings)


def repeated(unit: Any, before: Any = None, after: Any = None) -> Callable[[int], Any]:
    """Return what makes `unit` as long as is asked for."""
    none = unit[:0]
    return lambda length: (before or none) + unit * (length // len(unit)) + (after or none)


# Used with `match` or `fullmatch` at one place, or on a few characters only, as a file's name has.
ANCHORED = (
    "latex._OPTION", "latex._DIMENSION", "answer_text._ABBREVIATION", "labs._NAME",
    "measure_names._NAME", "engine._TERM", "site._ADDRESS", "cluster_index._NAME",
    "task_rules._POST_ID",
)  # fmt: skip
GRAMMAR = re.compile(r"\(\?(?:P<\w+>|P=\w+|[:!=]|<[!=])|\\[sSdwWbBAZ]|[*+?]{1,2}|\{\d*,?\d*\}")
LITERAL = re.compile(r"[A-Za-z]{2,}|\\?[^\w\0]|[A-Za-z]")


@contextmanager
def ended_after(cpu_seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a match that takes longer: it looks for signals now and then."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", [name for name in EXPRESSIONS if not name.endswith(ANCHORED)])
def test_every_regular_expression(name: str) -> None:
    expression = EXPRESSIONS[name]
    is_text = isinstance(expression.pattern, str)

    def all_matches(text: Any) -> None:
        """Find all of them, and keep none: memory has its own time."""
        for _ in expression.finditer(text):
            pass

    for parts in drawn(sorted(attacks(expression, random.Random(name))), 10, name):
        before, unit, after = parts if is_text else (part.encode("latin1") for part in parts)
        with ended_after(60):
            check_doublings(all_matches, repeated(unit, before, after), 3, 2000)


# What matches one character: only this may be repeated possessively.
ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "ANY", "IN")


def possessive_groups(tree: Any) -> Iterator[Any]:
    """Yield what a parsed expression repeats possessively and is more than one character."""
    for operator, argument in tree:
        if str(operator) == "POSSESSIVE_REPEAT":
            inner = list(argument[2])
            if len(inner) > 1 or str(inner[0][0]) not in ONE_CHARACTER:
                yield inner
        yield from possessive_groups(inner_steps(argument))


def inner_steps(argument: Any) -> Iterator[Any]:
    """Yield the steps of an expression that stand in the argument of a step, however deep."""
    if isinstance(argument, re._parser.SubPattern):  # type: ignore[attr-defined]
        yield from argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from inner_steps(part)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_group_is_repeated_possessively(name: str) -> None:
    r"""Python 3.11.0 to 3.11.4 find nothing where such a group could match in several ways.

    `(?:(?!</p>).)*+</p>` does not find "abc</p>" there: `(?>(?:(?!</p>).)*)</p>` always does
    (issue 106052 of CPython).
    """
    assert not list(possessive_groups(parsed(EXPRESSIONS[name])))


def test_a_possessive_group_would_be_found_wherever_it_stands() -> None:
    for pattern in (r"(?:ab)*+", r"(?>(a|(?=(?:a\b){2,3}+)))", r"a|(b)?(?(1)(?:ab)?+|c)"):
        assert list(possessive_groups(parsed(re.compile(pattern)))), pattern
    for pattern in (r"a*+[ab]?+.{2,3}+\s++", r"(?>(?:ab)*)", r"(?:a|b)++"):
        assert not list(possessive_groups(parsed(re.compile(pattern)))), pattern


def test_an_exponential_expression_would_be_found() -> None:
    pattern = re.compile(r"(?:<!--.*?-->\s*)*<root", re.DOTALL)
    with pytest.raises(TimeoutError), ended_after(0.5):
        for before, unit, after in sorted(attacks(pattern, random.Random(1))):
            check_doublings(pattern.findall, repeated(unit, before, after), 3, 2000)


SPAN = '<span class="math-container">'
HTML = [
    SPAN, f"{SPAN}<span>", f"{SPAN}</span></span>", "<code>$", "<pre><code>$", "<code>$</code>",
    "$$a", "$a\n", r"\begin{a}", r"\begin{aaaa}\begin{b}", r"\end{a}", "\\", r"\$", "<", "&",
    '<p a="', "<p a='", " a=\"<p b='\"", "\ue000", "&#xE000;1", "<b>", "<div>", "<i><div></i>",
    "<b><p>", "<b><table><td></b></td></table>", "<dl><dd>", "<table><b>x", "<li><blockquote>",
    "<!--", "<script>", "<details>", "\ud800", "a\u0301\u0323",
    r"\(", r"\[", r"\\(", r"\(a\]", "${$", "{", "}", "{$}", r"\begin{a}{\end{a}", r"$\text{",
    "&#xE000;", r"<code>\(", "<em>$",
]  # fmt: skip
LATEX = [
    "{", "}", "^{", "a{", "_", "'", r"\over", r"\over{", r"\text{", r"\text{$", r"\mbox",
    r"\color[", r"\newcommand{", r"\newcommand[", r"\kern0", r"\kern ", r"\begin{array}{",
    r"\begin{array}{{a}", r"\not", r"\mathrm{a", r"\frac ", "0", "0.", "%\n", "&amp;",
    "@", "\u0301\u0323", "\ufdfa",
]  # fmt: skip
MACROS = [
    r"\def", r"\def\a{", r"\def\a{x}", r"\def\a{\a\a}\a", r"\def\a#1{\a{#1#1}}\a x", r"\a",
    r"\newcommand{\a}[1]{", r"\newcommand{\a}[1][", r"\def\a#1{x}\a{", r"\def\a(#1,#2){x}\a(",
    r"\DeclarePairedDelimiter\a{x}{y}\a*",
]  # fmt: skip
PROSE = [
    ".", "!?", '."', ". ", "\n", "\na", "e.g. ", "$", "$$", "$$a$", "$$ $a$ ", "$\\", r"\$", "x",
]  # fmt: skip
WORDS = ["x", "'", "’s", "a'", "\u0301\u0323", "\ufdfa", "9", "\ud800"]
MARKDOWN = [
    "$a\n\n", "`", "``a `", "```{note}\n", ":::\n", "::: a\n", "\\begin{a}\n", "[[a|", "{eq}`",
    "<!--", "!!! note\n    ", "> [!note] a\n", "(a)=\n", "a\n---\n", "$$a$$\n", "> $$\n", "%%\n",
    "[^1]: a\n",
]  # fmt: skip
SOURCE = [
    "$", "{", r"\begin{a}", r"\begin{align}", r"\def\a{", r"\iffalse", r"\texorpdfstring{",
    r"\begin{thm}[", r"\href{a}{", r"\begin{tabular}&", r"\label{a}", "\\def\\a{x}\n\\a",
    r"\tikz[", r"$$a \eqno", r"\section{a\footnote{", "\\def\\a#1;{x}\n\\a", r"\end{document}",
    r"\begin{align}\intertext{",
]  # fmt: skip
TYPST = [
    "#let a = 1\n", "#let a = (\n", "#set text(x)\na\n", "#f(", "#theorem[a] <b>\n", "$a#$",
    "// a\n", "= a <b>\n", "@a ", "/*",
]  # fmt: skip
ORG = [
    "#+begin_src\n", "#+begin_theorem a\n", "* a\n:PROPERTIES:\n", "[[a][", "=a= ", "#+NAME: a\n",
]  # fmt: skip
RST = ["*a ", "`a", "`a`_ ", "|a ", "- a\n", ".. math:: x\n\n", ":ref:`a` ", "::\n\n  a\n\n"]
MATHML = [' alttext="', '" ', '" a', "%", "% ", " "]


def written(formula: html.Formula, _: bool) -> str:
    return formula.latex


ANALYZER = Analyzer(AnalysisSettings())
READERS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "read_body": (html.read_body, HTML),
    "read_title": (
        html.read_title, [SPAN, "$$a", r"\begin{a}", "&#xE000;1", "\ud800", r"\(", r"\[", "${$"]
    ),
    "macros": (lambda source: Macros().expand_macros(source), MACROS),
    "safe_body": (lambda source: safe_body(source, written), [*HTML, "&#", "&a", "&notit;"]),
    "safe_title": (lambda source: safe_title(source, written), [SPAN, "$$a"]),
    "answer_text": (
        answer_text.answer_text, ["<ol>", "<li>", '<ol start="9"><li>', "<p>$", "\\$", "&amp;"]
    ),
    "sentences": (answer_text.sentences, PROSE),
    "shorten": (answer_text.shorten, [".", "$"]),
    "words": (text.WordAnalyzer(), WORDS),
    "terms": (lambda source: ANALYZER(html.Content((source, html.Formula(source, None)))), ["x."]),
    "terms of a post": (
        lambda source: ANALYZER(html.read_body(source)),
        [r"$\def\a{\a\a}\a$", r"$\def\a#1{x#1}\a{", r"\begin{e}\def\b{x}\b\end{e}"],
    ),
    "tokenize": (latex.tokenize, LATEX),
    "markdown": (markdown_html, MARKDOWN),
    "source": (latex_html, SOURCE),
    "reStructuredText": (rst_html, RST),
    "org": (org_markdown, ORG),
    "typst": (typst_markdown, TYPST),
    "mathml": (lambda source: source_latex(f'<math alttext="{source}'), MATHML),
    "read_tags": (read_tags, ["<", "|", "<a", " ", ","]),
}  # fmt: skip


TEXTS = [(name, unit) for name, (_, units) in READERS.items() for unit in units]


@pytest.mark.parametrize(("name", "unit"), drawn(TEXTS, 90, "texts"))
def test_every_reader_of_text(name: str, unit: str) -> None:
    check_doublings(READERS[name][0], repeated(unit))


@pytest.mark.parametrize("unit", ["<b id={}><p>", '<p a{}="">', "</p a{}", r"\begin{{{}}}"])
@pytest.mark.parametrize("name", ["read_body", "safe_body"])
def test_units_that_differ(name: str, unit: str) -> None:
    check_doublings(
        READERS[name][0],
        lambda length: "".join(unit.format(number) for number in range(length // len(unit))),
    )


ROW = '<row Id="1" PostTypeId="2" Body="a"/>'
TSV = "id\tpost_id\tthread_id\ttype\tvisual_id\tformula\n"
FILES: dict[str, tuple[Callable[[Path], object], list[tuple[str, str, str]]]] = {
    "dump": (
        PostTable.scan,
        [
            (f"<posts>{ROW}{before}", unit, f"{after}</posts>")
            for before, after in (("", ""), ('<row Id="2" Body="', '"/>'), ("<!--", "-->"))
            for unit in ("a", ROW, "<rOw/>", "<row ", "<!-- -->", "&#31;", "'")
        ],
    ),
    "links": (PostLinks.read, [("<postlinks>", "<row PostId='", "</postlinks>")]),
    "topics": (
        read_topics,
        [
            ('<Topics><Topic number="A.1"><Title/><Question>', unit, "</Question></Topic></Topics>")
            for unit in ("<b/>", "<!-- -->", "&lt;", "<b>", "<![CDATA[]]>", "]]")
        ],
    ),
    **{
        name: (
            read,
            [
                (TSV, unit, after)
                for unit in ("\t", '"', '""\n', "1\t2\t3\ta\t4\tx\n", '1\t2\t3\ta\t4\t"\n', "\r")
                for after in ("", "\n")
            ],
        )
        for name, read in (
            ("formulas", lambda path: list(read_formulas(path))),
            ("formula ids", lambda path: list(read_formula_ids(path))),
        )
    },
    "qrels": (read_qrels, [("", "A.1 0 1 1\n", ""), ("", "\t", ""), ("A.1 0 1 ", "9", "")]),
    "premises": (
        read_premises,
        [("[", "[", ""), ('{"1": "', "\\u00e9", '"}'), ('{"1": "', "\\ud835", '"}')],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts"), [(name, parts) for name, (_, every) in FILES.items() for parts in every]
)
def test_every_reader_of_files(name: str, parts: tuple[str, str, str], tmp_path: Path) -> None:
    before, unit, after = parts

    def file(length: int) -> Path:
        path = tmp_path / f"{length}"
        path.write_text(repeated(unit, before, after)(length), encoding="utf-8", newline="")
        return path

    def read(path: Path) -> None:
        with suppress(InputError):
            FILES[name][0](path)

    check_doublings(read, file)


def test_a_row_longer_than_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arqmath_bm25.collection.dump._BLOCK", 1000)

    def file(length: int) -> Path:
        path = tmp_path / f"{length}"
        path.write_text(f'<posts>{ROW}<row Id="2" Body="{"a" * length}"/></posts>')
        return path

    check_doublings(PostTable.scan, file, low=100_000)
