"""The commands ``blockscope`` and ``triton-san``.

Exit status: that of the script that is run; 66 when a check has findings of error severity; 2 when
the command itself is used wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from blockscope.cli import arguments, commands


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``blockscope``."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in arguments.SCRIPT_COMMANDS:
        words = arguments.protect_script(words, positional=1)
    return _dispatch(arguments.blockscope_parser(), words)


def triton_san_main(argv: Sequence[str] | None = None) -> int:
    """The command ``triton-san``: ``triton-san asan [python] FILE [args]``."""
    words = list(sys.argv[1:] if argv is None else argv)
    return _dispatch(arguments.triton_san_parser(), arguments.protect_script(words, positional=1))


def _dispatch(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    options = parser.parse_args(words)
    try:
        return commands.COMMANDS[options.command](options)
    except commands.UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1


__all__ = ["main", "triton_san_main"]
