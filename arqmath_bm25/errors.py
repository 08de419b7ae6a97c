"""The one exception that users are meant to see: the input is at fault, and here is where."""


class InputError(Exception):
    """Input that cannot be used. The message names file, row and field, and what to do.

    The command line prints the message alone and exits with status 1.
    """
