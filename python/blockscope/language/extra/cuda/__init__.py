"""Functions of NVIDIA targets."""

from blockscope.language.extra.cuda import libdevice
from blockscope.language.not_yet import not_yet

globaltimer = not_yet("tl.extra.cuda.globaltimer")
smid = not_yet("tl.extra.cuda.smid")
num_threads = not_yet("tl.extra.cuda.num_threads")
num_warps = not_yet("tl.extra.cuda.num_warps")
convert_custom_float8_sm70 = not_yet("tl.extra.cuda.convert_custom_float8_sm70")
convert_custom_float8_sm80 = not_yet("tl.extra.cuda.convert_custom_float8_sm80")
gdc_wait = not_yet("tl.extra.cuda.gdc_wait")
gdc_launch_dependents = not_yet("tl.extra.cuda.gdc_launch_dependents")

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
