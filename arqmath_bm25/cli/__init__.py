"""The command line program: each command's module is imported when it is called.

Exit status: 0 done; 1 faulty input, with one message that says where; 2 wrong usage.
"""

import gc
import io
import re
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from arqmath_bm25.core.errors import InputError, cause
from arqmath_bm25.core.progress import console
from arqmath_bm25.core.tables import read_table
from arqmath_bm25.version import __version__


class CommandEntry(NamedTuple):
    """A command in the list of all."""

    module: str  # has its function
    panel: str  # of the list
    help: str


_DOCUMENTS = "Documents"
_RUNS = "Runs and scores"
_LABS = "Labs and judging"
COMMANDS = {
    "serve": CommandEntry("pages", _DOCUMENTS, "Serve a search page over notes, books or indexes."),
    "search": CommandEntry("tasks", _DOCUMENTS, "Show the best hits for a query."),
    "index": CommandEntry(
        "tasks", _DOCUMENTS, "Build the index of a task, unless it is up to date."
    ),
    "export": CommandEntry("pages", _DOCUMENTS, "Write documents as HTML pages without search."),
    "inspect": CommandEntry("data", _DOCUMENTS, "Count what DATA contains, and check an index."),
    "run": CommandEntry("tasks", _RUNS, "Rank documents for all topics and write the run files."),
    "eval": CommandEntry("eval", _RUNS, "Score runs as the labs do."),
    "compare": CommandEntry("eval", _RUNS, "Compare runs topic by topic with the first one."),
    "report": CommandEntry(
        "pages", _RUNS, "Write a report on runs: HTML pages that open from disk."
    ),
    "fuse": CommandEntry(
        "runs", _RUNS, "Fuse the rankings of several runs of a task into one run."
    ),
    "convert": CommandEntry("runs", _RUNS, "Write a run in the lab's form or TREC's."),
    "validate": CommandEntry("runs", _RUNS, "Check runs against the rules of the labs."),
    "verify": CommandEntry(
        "data", _RUNS, "Rank again and compare a run's bytes with its manifest."
    ),
    "fetch": CommandEntry("data", _LABS, "Download the official distribution, or parts of it."),
    "pool": CommandEntry("judging", _LABS, "Pool runs: write a batch of hits to be judged."),
    "judge": CommandEntry("judging", _LABS, "Judge a batch in a browser; turn labels into qrels."),
    "threads": CommandEntry("pages", _LABS, "Write threads as pages: question, answers, comments."),
    "cluster": CommandEntry(
        "tasks", _LABS, "List this program's indexes in a cluster, or remove some."
    ),
}

# Commands whose function has another name, since Python has a function of this name.
FUNCTIONS = {"eval": "evaluate"}

# The base class of the errors for wrong calls, for which typer has no public name.
UsageError: Any = typer.BadParameter.__mro__[1]

# As a library the package writes nothing to standard error; the program does.
console.quiet = False
_SETTINGS = {"help_option_names": ["-h", "--help"]}

# The layout of help imports a class of each module, for Markdown and tracebacks, which no help here
# has. Loading these modules takes half of the time of `--help`, and rich has no setting for it.
_UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


def _guesses() -> dict[str, Any]:
    """Read the names that people try first, with the right ones."""
    return read_table(f"{__path__[0]}/guesses.py")


