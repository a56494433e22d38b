"""Where a frame is, and what a debugger does not see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType


@contextmanager
def untraced() -> Iterator[None]:
    """A debugger that steps into a launch, such as pdb, does not see what happens inside. One that
    has a settrace of its own, as debugpy has, warns where others call it, and leaves code of
    libraries out by itself."""
    tracer = sys.gettrace()
    if tracer is None or sys.settrace.__module__ != "sys":
        yield
        return
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


def position(frame: FrameType) -> tuple[int, int]:
    """The line and the column, from 1; Python 3.10 knows no columns."""
    if sys.version_info < (3, 11):
        return frame.f_lineno, 1
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return line or frame.f_lineno, (column or 0) + 1
