"""Break important lines of the program, one at a time, and see that the tests notice.

A table names each line, what becomes of it, and the tests that should fail then. They run in a
copy of the tree, which is thrown away, without the real data: `python tools/mutants.py`, or
`... mutants.py analysis/ runs` for the lines of some files. Slow tests and random ones, which may
or may not find a fault, are left out. First all have to pass there unbroken. The exit status is 1
if a mutant survives, or its line is not where the table says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
PARTS: Final = (
    "arqmath_bm25", "benchmarks", "configs", "experiments", "tests", "tools", "pyproject.toml",
    "requirements-lucene.lock", "Makefile",
)  # fmt: skip
SECONDS: Final = 300  # a mutant that takes longer hangs, and is caught by that


class Mutant(NamedTuple):
    """A line of a file, or a part of one, and what is put in its place."""

    file: str  # below arqmath_bm25/
    line: str
    broken: str
    tests: str  # names of files below tests/ without test_, between blanks


# fmt: off
MUTANTS: Final = (
    # collection/
    Mutant("collection/dump.py",
           "lost = max(1, len(_HAS_ID.findall(rest)))",
           "lost = 0", "posts"),
    Mutant("collection/dump.py",
           "if legal or 0x10000 <= code <= 0x10FFFF:", "if True:", "dump"),
    Mutant("collection/dump.py",
           'if [element.tag for element in root.iter()] == ["rows", "row"] and not texts.strip():',
           "if len(root) and not texts.strip():", "dump posts"),
    Mutant("collection/dump.py",
           "if row is None or is_changed or row.get(attribute) != str(number):",
           "if row is None:", "posts activity"),
    Mutant("collection/dump.py",
           "return places[np.sort(first)], counts", "return places, counts", "posts activity"),
    Mutant("collection/posts.py",
           'if until is not None and row.get("CreationDate", "")[:4] > str(until):',
           'if until is not None and row.get("CreationDate", "")[:4] >= str(until):', "posts"),
    Mutant("collection/posts.py",
           "places = places[np.lexsort((places[:, 1], places[:, 2], places[:, 0]))]",
           "places = places[np.lexsort((places[:, 1], places[:, 0]))]", "posts"),
    Mutant("collection/links.py",
           "ends.extend((other, post, kind + 1))",
           "ends.extend((post, other, kind + 1))", "links"),
    Mutant("collection/formulas.py",
           "if stem.isdecimal() and numbered.setdefault(int(stem), file) is not file:",
           "if stem.isdecimal() and numbered.setdefault(int(stem), file) is None:", "formulas"),
    Mutant("collection/topics.py",
           "if topic.topic_id in topics:", "if topic.topic_id in ():", "topics"),
    Mutant("collection/topics.py",
           'parts += (etree.tostring(element, encoding="unicode", with_tail=False), '
           'element.tail or "")',
           'parts.append(etree.tostring(element, encoding="unicode", with_tail=False))', "topics"),
    Mutant("collection/topics.py",
           "if root.getroottree().docinfo.internalDTD is not None:", "if False:", "topics"),
    Mutant("collection/formulas.py",
           'or _SWALLOWED.search("\\t".join(row)) is not None', "", "formulas"),
    Mutant("collection/formulas.py",
           "if read > len(rows) or set(map(len, rows)) != {columns}:",
           "if set(map(len, rows)) != {columns}:", "formulas"),
    Mutant("collection/formulas.py",
           "if number != before + 1:", "if False:", "formulas"),
    Mutant("collection/formulas.py",
           'if "old_visual_id" in names:', "if False:", "formula_ids"),
    # analysis/
    Mutant("analysis/latex.py", "raised += inner", "raised = inner", "latex"),
    Mutant("analysis/latex.py",
           "tokens = turned[::-1] + tokens + _settled(raised)",
           "tokens = turned + tokens + _settled(raised)", "latex"),
    Mutant("analysis/latex.py", "if number % 2 and not nested:", "if False:", "latex"),
    Mutant("analysis/latex.py",
           'joined[-1] = _TABLE["negated"].get(item, "not" + item)',
           'joined[-1] = "not" + item', "latex"),
    Mutant("analysis/html.py",
           'inner = _EDGE.sub("", text[span.end() : end])',
           "inner = text[span.end() : end]", "html"),
    Mutant("analysis/html.py",
           "if len(inner) == 1 and _is_in_word(pieces[position - 2], inner, pieces[position + 1]):",
           "if False:", "html"),
    Mutant("analysis/html.py", "text = _hide_code(text)", "pass", "html"),
    Mutant("analysis/html.py",
           'elif tag[0] == "<":',
           "elif False:", "html"),
    Mutant("analysis/mathml.py", "if title:", "if title and not _WORD.search(title):", "threads"),
    Mutant("analysis/foreign.py",
           'if not _has_class(attributes, "images"):', "if False:", "foreign sources mathml"),
    Mutant("analysis/latex_html.py",
           "            writer.define(text[start:stop], is_written=preamble is None)",
           "            pass", "sources"),
    Mutant("analysis/text.py", 'prose = _CONTRACTION.sub(" ", prose)', "pass", "text"),
    Mutant("analysis/text.py", 'normalize("NFKC", prose)', "prose", "text"),
    Mutant("analysis/symbol_layout.py",
           "table.columns = max(table.columns, table.cells)",
           "table.columns = table.cells", "symbol_layout"),
    Mutant("analysis/symbol_layout.py",
           "self.edges[first] = _OVER", "self.edges[first] = _UNDER", "symbol_layout"),
    Mutant("analysis/operator_tree.py",
           "if content or self.operators[-1][0] >= _SLOT:", "if content:", "operator_tree"),
    Mutant("analysis/terms.py", "seen[token] = position", "seen.setdefault(token, position)",
           "patterns"),
    # tasks/
    Mutant("analysis/formula_similarity.py",
           "shared**2 / (len(terms)", "shared / (len(terms)", "formula_similarity"),
    Mutant("tasks/answers/answer_retrieval.py",
           "order = np.lexsort((ids, scores))[::-1]", "order = np.argsort(-scores)",
           "reranker"),
    Mutant("tasks/queries.py",
           "term: weight * n * (k3 + 1) / (n + k3)",
           "term: weight * n", "queries"),
    Mutant("tasks/queries.py",
           "pools[kind(field)].update(bag.terms.split())",
           'pools["text"].update(bag.terms.split())', "queries"),
    Mutant("tasks/answers/answer_documents.py",
           "if not terms.words.words:",
           "if False:", "links task1"),
    Mutant("tasks/queries.py",
           "worth = kept.get(kind(field), terms.keys())",
           "worth = kept.get(kind(field), {})", "queries"),
    Mutant("tasks/formulas/formula_documents.py",
           "order = np.lexsort((formula, kind, visual))",
           "order = np.lexsort((formula, visual))", "formula_documents"),
    Mutant("tasks/formulas/formula_documents.py",
           '("formulas not found in the posts (issue d)", block.codes("issue", DELETED) >= 0),',
           '("formulas not found in the posts (issue d)", block.codes("issue", []) >= 0),',
           "formula_documents"),
    Mutant("tasks/formulas/formula_documents.py",
           "chosen = begin + place",
           "chosen = begin", "task2"),
    Mutant("runs/fusion.py",
           "return [1 / (k + rank) for rank, _ in enumerate(ranking, 1)]",
           "return [1 / (k + rank) for rank, _ in enumerate(ranking)]", "fusion"),
    Mutant("runs/fusion.py",
           "return [(doc, fused[doc]) for doc in best(fused)]",
           "return sorted(fused.items(), key=lambda hit: -hit[1])", "fusion"),
    Mutant("tasks/index.py",
           "if fault or not is_loaded(engine, content.task, store):",
           "if not is_loaded(engine, content.task, store):", "index"),
    Mutant("tasks/index.py",
           "manifests = [replace(common, files=contents(made, DOCUMENTS)) for made in directories]",
           "manifests = [common for made in directories]", "damage"),
    Mutant("core/manifest.py", "if self.sources != sources:", "if False:", "index"),
    Mutant("core/manifest.py", "if self.recipe != recipe:", "if False:", "index"),
    Mutant("core/manifest.py", "if now != digest:", "if False:",
           "damage"),
    # engines/
    Mutant("engines/lucene/indexing.py",
           "handles.constant(number, min(begin + _TOGETHER, count)),",
           "handles.constant(number, min(begin + _TOGETHER - 1, count)),", "lucene"),
    Mutant("engines/engine.py",
           "best = sorted(zip(scores.tolist(), ids, strict=True), reverse=True)[:k]",
           "best = sorted(zip(scores.tolist(), ids, strict=True), key=lambda hit: -hit[0])[:k]", "lucene"),  # noqa: E501
    Mutant("engines/engine.py",
           "while len(scores) == wanted and scores[-1] == scores[k - 1]:",
           "while False:", "lucene"),
    # runs/, core/{reading,writing,building}.py
    Mutant("runs/run_writing.py",
           "as_float = float(np.nextafter(np.float32(above), _LOWEST))",
           "as_float = above", "run_writing"),
    Mutant("runs/rows.py", "if part and _ANSWER_ROW.match(line):", "if part:", "run_writing"),
    Mutant("runs/task_rules.py",
           'table.writerow((topic, 1, f"{score:.9g}", tag, source, hit.text))',
           'file.write(f"{topic}\\t1\\t{score:.9g}\\t{tag}\\t{source}\\t{hit.text}\\n")', "run_writing task_rules"),  # noqa: E501
    Mutant("runs/run_rules.py",
           "if _NUMBER.fullmatch(text) and math.isfinite(float(text)):",
           "if _NUMBER.fullmatch(text):", "run_writing reading"),
    Mutant("core/writing.py",
           "lock(descriptor, wait=False)", "pass", "writing"),
    Mutant("core/writing.py",
           'return target.with_name(f".{target.name}.partial")',
           "return target", "writing"),
    Mutant("core/writing.py",
           "if _is_stream(target) and not target.is_symlink():", "if False:", "planted"),
    Mutant("core/writing.py",
           "return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1",
           "return not stat.S_ISREG(status.st_mode)", "planted"),
    Mutant("core/writing.py", "self.partial.unlink(missing_ok=True)", "pass", "writing"),
    Mutant("core/reading.py", "if not magic.startswith(GZIP):", "if True:", "reading"),
    Mutant("core/reading.py", "if len(data) == _LARGEST:", "if False:", "writing reading"),
    Mutant("core/writing.py", "if asked and path.is_file() and digests([path]) != [asked]:",
           "if False:", "manifests_of_runs"),
    Mutant("core/writing.py",
           "if target.is_dir() and not target.is_symlink():", "if False:", "links_and_devices"),
    # evaluation/
    Mutant("core/labs.py",
           "RELEVANT = 2  # the least grade that counts as relevant in ARQMath",
           "RELEVANT = 1", "score"),
    Mutant("runs/task_rules.py",
           '"map_prime": "AP(judged_only=True)"', '"map_prime": "AP"', "measures"),
    Mutant("runs/run_rules.py",
           "ordered = sorted(zip(scores, ranking, strict=True), reverse=True)",
           "ordered = sorted(zip(scores, ranking), key=lambda pair: -pair[0])", "measures"),
    Mutant("runs/run_rules.py",
           "first.setdefault(row.doc_id, row)",
           "first[row.doc_id] = row", "measures"),
    Mutant("runs/task_rules.py",
           "last[row.doc_id] = first._replace(score=row.score)",
           "last[row.doc_id] = first", "formula_ids forms_of_runs"),
    Mutant("runs/run.py",
           "if as_exchanged > as_lab:",
           "if False:", "forms_of_runs"),
    Mutant("runs/formula_ids.py",
           "is_last = np.append(formula[1:] != formula[:-1], True)",
           "is_last = np.append(True, formula[1:] != formula[:-1])", "formula_ids"),
    Mutant("runs/formula_ids.py", "older.visual = self._old_visual", "pass", "formula_ids"),
    Mutant("evaluation/qrels.py",
           '_GRADE = re.compile(r"(-?[0-9])(?:\\.0*)?")',
           '_GRADE = re.compile(r"(-?[0-9]+)(?:\\.0*)?")', "qrels"),
    Mutant("evaluation/qrels.py",
           "if earlier != grade:", "if earlier < 0:", "qrels"),
    # core/
    Mutant("core/building.py",
           "if left.name != DOCUMENTS:",
           "if False:", "writing links_and_devices"),
    # guidelines/
    Mutant("runs/run_rules.py",
           "rises = np.flatnonzero(scores[1:] > scores[:-1])",
           "rises = np.flatnonzero(scores[1:] >= scores[:-1])", "task_rules"),
    Mutant("runs/run_rules.py",
           "if len(rows) > labs.MAX_DEPTH:",
           "if len(rows) >= labs.MAX_DEPTH:", "task_rules"),
    Mutant("runs/task_rules.py",
           "not all(is_number[3:5])", "not all(is_number[3:6])", "task_rules"),
    Mutant("runs/task_rules.py",
           "if counts[key] > labs.MAX_RUNS:", "if counts[key] >= labs.MAX_RUNS:", "task_rules"),
    Mutant("runs/task_rules.py",
           "if len(row.answer) > labs.MAX_ANSWER:",
           "if len(row.answer) >= labs.MAX_ANSWER:", "task_rules"),
    # judging/
    Mutant("evaluation/judging/session.py",
           "journal.parent.mkdir(parents=True, exist_ok=True)",
           "journal.parent.mkdir(exist_ok=True)", "judging_session"),
    Mutant("evaluation/judging/judge.py",
           "relevant = (given >= RELEVANT).astype(int)",
           "relevant = (given > RELEVANT).astype(int)", "labels"),
    Mutant("evaluation/judging/judge.py",
           "grades[hit.doc_id] = max(grade, grades.get(hit.doc_id, grade))",
           "grades[hit.doc_id] = grade", "labels"),
    Mutant("evaluation/judging/pool.py",
           "if row.score >= lowest and doc in docs:", "if doc in docs:", "pool"),
    Mutant("evaluation/judging/pool.py",
           "return self.primary", "return self.other", "pool"),
    # servers and clusters
    Mutant("pages/web/server.py",
           'if not _knows(hosts, host.decode("latin-1")):', "if True:", "server"),
    Mutant("pages/web/search_pages.py",
           "if self._threads.statistics().tasks_waiting >= _MAX_WAITING:", "if False:",
           "search_pages"),
    Mutant("engines/opensearch/connection.py",
           "if bool(user) + bool(key) + bool(token) > 1:", "if False:", "opensearch_connection"),
    Mutant("engines/opensearch/connection.py",
           "patience: float | None = 0) -> Any:", "patience: float | None = 1) -> Any:",
           "opensearch_connection"),
)
# fmt: on


def verdict(tree: Path, mutant: Mutant) -> str:
    """Break the line in the tree, run its tests, and mend it again."""
    path = tree / "arqmath_bm25" / mutant.file
    whole = path.read_text("utf-8")
    times = whole.count(mutant.line)
    if times != 1:
        return f"NOT ONE such line but {times}"
    write(path, whole.replace(mutant.line, mutant.broken))
    try:
        status, said = passes(tree, mutant.tests.split())
    finally:
        write(path, whole)
    return {0: "SURVIVED", 1: "caught"}.get(
        status, f"NO VERDICT: pytest ended with {status}\n{said}"
    )


def passes(tree: Path, tests: list[str]) -> tuple[int, str]:
    """Return pytest's exit status and its last words."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow and not hypothesis"]
    environment = {"PYTHONPATH": str(tree), "ARQMATH_SHARED": str(tree / "none")}
    try:
        done = subprocess.run(
            [*command, *(str(next((tree / "tests").glob(f"*/test_{name}.py"))) for name in tests)],
            cwd=tree, env=os.environ | environment, timeout=SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1, "hangs"
    return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]


def write(path: Path, text: str) -> None:
    """Write a module, and forget what Python compiled of it."""
    path.write_text(text, "utf-8")
    # Python knows what it compiled by size and second, which may be those of the line before.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def main() -> int:
    """Try all mutants of files that hold one of the arguments in their names."""
    chosen = [one for one in MUTANTS if any(name in one.file for name in sys.argv[1:] or [""])]
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        for part in PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, tree / part)
            else:
                shutil.copy(ROOT / part, tree / part)
        status, said = passes(tree, sorted({name for one in chosen for name in one.tests.split()}))
        if status:
            print(f"The tests fail with nothing broken:\n{said}")
            return 1
        verdicts = []
        for one in chosen:
            verdicts.append(verdict(tree, one))
            print(f"{verdicts[-1]:9}", one.file, f"{one.line:.60}", "→", f"{one.broken:.60}",
                  flush=True)  # fmt: skip
    caught = verdicts.count("caught")
    print(f"{caught} of {len(chosen)} mutants caught")
    return caught < len(chosen)


if __name__ == "__main__":
    sys.exit(main())
