"""What kernels are compiled for."""

import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class GPUTarget:
    """Where kernels run: ``backend`` is 'cpu' or 'cuda', ``arch`` the architecture."""

    backend: str
    arch: int | str
    warp_size: int


def cpu_target() -> GPUTarget:
    return GPUTarget("cpu", platform.machine(), 32)
