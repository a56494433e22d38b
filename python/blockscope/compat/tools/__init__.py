"""Host-side tools, under the names of ``triton.tools``."""

from blockscope.compat.tools.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
