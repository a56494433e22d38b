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
    return _dispatch(arguments.blockscope_parser(), argv)


def triton_san_main(argv: Sequence[str] | None = None) -> int:
    """The command ``triton-san``: ``triton-san asan [python] FILE [args]``."""
    return _dispatch(arguments.triton_san_parser(), argv)


def _dispatch(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    options = parser.parse_args(sys.argv[1:] if argv is None else argv)
    try:
        return commands.COMMANDS[options.command](options)
    except commands.UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1


__all__ = ["main", "triton_san_main"]
