"""Where a frame is."""

from __future__ import annotations

import sys
from itertools import islice
from types import FrameType


def position(frame: FrameType) -> tuple[int, int]:
    """The line and the column, from 1; Python 3.10 knows no columns."""
    if sys.version_info < (3, 11):
        return frame.f_lineno, 1
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return line or frame.f_lineno, (column or 0) + 1
