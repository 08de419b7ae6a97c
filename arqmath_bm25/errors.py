"""The one exception that users are meant to see: the input is at fault, and here is where."""


class InputError(Exception):
    """Input that cannot be used. The message names file, row and field, and what to do.

    The command line prints the message alone and exits with status 1.
    """


class InterruptedWorkError(InputError):
    """Work that was stopped from outside: what is done of it is good, and can be gone on with."""
