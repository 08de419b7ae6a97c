"""One run in every form that its task knows: read once, and the same to every command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from arqmath_bm25.cli import app
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.pages.report.returned import returned
from arqmath_bm25.runs.rows import read_run
from arqmath_bm25.runs.rules import validate
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n"
# Formula n stands in post 100 + n // 4; every third formula looks like the one before it.
FORMULAS = range(1, 60)
POST = {n: 100 + n // 4 for n in FORMULAS}
VISUAL = {n: 9000 + n - (n % 3 == 0) for n in FORMULAS}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def collection(folder: Path) -> Collection:
    """Make a collection of formulas alone."""
    formulas = folder / "data" / "Formulas" / "latex_representation_v3"
    formulas.mkdir(parents=True, exist_ok=True)
    (formulas / "1.tsv").write_text(
        HEADER
        + "".join(
            f"{n}\t{POST[n]}\t{POST[n]}\tanswer\t\t{VISUAL[n]}\t{VISUAL[n]}\t\tx\n"
            for n in FORMULAS
        )
    )
    return Collection(folder / "data", folder / "indexes")


def arqmath(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


Rows = list[tuple[str, int, float]]  # topic, document, score


def lab1(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{doc}\t{rank}\t{score!r}\tx\n"


def lab2(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{doc}\t{POST[doc]}\t{rank}\t{score!r}\tx\n"


def exchanged(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{POST[doc]}\t{doc}\t{rank}\t{score!r}\tx\n"


def trec(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic} Q0 {doc} {rank} {score!r} x\r\n"


def trec_with_1(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t1\t{doc}\t{rank}.0\t{score!r}\tx\n"


def written(folder: Path, name: str, rows: Rows, form: Callable[..., str]) -> Path:
    ranks: dict[str, int] = {}
    lines = []
    for topic, doc, score in rows:
        ranks[topic] = ranks.get(topic, 0) + 1
        lines.append(form(topic, doc, ranks[topic], score))
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def random_rows(letter: str) -> st.SearchStrategy[Rows]:
    return st.lists(
        st.tuples(
            st.sampled_from([f"{letter}.1", f"{letter}.2", f"{letter}.3"]),
            st.sampled_from(FORMULAS),
            st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 2.00000001, 16777217.0]),
        ),
        min_size=3,
        max_size=40,
    ).filter(lambda rows: {row[0] for row in rows} >= {f"{letter}.1"})


FORMS = {
    "A": {"lab": lab1, "trec": trec, "trec_with_1": trec_with_1},
    "B": {"lab": lab2, "trec": trec, "trec_with_1": trec_with_1, "exchanged": exchanged},
}


def check_alike(letter: str, rows: Rows, data: bool) -> None:
    """Hold what every form of a run comes to against that of the lab's form."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        place = collection(folder)
        key = VISUAL if letter == "B" else {n: n for n in FORMULAS}
        qrels = {f"{letter}.{t}": {str(key[n]): n % 4 for n in FORMULAS if n % 2} for t in (1, 2)}
        write_qrels(folder / "qrels.v3.tsv", qrels)
        task = f"task{'AB'.index(letter) + 1}"
        evaluator = Evaluator(place, qrels=folder / "qrels.v3.tsv")
        other = written(folder, "other.tsv", [(t, 7, 1.0) for t in qrels], FORMS[letter]["lab"])
        expected: Any = None
        for form in FORMS[letter]:
            for end in ("tsv", "tsv.gz")[: 1 + (form == "trec")]:
                path = written(folder, f"{form}.{end}", rows, FORMS[letter][form])
                judged = evaluator.read(path, task)  # type: ignore[arg-type]
                fused = folder / f"fused-{form}.{end}"
                given = ["--data", place.layout.data, "--indexes", place.indexes] if data else []
                arqmath("fuse", path, other, "-o", fused, "--task", task, *given,
                        "--format", "lab" if letter == "A" else "trec")  # fmt: skip
                report = validate(path, task)  # type: ignore[arg-type]
                found = (
                    evaluator.score_judged(judged).score.values,
                    [[hit[:3] for hit in hits] for hits in returned(judged.run).values()],
                    [row[1:5] for row in read_run(fused, task)],  # type: ignore[arg-type]
                    (report.rows, report.topics, report.findings.count(rule="ties")),
                )
                expected = expected or found
                assert found == expected, (form, end)


@given(random_rows("A"))
@settings(deadline=None, max_examples=6)
def test_answers_are_the_same_run_in_every_form(rows: Rows) -> None:
    check_alike("A", rows, data=False)


