"""Functions of CPU targets."""

from blockscope.language.extra import libdevice
from blockscope.language.not_yet import not_yet

vnni_decode = not_yet("tl.extra.cpu.vnni_decode")

__all__ = ["libdevice", "vnni_decode"]
