"""The back ends, as ``triton.backends`` lists them."""

from dataclasses import dataclass

from blockscope.compat.backends.compiler import BaseBackend, GPUTarget
from blockscope.compat.backends.nvidia.compiler import CUDABackend
from blockscope.compat.backends.nvidia.driver import CudaDriver
from blockscope.driver import CPUDriver, DriverBase


@dataclass(frozen=True)
class Backend:
    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends: dict[str, Backend] = {
    "cpu": Backend(BaseBackend, CPUDriver),
    "nvidia": Backend(CUDABackend, CudaDriver),
}

__all__ = ["Backend", "BaseBackend", "DriverBase", "GPUTarget", "backends"]
