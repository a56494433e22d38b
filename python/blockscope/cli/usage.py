"""The error of a command that is used wrongly, what it proposes instead, and the end of a command
where nobody takes what it says."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class UsageError(Exception):
    """Ends the command with its text and status 2."""


def nearest(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'check'?``, with the known word that is most like it; or nothing."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def either(words: list[str]) -> str:
    """``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def no_file(path: str) -> UsageError:
    """Says that a file is not there, and which one of its folder has nearly this name."""
    folder, name = os.path.split(path)
    try:
        near = nearest(name, os.listdir(folder or "."))
    except OSError:
        near = ""
    return UsageError(f"there is no file '{path}'{near}")


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
