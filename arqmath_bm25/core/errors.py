"""The exceptions that users see: what is wrong with their input, and where."""

import errno
import json
from collections.abc import Iterable, Sequence

_LONGEST = 60
_NAMED = 20  # ids


def shown(value: object) -> str:
    """Quote a value of the input for a message: shortened if long, as JSON if no text."""
    short = value[: _LONGEST + 1] if isinstance(value, str) else value
    text = repr(short) if isinstance(short, str) else json.dumps(short, default=str)
    return text if len(text) <= _LONGEST + 2 else f"{text[:_LONGEST]}…"


def cause(error: OSError) -> str:
    """Return what the system refused, and what to do where that is known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; make room and try again"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit (`ulimit -n 1024`) and try again"
    return error.strerror or str(error)


class InputError(Exception):
    """Input that cannot be used. The message names file, row and field, and what to do.

    `settings` would help, with these values: as arguments of the library or options of the program,
    which prints the message alone and exits with status 1. A notebook prints it alone, too.
    """

    def __init__(self, message: str = "", /, **settings: object) -> None:
        super().__init__(message)
        self.settings = settings

    def __str__(self) -> str:
        return self.advising([f"{name}={value}" for name, value in self.settings.items()])

    def advising(self, settings: Sequence[str]) -> str:
        """Return the message, which ends in the settings to give, as the caller writes them."""
        message = str(self.args[0])
        if settings:
            message += f"; give {' and '.join(settings)}"
        return message

    def _render_traceback_(self) -> list[str]:  # asked for by IPython
        return [type(self).__name__, str(self)]


class NoPartsError(InputError):
    """A variant whose scores are no sums, so that no parts explain them."""


def some(names: Sequence[str], most: int = 5) -> str:
    """Write the first names of many: "A.1, A.2, A.3, A.4, A.5, … (77 in all)"."""
    listed = ", ".join(names[:most])
    if len(names) > most:
        listed += f", … ({len(names):,} in all)"
    return listed


def check_found(missing: Iterable[str]) -> None:
    """Raise InputError that names the ids that an index lacks, each once, if there are any."""
    names = list(dict.fromkeys(missing))
    if not names:
        return

    listed = some(list(map(shown, names)), _NAMED)
    raise InputError(f"the index has no document {listed}")


class InterruptedWorkError(InputError):
    """Work that was stopped from outside; the same command resumes it."""


class BusyError(InputError):
    """Another process is writing the same; it may end soon."""


class NoIndexError(InputError):
    """There is no index of a task that serves; `index` builds it, for `engine` if that is given."""

    def __init__(self, message: str, task: str, engine: str | None = None) -> None:
        super().__init__(message)
        self.task = task
        self.engine = engine


class ScoreWarning(UserWarning):
    """A caution about a score: read it before you trust or compare the score."""
