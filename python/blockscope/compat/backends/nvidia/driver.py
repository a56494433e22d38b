"""The NVIDIA driver, under Triton's module path."""

from blockscope.driver.base import DriverBase
from blockscope.driver.cuda import (
    CudaDriver,
    CudaUtils,
    current_device,
    libcuda_dirs,
    library_dirs,
    why_unavailable,
)
from blockscope.target import GPUTarget

__all__ = [
    "CudaDriver",
    "CudaUtils",
    "DriverBase",
    "GPUTarget",
    "current_device",
    "libcuda_dirs",
    "library_dirs",
    "why_unavailable",
]
