"""What the terminal shows: help for people, and a word on Ctrl-C."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from program import arqmath
from typer.testing import CliRunner

from arqmath_bm25.cli import COMMANDS, app, load
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.core.sample_data import SAMPLE


def shown(name: str, width: int) -> list[str]:
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [name, "--help"])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_breaks_no_word_and_shows_no_python_type(name: str) -> None:
    lines = shown(name, 80)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert not re.search(r"<[a-z]|list\[|Path\b", text)
    words = set(text.split())
    for param in load(name).params:
        assert set(param.help.split()) <= words, param.name
        if param.metavar and not getattr(param, "is_flag", False):
            assert set(param.metavar.split()) <= words, param.name


@pytest.mark.parametrize("name", COMMANDS)
def test_descriptions_fill_the_width(name: str) -> None:
    """Paragraphs are broken where the terminal ends, not where the source code breaks them."""
    described = "\n".join(shown(name, 300)).partition("╭")[0]
    paragraphs = (load(name).help or "").split("\n\n")
    lines = [line.strip() for line in described.splitlines()]
    for paragraph in paragraphs:
        assert "\n" not in paragraph
        assert len(paragraph) > 296 or paragraph in lines


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_choice(name: str) -> None:
    for param in load(name).params:
        for choice in param.type_descriptor.choices or ():
            assert choice in param.help, param.name


def test_ctrl_c_says_whether_the_same_command_resumes(capsys: pytest.CaptureFixture[str]) -> None:
    def index() -> None:
        raise KeyboardInterrupt

    def search() -> None:
        raise KeyboardInterrupt

    for function, message in (
        (index, "stopped; the same command resumes\n"),
        (search, "stopped\n"),
    ):
        with pytest.raises(KeyboardInterrupt):
            command(function)()
        assert capsys.readouterr().err == message


def test_the_sample_is_called_the_sample() -> None:
    for data in ((), (SAMPLE,)):
        output = arqmath("inspect", *data).stdout
        assert output.endswith(" of the bundled sample\n")
        assert "differs" not in output
        assert "missing" not in output


def test_help_loads_neither_markdown_nor_tracebacks() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from arqmath_bm25.cli import app\n"
        "CliRunner().invoke(app, ['--help'], catch_exceptions=False)\n"
        "slow = ('markdown_it', 'pygments', 'rich.markdown', 'rich.traceback')\n"
        "print([name for name in sys.modules if name.startswith(slow)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
