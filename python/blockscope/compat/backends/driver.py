"""Base class of drivers, under Triton's module path."""

from blockscope.driver import DriverBase

GPUDriver = DriverBase

__all__ = ["DriverBase", "GPUDriver"]
