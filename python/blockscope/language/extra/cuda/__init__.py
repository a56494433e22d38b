"""Functions of NVIDIA targets."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin
from blockscope.language.extra import libdevice
from blockscope.language.not_yet import not_yet

smid = not_yet("tl.extra.cuda.smid")
num_threads = not_yet("tl.extra.cuda.num_threads")
num_warps = not_yet("tl.extra.cuda.num_warps")
convert_custom_float8_sm70 = not_yet("tl.extra.cuda.convert_custom_float8_sm70")
convert_custom_float8_sm80 = not_yet("tl.extra.cuda.convert_custom_float8_sm80")


@builtin
def globaltimer() -> Any:
    """Nanoseconds, int64, of a clock that all programs share; on the CPU that of the host."""
    return _semantic.global_timer()


@builtin
def gdc_wait() -> None:
    """Wait until the launch ahead has ended, and see what it wrote.

    Only a launch with ``launch_pdl`` may begin before; all others wait by themselves.
    """
    _semantic.gdc_wait()


@builtin
def gdc_launch_dependents() -> None:
    """Let the launch behind begin, if it has ``launch_pdl``, once all programs have come here.

    Those that have ended count as well.
    """
    _semantic.gdc_launch_dependents()


__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]
