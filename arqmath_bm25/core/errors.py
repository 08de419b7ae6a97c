"""The one exception that users are meant to see: the input is at fault, and here is where."""

import json

_LONGEST = 60


def shown(value: object) -> str:
    """Quote a value of the input for a message, shortened where it is long; others as JSON."""
    short = value[: _LONGEST + 1] if isinstance(value, str) else value
    text = repr(short) if isinstance(short, str) else json.dumps(short, default=str)
    return text if len(text) <= _LONGEST + 2 else f"{text[:_LONGEST]}…"


class InputError(Exception):
    """Input that cannot be used. The message names file, row and field, and what to do.

    The command line prints the message alone and exits with status 1.
    """


class InterruptedWorkError(InputError):
    """Work that was stopped from outside: what is done of it is good, and can be gone on with."""


class NoIndexError(InputError):
    """There is no index, or one that does not serve: it is to be built, anew if it is `stale`.

    A new one is to be built for the engines of the old one, unless `engine` names another.
    """

    def __init__(self, message: str, task: str, stale: bool, engine: str | None = None) -> None:
        super().__init__(message)
        self.task, self.stale, self.engine = task, stale, engine


class ScoreWarning(UserWarning):
    """What has to be known of a score before it is believed, or compared with others."""
