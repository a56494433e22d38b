"""``triton._C.libtriton.linear_layout``."""

from blockscope.compat.tools.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
