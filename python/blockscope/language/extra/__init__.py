"""What belongs to one target. On the CPU: the device functions of libdevice."""

from blockscope.language.extra import cpu, cuda, hip, libdevice

__all__ = ["cpu", "cuda", "hip", "libdevice"]
