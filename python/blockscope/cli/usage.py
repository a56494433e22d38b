"""The error of a command that is used wrongly, and its end where nobody takes what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UsageError(Exception):
    """Ends the command with its text and status 2."""


def say_unwritable(program: str, error: OSError) -> None:
    """Say that stdout does not take more; what Python holds back for it is dropped."""
    print(f"{program}: cannot write what it says: {error.strerror}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def ending_unwritten() -> Iterator[None]:
    """Ends the process, as SystemExit, where stdout does not take what is printed inside: the
    user's script, which runs around it, is not to blame."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:  # of another file
            raise
        say_unwritable("blockscope", error)
        raise SystemExit(1) from None
