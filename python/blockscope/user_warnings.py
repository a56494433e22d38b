"""Warnings that name the user's line, not one of this package."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_OURS = ("blockscope.", "blockscope_drop_in.", "concurrent.", "threading.", "runpy.")


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the nearest line outside of this package."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None:
        module = f"{frame.f_globals.get('__name__', '')}."
        if not module.startswith("importlib._bootstrap"):  # warnings does not count these
            if not module.startswith(_OURS):
                break
            level += 1
        frame = frame.f_back
    warnings.warn(text, category, stacklevel=level)
