"""What the commands of ``triton.tools`` have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from blockscope.errors import NotYetSupported


def write_files(parser: argparse.ArgumentParser, write: Callable[[], Iterable[Path]]) -> int:
    """Write files and print their names. Returns the exit status: 2, after one line that says why,
    for wrong arguments."""
    try:
        files = write()
    except (ValueError, OSError, NotYetSupported) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print("\n".join(map(str, files)))
    return 0