class _PlainHelp:
    """Keeps Python types of flags and arguments out of the help."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]  # of the class it is mixed into
        for param in params:
            if isinstance(param, TyperArgument):
                param.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
            elif param.is_flag:
                param.metavar = ""
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:
        absent = [name for name in _UNUSED if name not in sys.modules]
        for name in absent:
            stand_in = ModuleType(name)
            setattr(stand_in, _UNUSED[name], object)
            sys.modules[name] = stand_in

        import_module("typer.rich_utils")
        for name in absent:
            del sys.modules[name]
        super().format_help(ctx, formatter)  # type: ignore[misc]  # of the class it is mixed into


class _Command(_PlainHelp, TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments; if one is missing, say which come in which order."""
        given = list(args)
        order = " ".join(self.collect_usage_pieces(ctx)[1:])
        takes = f"{ctx.info_name} takes {order or 'options alone'}"
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            missing = type(error).__name__ == "MissingParameter"
            if missing and given and isinstance(error.param, TyperArgument):
                advice = ""
                if error.param.name in ("task", "query"):
                    advice = "; documents of your own are the task docs"
                ctx.fail(f"{error.param.metavar} is missing: {takes}{advice}.")
            raise
        except UsageError as error:
            raise self._with_advice(ctx, error, takes, given) from None

    def _with_advice(self, ctx: Any, error: Any, takes: str, given: list[str]) -> Any:
        """Return a usage error that names the right option, or the order of the arguments."""
        kind = type(error).__name__
        flags = {flag for param in self.params for flag in param.opts if flag[0] == "-"}
        if kind == "NoSuchOption":
            if error.option_name.strip("-").upper() in re.findall("[A-Z]+", takes):
                return UsageError(f"{takes}, and has no option {error.option_name}.", ctx)
            option = _as_written(error.option_name, given)
            return type(error)(option, possibilities=_meant(option, flags), ctx=ctx)

        if kind == "BadOptionUsage" and "requires an argument" in error.message:
            for param in self.params:
                if error.option_name in param.opts:
                    error.message += f" {error.option_name} {param.metavar}"
            return error

        _, _, rest = error.message.partition("unexpected extra argument")
        extra = rest.partition(" (")[2].removesuffix(")")
        if not extra:
            return error

        from arqmath_bm25.core.stores import is_there

        advice = ""
        if ctx.info_name == "search":
            advice = "; put quotes around a query of several words"
        elif re.fullmatch("20[0-9]{2}", extra):
            advice = f"; years are chosen by --topics {extra}"
        elif extra.isdecimal() and "--port" in flags:
            advice = f"; the port is given by --port {extra}"
        takes_data = "--data" in flags and "DOCUMENTS" not in takes
        if takes_data and any(map(is_there, given)):
            advice += "; own documents are given by --data"
        return UsageError(f"{takes}, and not {extra}{advice}.", ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = ["[OPTIONS]"]
        for param in self.params:
            if isinstance(param, TyperArgument):
                pieces.append(str(param.metavar))
        return pieces


def _as_written(option: str, given: list[str]) -> str:
    """Return an option as the user wrote it: of `-index 2` click names the first letter alone."""
    for word in given:
        if re.fullmatch(f"{option}[a-z]+", word):
            return f"-{word}"
    return option


def _meant(option: str, flags: set[str]) -> Collection[str]:
    """Return the option that is meant by an unknown one; if it is not known, all options."""
    if f"-{option}" in flags:
        return [f"-{option}"]
    near = get_close_matches(option, flags, n=1, cutoff=0.84)
    for known, tried in _guesses()["options"].items():
        if option in tried and known in flags:
            return [known]
    return near or flags


class _Commands(_PlainHelp, TyperGroup):
    """Lists all commands, and loads the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        return TyperCommand(cmd_name, help=entry.help, rich_help_panel=entry.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            word = args[0].casefold()
            near = get_close_matches(word, COMMANDS, n=1)
            meant = _guesses()["commands"].get(word, *near)
            advice = f"there are {', '.join(COMMANDS)}."
            if meant:
                advice = f"did you mean {meant}?"
            ctx.fail(f"No such command {args[0]!r}; {advice}")

        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            command = load(name)
        return name, command, rest


@cache
def load(name: str) -> Any:
    """Import a command and return its click object; the garbage collector leaves it alone."""
    gc.disable()
    module = import_module(f"arqmath_bm25.cli.{COMMANDS[name].module}")
    gc.freeze()
    gc.set_threshold(50_000)  # most objects are rows of runs, which are in no cycles
    gc.enable()
    command = getattr(module, FUNCTIONS.get(name, name))
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, cls=_Command, context_settings=_SETTINGS)(command)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Commands,
    name="arqmath-bm25",
    help="Search for words and formulas in notes, books and forums: `serve FOLDER` is all it "
    "takes. BM25 baselines for the ARQMath labs: `index`, `run`, `eval`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"arqmath-bm25 {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        "-V",
        callback=_version,
        is_eager=True,
        help="Show the version and exit.",
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print results and errors only."),
) -> None:
    from arqmath_bm25.cli.shared.options import out

    out.quiet = console.quiet = quiet


def main() -> None:
    """Run the program; the entry point of the console script."""
    run_program(app, "arqmath-bm25")  # completion goes by this name


def options_of(settings: Mapping[str, object]) -> list[str]:
    """Return settings as the options of the command line that set them."""
    options = []
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is not True:
            option += f" {value}"
        options.append(option)
    return options


def run_program(program: typer.Typer, name: str) -> None:
    """Run a program of commands; faulty input ends it with one message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):  # names of files may be in no encoding
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    try:
        for argument in sys.argv[1:]:
            if re.search(r"[\ud800-\udfff]", argument):
                raise InputError(f"{argument}: this is not UTF-8; rename the file, and write UTF-8")
        program(prog_name=name)
    except KeyboardInterrupt:
        sys.exit(130)
    except InputError as error:
        _fail(error.advising(options_of(error.settings)))
    except MemoryError:
        _fail("there is too little memory; free some, or raise the limit (`ulimit -v`)")
    except OSError as error:
        reason = cause(error)
        if error.filename:
            reason = f"{error.filename}: {reason}"
        _fail(reason)


def _fail(message: str) -> None:
    from rich.text import Text

    from arqmath_bm25.core.progress import PlainConsole

    errors = PlainConsole(stderr=True)
    errors.print(Text.assemble(("error:", "bold red"), f" {message}"), soft_wrap=True)
    sys.exit(1)
