"""``CPUDriver`` for files written for triton-shared; making it active means: run on the CPU."""

from blockscope.driver import CPUDriver, CPUUtils

__all__ = ["CPUDriver", "CPUUtils"]
