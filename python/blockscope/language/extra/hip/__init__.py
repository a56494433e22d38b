"""Functions of AMD targets, as far as the CPU and NVIDIA GPUs have what they give.

There is no back end for AMD GPUs; files that call these of both kinds of target run all the same.
"""

from blockscope.language.extra import libdevice
from blockscope.language.extra.hip.utils import memrealtime, num_threads, num_warps, smid

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]
