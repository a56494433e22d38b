"""Functions of AMD targets, as far as the CPU and NVIDIA GPUs have what they give.

There is no back end for AMD GPUs; files that call these of both kinds of target run all the same.
"""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin
from blockscope.language.extra import cuda, libdevice

num_threads = cuda.num_threads
num_warps = cuda.num_warps
smid = cuda.smid


@builtin
def memrealtime() -> Any:
    """A clock that all programs share, int64; here it counts nanoseconds."""
    return _semantic.global_timer()


__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]
