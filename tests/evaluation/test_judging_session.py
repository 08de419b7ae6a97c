"""The journal of a judge: what was saved stays, whatever ends the process or edits the results."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.judging.judge import HitKey, read_annotations
from arqmath_bm25.evaluation.judging.session import judging_session, read_journal

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from arqmath_bm25.evaluation.judging.session import Session

HITS = [HitKey("A.1", str(n), str(n)) for n in range(9)]
HEADER = "Input.topic_id,Input.doc_id,Input.post_1,Answer.grade_1\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "anna.csv"


def judging(results: Path) -> AbstractContextManager[Session]:
    return judging_session(results.with_name("batch.csv"), HITS, results)


def journal(results: Path) -> Path:
    return results.with_name("anna.csv.journal.jsonl")


def labels(results: Path) -> dict[str, str]:
    """Return what the CSV says of each post."""
    return {hit.post_id: notes[0].label for hit, notes in read_annotations([results]).items()}


def judge(results: Path, *given: str) -> None:
    with judging(results) as session:
        for hit, label in zip(HITS, given, strict=False):
            session.label(hit, label)


def test_a_line_says_when_who_what_and_whether_it_was_undone(results: Path) -> None:
    with judging(results) as session:
        session.label(HITS[0], "High")
        session.label(HITS[1], "Low")
        session.undo(HITS[1], "Low")
    lines = [entry._replace(when=entry.when[10:11]) for entry in read_journal(journal(results))]
    assert lines == [
        ("T", "anna.csv", "A.1", "0", "0", "High", False),
        ("T", "anna.csv", "A.1", "1", "1", "Low", False),
        ("T", "anna.csv", "A.1", "1", "1", "Low", True),
    ]
    assert labels(results) == {"0": "High"}


def test_labels_may_be_saved_in_a_new_folder(tmp_path: Path) -> None:
    results = tmp_path / "2026" / "june" / "anna.csv"
    judge(results, "High")
    assert labels(results) == {"0": "High"}


def test_undo_reaches_back_over_restarts(results: Path) -> None:
    judge(results, "High", "Low")
    for hit, label in ((HITS[1], "Low"), (HITS[0], "High")):
        with judging(results) as session:
            session.undo(hit, label)
    assert labels(results) == {}


def test_only_one_process_judges_into_a_file(results: Path) -> None:
    with judging(results) as session:
        session.label(HITS[0], "High")
        with (
            pytest.raises(InputError, match=r"anna\.csv: another process judges"),
            judging(results),
        ):
            pass
        boris = results.with_name("boris.csv")
        with judging(boris) as other:
            other.label(HITS[0], "Low")
    assert [note.label for note in read_annotations([results, boris])[HITS[0]]] == ["High", "Low"]


def test_a_label_cannot_be_changed_in_silence(results: Path) -> None:
    judge(results, "High")
    with judging(results) as session:
        with pytest.raises(InputError, match="has the label High already; to change it, undo that"):
            session.label(HITS[0], "Low")
        session.label(HITS[0], "High")  # a form that was sent twice
        session.label(HITS[1], "Low")
        with pytest.raises(InputError, match="last label is another one"):
            session.undo(HITS[0], "High")
    assert labels(results) == {"0": "High", "1": "Low"}
    assert len(list(read_journal(journal(results)))) == 2


def test_what_is_undone_is_what_the_page_showed(results: Path) -> None:
    """Not the label that an editor has put there meanwhile."""
    judge(results, "High", "Low")
    with judging(results) as session:
        edit_a_label(results)
        with pytest.raises(InputError, match="last label is another one"):
            session.undo(HITS[1], "Low")
        session.undo(HITS[1], "Medium")
    assert labels(results) == {"0": "High"}


def edit_a_label(results: Path) -> None:
    results.write_text(results.read_text().replace('"Low"', '"Medium"'))


def remove_the_last_row(results: Path) -> None:
    results.write_text("".join(results.read_text().splitlines(keepends=True)[:-1]))


def add_a_row(results: Path) -> None:
    results.write_text(results.read_text() + "A.1,8,8,Do not know\n")


EDITS = {
    edit_a_label: {"0": "High", "1": "Medium"},
    remove_the_last_row: {"0": "High"},
    add_a_row: {"0": "High", "1": "Low", "8": "Do not know"},
}


@pytest.mark.parametrize("open_meanwhile", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_what_somebody_edits_in_the_results_is_taken_over(
    results: Path, edit: object, open_meanwhile: bool
) -> None:
    assert callable(edit)
    if open_meanwhile:
        with judging(results) as session:
            session.label(HITS[0], "High")
            session.label(HITS[1], "Low")
            edit(results)
            session.label(HITS[2], "High")
    else:
        judge(results, "High", "Low")
        edit(results)
        with judging(results) as session:
            session.label(HITS[2], "High")
    assert labels(results) == EDITS[edit] | {"2": "High"}
    *_, taken_over, _ = read_journal(journal(results))
    assert taken_over.who == "an editor of anna.csv"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("A.1,0,0,Best\n", r"anna\.csv: row 2: Answer\.grade_1 is 'Best'"),
        ("A.7,0,0,High\n", r"anna\.csv: row 2: post 0 for topic A\.7 is not in .*batch\.csv"),
        ("A.1,0,0,High\nA.1,0,0,Low\n", r"anna\.csv: row 3: .* settle which it is"),
    ],
)
def test_results_that_cannot_be_taken_over_are_refused_and_kept(
    results: Path, rows: str, message: str
) -> None:
    with judging(results) as session:
        session.label(HITS[0], "High")
        results.write_text(HEADER + rows)
        with pytest.raises(InputError, match=message):
            session.label(HITS[1], "Low")
        with pytest.raises(InputError, match=message):
            session.undo(HITS[0], "High")
    assert results.read_text() == HEADER + rows
    assert [entry.label for entry in read_journal(journal(results))] == ["High"]


def test_columns_of_others_are_not_lost(results: Path) -> None:
    text = HEADER.replace("\n", ",Answer.comment_1\n") + "A.1,0,0,High,so it is\n"
    results.write_text(text)
    with (
        pytest.raises(InputError, match=r"column Answer\.comment_1 would be lost"),
        judging(results),
    ):
        pass
    assert results.read_text() == text


def test_labels_without_a_journal_begin_one(results: Path) -> None:
    results.write_text(HEADER + "A.1,0,0,High\nA.1,1,1,Low\n")
    with judging(results) as session:
        session.undo(HITS[1], "Low")
    assert labels(results) == {"0": "High"}


@pytest.mark.parametrize("cut", range(1, 90, 7))
def test_a_last_line_that_does_not_end_is_cut_off(results: Path, cut: int) -> None:
    judge(results, "High")
    whole = journal(results).read_bytes()
    judge(results, "High", "Low")
    journal(results).write_bytes(journal(results).read_bytes()[: len(whole) + cut])
    results.write_text(HEADER + "A.1,0,0,High\n")  # it was written before that line
    with judging(results) as session:
        assert journal(results).read_bytes() == whole
        session.label(HITS[1], "Medium")
    assert labels(results) == {"0": "High", "1": "Medium"}


def test_results_that_lack_the_last_line_are_made_anew(results: Path) -> None:
    judge(results, "High")
    before = results.read_bytes()
    judge(results, "High", "Low")
    results.write_bytes(before)
    written = journal(results).read_bytes()
    journal(results).write_bytes(written.removesuffix(b"\n"))
    judge(results)
    assert labels(results) == {"0": "High", "1": "Low"}
    results.unlink()
    judge(results)
    assert labels(results) == {"0": "High", "1": "Low"}


def test_a_damaged_journal_is_named_and_its_cure_keeps_the_labels(results: Path) -> None:
    judge(results, "High", "Low")
    content = journal(results).read_bytes()
    journal(results).write_bytes(content[9:])
    with pytest.raises(InputError, match=r"journal\.jsonl: row 1: .*rename this file"):
        judge(results)
    journal(results).rename(results.with_name("damaged"))
    judge(results)
    assert labels(results) == {"0": "High", "1": "Low"}


def test_a_journal_with_a_second_name_is_made_a_file_of_its_own_as_the_message_says(
    results: Path, tmp_path: Path
) -> None:
    judge(results, "High", "Low")
    results.write_text(results.read_text().replace("Low", "Medium"))  # by hand, later
    backup = tmp_path / "backup"
    os.link(journal(results), backup)
    saved = backup.read_bytes()
    with pytest.raises(InputError, match="another name too") as refusal:
        judge(results)
    (command,) = re.findall("`(.+)`", str(refusal.value))
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    with judging(results) as session:
        session.label(HITS[2], "High")
    assert labels(results) == {"0": "High", "1": "Medium", "2": "High"}
    assert backup.read_bytes() == saved


def test_a_full_disk_takes_no_part_of_a_line(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judging(results) as session:
        session.label(HITS[0], "High")
        content = journal(results).read_bytes()
        write = os.write

        def write_a_part(descriptor: int, line: bytes) -> int:
            return write(descriptor, line[:20])

        def write_nothing(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        for name, full in (("write", write_a_part), ("fsync", write_nothing)):
            with monkeypatch.context() as patch:
                patch.setattr(os, name, full)
                with pytest.raises(InputError, match="the disk is full"):
                    session.label(HITS[1], "Low")
            assert journal(results).read_bytes() == content
            assert labels(results) == {"0": "High"}
        session.label(HITS[1], "Low")
    assert labels(results) == {"0": "High", "1": "Low"}
