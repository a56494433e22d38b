"""``CPUDriver`` for files written for triton-cpu."""

from blockscope.driver import CPUDriver, CPUUtils

__all__ = ["CPUDriver", "CPUUtils"]
