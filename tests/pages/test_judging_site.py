"""A batch is judged in a browser: every label is kept, whatever ends the server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import Request, urlopen

import judging_day
import pytest
from judging_day import write_batch
from program import arqmath

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.judging.judge import judge, read_annotations
from arqmath_bm25.pages.judging.annotation import TEMPLATE
from arqmath_bm25.pages.judging.judging_site import judging_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LABELS = [*list(GRADE_OF_LABEL)[:4], "Not relevant"]


@contextmanager
def serving(batch: Path, results: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "arqmath_bm25", "judge", "--serve", str(batch)]
    server = subprocess.Popen(
        [*command, "-o", str(results), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = re.match(r"(http://127\.0\.0\.1:\d+/\?token=[\w-]+): ", line)
        assert address, line
        yield address[1], server
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def fields(address: str, action: str = "judge") -> dict[str, str]:
    """Return what the form of a page sends."""
    page = urlopen(address).read().decode()  # noqa: S310
    form = page.partition(f'action="/{action}"')[2].partition("</form>")[0]
    return {
        name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="(.*?)"', form)
    }


def send(address: str, form: dict[str, str], action: str = "judge", **headers: str) -> int:
    request = Request(urljoin(address, action), urlencode(form).encode(), headers)  # noqa: S310
    try:
        return urlopen(request).status  # noqa: S310
    except HTTPError as error:
        return error.code


def test_documents_of_ones_own_are_judged_under_their_ids(tmp_path: Path) -> None:
    """Ids with slashes, signs and other letters come back from the form as they are."""
    ids = ["thm/1", "ж%2F+2", "x" * 512]
    rows = [{"id": name, "text": f"The triangle {name}"} for name in ids]
    for file, written in (("corpus", rows), ("queries", [{"id": "q+1", "text": "triangle"}])):
        lines = "".join(json.dumps(row) + "\n" for row in written)
        (tmp_path / f"{file}.jsonl").write_text(lines, encoding="utf-8")
    run = tmp_path / "run.trec"
    run.write_text("".join(f"q+1 Q0 {name} {n} {-n} x\n" for n, name in enumerate(ids, 1)))
    batch, results = tmp_path / "batch.csv", tmp_path / "labels.csv"
    arqmath("pool", run, "--data", tmp_path, "--indexes", tmp_path, "-o", batch)
    with serving(batch, results) as (address, _):
        for label in ("High", "Low", "Not relevant"):
            form = fields(address)
            assert send(address, {**form, "label": label}) == 200
    arqmath("judge", results, "-o", tmp_path / "qrels.tsv")
    judged = (tmp_path / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    assert {tuple(row.split("\t")[::2]) for row in judged} == {("q+1", name) for name in ids}
    assert sorted(row.split("\t")[3] for row in judged) == ["0", "1", "3"]


@pytest.mark.slow
def test_a_day_of_judging_survives_a_kill(tmp_path: Path) -> None:
    batch, results = write_batch(tmp_path / "batch.csv", 30), tmp_path / "labels.csv"
    expected = {}
    for first, last in ((0, 17), (17, 30)):
        with serving(batch, results) as (address, server):
            for n in range(first, last):
                form = fields(address) | {"label": LABELS[n % 5]}
                assert form["post_id"] == str(100 + n)  # in the order of the batch, none twice
                assert send(address, form) == 200
                expected[str(100 + n)] = GRADE_OF_LABEL[LABELS[n % 5]]
            server.kill()
    judged = judge(read_annotations([results])).qrels
    assert {doc: grade for docs in judged.values() for doc, grade in docs.items()} == expected
    assert list(judged) == ["A.1", "A.2", "A.3"]
    qrels = tmp_path / "qrels.tsv"
    run = tmp_path / "run.tsv"
    run.write_text(
        "".join(f"{t}\t{d}\t1\t{g}\tmine\n" for t in judged for d, g in judged[t].items())
    )
    arqmath("judge", results, "-o", qrels)
    scored = arqmath("eval", run, "--qrels", qrels, "--data", SAMPLE)
    assert "1.0000" in scored.stdout  # the run has the order of the judgments


def test_the_last_label_can_be_undone(tmp_path: Path) -> None:
    batch, results = write_batch(tmp_path / "batch.csv", 3), tmp_path / "labels.csv"
    with serving(batch, results) as (address, _):
        for label in ("High", "Low"):
            send(address, fields(address) | {"label": label})
        assert send(address, fields(address, "undo"), "undo") == 200
        assert fields(address)["post_id"] == "101"
    (note,) = [note for notes in read_annotations([results]).values() for note in notes]
    assert (note.hit.post_id, note.label) == ("100", "High")


def test_the_question_of_a_topic_stands_beside_each_of_its_hits(tmp_path: Path) -> None:
    """Since 0.5 the first row of a topic alone has it."""
    batch, results = tmp_path / "batch.csv", tmp_path / "labels.csv"
    rows = [
        "topic_id,doc_id,title,question,formula,post_1,hit_1",
        "q1,a,<b>Why?</b>,<p>Is it so?</p>,,a,<p>A</p>",
        "q1,b,,,,b,<p>B</p>",
    ]
    batch.write_text("\n".join(rows), encoding="utf-8")
    with serving(batch, results) as (address, _):
        send(address, fields(address) | {"label": "High"})
        page = urlopen(address).read().decode()  # noqa: S310
    assert "<p>B</p>" in page
    assert "<p>Is it so?</p>" in page
    assert "Topic q1: <b>Why?</b>" in page
    batch.write_text("\n".join([rows[0], rows[2]]), encoding="utf-8")
    with (
        pytest.raises(InputError, match="topic 'q1' has no question"),
        judging_site(batch, results),
    ):
        pass


def test_a_long_query_is_no_heading(tmp_path: Path) -> None:
    batch, results = tmp_path / "batch.csv", tmp_path / "labels.csv"
    query = "<span>" + "a triangle " * 20 + "</span>"
    header = "topic_id,doc_id,title,question,formula,post_1,hit_1"
    batch.write_text(f"{header}\nq1,a,{query},<div></div>,,a,<p>A</p>", encoding="utf-8")
    with serving(batch, results) as (address, _):
        page = urlopen(address).read().decode()  # noqa: S310
    assert '<h2 id="topic">Topic q1</h2>' in page
    assert f"<p>{query}</p>" in page


def test_only_its_own_pages_can_judge(tmp_path: Path) -> None:
    batch, results = write_batch(tmp_path / "batch.csv", 3), tmp_path / "labels.csv"
    with serving(batch, results) as (address, _):
        form = fields(address) | {"label": "High"}
        assert send(address, form | {"token": "guessed"}) == 403
        assert send(address, {}, "undo") == 403
        assert send(address, form, Host="evil.example") == 421
        assert send(address, form | {"label": "Best"}) == 422
        assert send(address, form | {"post_id": "999"}) == 422
        assert send(address, form | {"post_id": "9" * 9000}) == 413
        for other in (urljoin(address, "/"), urljoin(address, "/?token=guessed")):
            with pytest.raises(HTTPError, match="403"):
                urlopen(other)  # noqa: S310
        policy = urlopen(address).headers["content-security-policy"]  # noqa: S310
    assert "default-src 'none'" in policy
    assert not results.exists()


def test_labels_of_another_batch_are_refused(tmp_path: Path) -> None:
    results = tmp_path / "labels.csv"
    results.write_text(
        "Input.topic_id,Input.doc_id,Input.post_1,Answer.grade_1\nA.1,1,1,High\n", encoding="utf-8"
    )
    with (
        pytest.raises(InputError, match=r"labels\.csv: row 2: post 1 for topic A\.1 is not in"),
        judging_site(write_batch(tmp_path / "batch.csv", 3), results),
    ):
        pass


def test_the_template_has_the_grades_of_the_labs() -> None:
    labels = re.findall(r'type="radio" value="([^"]+)"', TEMPLATE.read_text("utf-8"))
    assert labels == list(GRADE_OF_LABEL)


# `python tests/support/judging_day.py PLACE SEED 200` is a whole day, of another seed.
@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_two_processes_kills_and_edits_lose_nothing(tmp_path: Path, kills: int) -> None:
    command = [sys.executable, judging_day.__file__, str(tmp_path), "37", str(kills)]
    day = subprocess.run(command, check=False, capture_output=True, text=True)
    assert day.returncode == 0, day.stderr
    counts = json.loads(day.stdout)
    assert counts["kills"] == counts["refused"] == kills
    assert counts["saved"] > kills
