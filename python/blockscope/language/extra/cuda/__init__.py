"""Functions of NVIDIA targets. On the CPU one thread runs a program, on the only processor.

The modules below have Triton's names.
"""

from blockscope.language.extra import libdevice
from blockscope.language.extra.cuda.gdc import gdc_launch_dependents, gdc_wait
from blockscope.language.extra.cuda.utils import (
    convert_custom_float8_sm70,
    convert_custom_float8_sm80,
    globaltimer,
    num_threads,
    num_warps,
    smid,
)

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
