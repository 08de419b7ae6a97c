"""A day of judging: two servers, browsers with several tabs, an editor of the results, kills.

    python judging_day.py PLACE SEED KILLS

Each assessor has a server of the same batch, which is killed at random moments and started again.
Two browsers judge at each: they hold old pages, send forms twice, and undo. An editor changes, adds
and removes rows of the results, and now and then writes a row that nobody can read. At the end,
each journal must have all that was answered, and each CSV what its journal says.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.evaluation.judging.judge import HitKey, read_annotations
from arqmath_bm25.evaluation.judging.session import journal_path, judging_session, read_journal
from arqmath_bm25.pages.judging.annotation import COLUMNS
from arqmath_bm25.pages.judging.judging_site import judging_site
from arqmath_bm25.pages.web.server import listen, server

HITS: Final = 600
LABELS: Final = list(GRADE_OF_LABEL)
# The status of an answer; the hit, its label, and whether that was to be undone.
Answer = tuple[int, tuple[HitKey, str, bool]]


def write_batch(path: Path, hits: int) -> Path:
    """Write a batch of `hits` hits, ten of each topic."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, restval="")
        table.writeheader()
        for n in range(hits):
            row = {"topic_id": f"A.{n // 10 + 1}", "doc_id": str(100 + n), "title": "<b>Why?</b>"}
            row |= {"question": "<p>Is it so?</p>", "post_1": str(100 + n), "hit_1": f"<p>Hit {n}"}
            table.writerow(row)
    return path


TOKEN = "of-this-day"  # noqa: S105  # of a server that lives for a moment


def start(batch: Path, results: Path) -> tuple[int, int]:
    """Serve a batch in a process of its own; return its id and its port."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    if not (child := os.fork()):
        try:
            with judging_site(batch, results) as site:
                site.token = TOKEN
                server(site.app(["127.0.0.1"])).run(sockets=[listening])
        finally:
            os._exit(1)
    listening.close()
    while True:
        try:
            ask(port, "/")
        except OSError:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the server has ended"
            time.sleep(0.01)
        else:
            return child, port


def ask(port: int, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """Return status and text of a page, or of what a form is answered."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    kind = {"content-type": "application/x-www-form-urlencoded"} if form else {}
    connection.request("POST" if form else "GET", path, form and urlencode(form), kind)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def browse(port: int, seed: str, answers: list[Answer]) -> None:
    """Judge until the server is gone, and note its answers."""
    chance, forms = random.Random(seed), list[tuple[str, dict[str, str]]]()
    try:
        while True:
            _, page = ask(port, f"/?token={TOKEN}")
            new = dict[str, dict[str, str]]()
            for action, inner in re.findall(r'action="(/\w+)"(.*?)</form>', page, re.DOTALL):
                pairs = re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', inner)
                new[action] = {name: unescape(value) for name, value in pairs}
                undone = unescape("".join(re.findall(r">Undo (.*?) <kbd", inner)))
                new[action]["label"] = undone or chance.choice(LABELS)
            likely = "/undo" if "/judge" not in new or chance.random() < 0.15 else "/judge"
            forms = [*forms[-5:], *new.items()]
            sent = [(likely, new[likely])] if likely in new else []
            if chance.random() < 0.1:  # another tab, or a key that was pressed twice
                sent.append(chance.choice(forms))
            for action, form in sent:
                status, text = ask(port, action, form)
                assert status in (303, 409), text
                hit = HitKey(*(form[name] for name in HitKey._fields))
                answers.append((status, (hit, form["label"], action == "/undo")))
    except (OSError, HTTPException):
        return


def edited(content: str, chance: random.Random) -> str:
    """Change, remove or add a row of the results, or make one that nobody can read."""
    head, *rows = list(csv.reader(io.StringIO(content)))
    if rows:
        row = chance.choice(rows)
        match chance.randrange(4):
            case 0:
                row[-1] = chance.choice(LABELS)
            case 1:
                rows.remove(row)
            case 2:
                row[-1] = "Best"
            case _:
                n = chance.randrange(HITS)
                rows = [row for row in rows if row[1] != str(100 + n)]
                rows.append([f"A.{n // 10 + 1}", str(100 + n), str(100 + n), "Low"])
    text = io.StringIO()
    csv.writer(text).writerows([head, *rows])
    return text.getvalue()


def edit(results: Path, chance: random.Random) -> None:
    """Save the results as an editor does, another file in the place of the old one."""
    if results.exists():
        new = results.with_name(f"{results.stem}.edited")
        new.write_text(edited(results.read_text(), chance))
        new.replace(results)


def mend(results: Path) -> None:
    """Settle what nobody can read."""
    if results.exists():
        results.write_text(results.read_text().replace("Best", "Low"))


def main(place: Path, seed: str, kills: str) -> dict[str, int]:
    """Return what happened."""
    chance = random.Random(seed)
    batch = write_batch(place / "batch.csv", HITS)
    names = [place / "anna.csv", place / "boris.csv"]
    answers: dict[Path, list[Answer]] = {name: [] for name in names}
    counts = dict.fromkeys(("kills", "refused", "saved", "edited", "lines"), 0)

    def wait_for(name: Path, more: int) -> None:
        enough = len(answers[name]) + more
        while len(answers[name]) < enough:
            time.sleep(0.001)

    with ThreadPoolExecutor(4) as browsers:
        while counts["kills"] < int(kills):
            for name in names:
                mend(name)
            served = {name: start(batch, name) for name in names}
            for name, (_, port) in served.items():
                for browser in range(2):
                    of_browser = f"{seed} {counts['kills']} {name.name} {browser}"
                    browsers.submit(browse, port, of_browser, answers[name])
            for name, (child, _) in served.items():
                wait_for(name, chance.randrange(8))
                if chance.random() < 0.5:
                    edit(name, chance)
                try:
                    with judging_session(batch, (), name):
                        raise AssertionError("two processes judge the same")
                except InputError as error:
                    counts["refused"] += "another process" in str(error)
                wait_for(name, chance.randrange(8))
                time.sleep(chance.random() * 0.02)  # anywhere between two answers
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                counts["kills"] += 1
                if chance.random() < 0.2:
                    edit(name, chance)
    for name in names:
        mend(name)
        child, _ = start(batch, name)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        entries = list(read_journal(journal_path(name)))
        said = {(entry.hit, entry.label, entry.undone) for entry in entries}
        saved = [of_label for status, of_label in answers[name] if status == 303]
        assert not set(saved) - said, "a label that was answered is not in the journal"
        replayed: dict[HitKey, str] = {}
        for entry in entries:
            replayed.pop(entry.hit, None)
            if not entry.undone:
                replayed[entry.hit] = entry.label
        in_results = {hit: notes[0].label for hit, notes in read_annotations([name]).items()}
        assert list(in_results.items()) == list(replayed.items()), "the CSV is not its replay"
        counts["saved"] += len(saved)
        counts["edited"] += sum(entry.who != name.name for entry in entries)
        counts["lines"] += len(entries)
    return counts


if __name__ == "__main__":
    print(json.dumps({"seed": sys.argv[2]} | main(Path(sys.argv[1]), *sys.argv[2:])))
