"""Functions of AMD targets."""

from blockscope.language.extra import libdevice
from blockscope.language.not_yet import not_yet

memrealtime = not_yet("tl.extra.hip.memrealtime")
smid = not_yet("tl.extra.hip.smid")
num_threads = not_yet("tl.extra.hip.num_threads")
num_warps = not_yet("tl.extra.hip.num_warps")

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]