@given(random_rows("B"))
@settings(deadline=None, max_examples=6)
def test_formulas_are_the_same_run_in_every_form(rows: Rows) -> None:
    check_alike("B", rows, data=True)


# Each of the following failed when every command read rows by itself.


def test_fuse_puts_no_post_into_the_column_of_formulas(folder: Path) -> None:
    rows = [("B.1", n, 60.0 - n) for n in FORMULAS]
    right = written(folder, "right.tsv", rows, lab2)
    wrong = written(folder, "wrong.tsv", rows, exchanged)
    output = folder / "fused.tsv"
    said = arqmath("fuse", right, wrong, "-o", output)
    assert "wrong.tsv: columns 2 and 3 (formula, post) are exchanged; put right" in said
    assert {(int(r.doc_id), int(r.post_id)) for r in read_run(output, "task2")} == set(POST.items())
    # Each formula in a post of its own: the run alone does not say which column is which.
    alone = [("B.1", n, 60.0 - n) for n in FORMULAS if n % 4 == 0]
    right, wrong = written(folder, "r.tsv", alone, lab2), written(folder, "w.tsv", alone, exchanged)
    with pytest.raises(InputError, match=r"w\.tsv: what is a formula here is a post in .*--data"):
        arqmath("fuse", right, wrong, "-o", folder / "none.tsv")
    place = collection(folder)
    given = ("--data", place.layout.data, "--indexes", place.indexes)
    arqmath("fuse", right, wrong, "-o", output, *given)
    assert all(POST[int(row.doc_id)] == int(row.post_id) for row in read_run(output, "task2"))


def test_of_a_repeated_formula_every_command_takes_the_last_score(folder: Path) -> None:
    place = collection(folder)
    rows = [("B.1", 1, 9.0), ("B.1", 4, 5.0), ("B.1", 7, 3.0), ("B.1", 1, 1.0)]
    path = written(folder, "run.tsv", rows, lab2)
    write_qrels(folder / "qrels.v3.tsv", {"B.1": {"9001": 3, "9004": 1}})
    judged = Evaluator(place, qrels=folder / "qrels.v3.tsv").read(path)
    assert list(judged.rankings["B.1"]) == ["9004", "9007", "9001"]
    assert [hit.doc_id for hit in returned(judged.run)["B.1"]] == ["9004", "9007", "9001"]
    for command in (["fuse", path, path], ["convert", path]):
        arqmath(*command, "-o", folder / "out.tsv")
        found = [row.doc_id for row in read_run(folder / "out.tsv", "task2")]
        assert found == ["4", "7", "1"], command


def test_validate_reads_what_convert_packs(folder: Path) -> None:
    run = written(folder, "T-task1-x-auto-both-A.tsv", [("A.1", 7, 2.0), ("A.1", 8, 1.0)], lab1)
    packed = folder / "run.trec.gz"
    arqmath("convert", run, "--format", "trec", "-o", packed)
    (found,) = json.loads(arqmath("validate", packed, "--json", "-"))
    assert (found["rows"], found["topics"], found["errors"]) == (2, 1, 0)


def test_a_line_without_end_in_a_packed_run_is_refused(folder: Path) -> None:
    path = folder / "run.tsv.gz"
    path.write_bytes(gzip.compress(b"A" * (1 << 24)))
    for read in (lambda: list(read_run(path)), lambda: validate(path, "task1")):
        with pytest.raises(InputError, match=r"row 1: a line of more than 4 MB; expected a run"):
            read()


@pytest.mark.parametrize("score", [".5", "+3", "1e-3"])
def test_a_trec_run_is_of_task_1_whatever_its_first_score(folder: Path, score: str) -> None:
    path = folder / "run.trec"
    path.write_text(f"A.1 Q0 7 1 {score} x\n")
    assert Run.read(path).task == "task1"


def test_a_run_of_visual_ids_is_scored_as_it_stands(folder: Path) -> None:
    place = collection(folder)
    qrels = {"B.1": {"9001": 3, "9004": 1, "9007": 0, "77777": 2}}  # the last is in no index
    write_qrels(folder / "qrels.v3.tsv", qrels)
    (folder / "run.trec").write_text(
        "".join(f"B.1 Q0 {doc} {n} {-n} x\n" for n, doc in enumerate(("9001", "77777", "9004"), 1))
    )
    scored = Evaluator(place, qrels=folder / "qrels.v3.tsv").score(folder / "run.trec")
    assert scored.score.values["B.1"]["ndcg_prime"] == pytest.approx(1.0)
    assert any("holds visual ids" in note for note in scored.score.warnings)  # type: ignore[union-attr]
