"""What a program is told of its processor and its threads."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin
from blockscope.language.extra.cuda.utils import num_threads, num_warps, smid


@builtin
def memrealtime() -> Any:
    """A clock that all programs share, int64; here it counts nanoseconds."""
    return _semantic.global_timer()


__all__ = ["memrealtime", "num_threads", "num_warps", "smid"]
