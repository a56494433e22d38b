"""``CudaDriver``, which exists so that files can name it; making one is an error."""

from blockscope.driver import DriverBase
from blockscope.errors import NotYetSupported


class CudaDriver(DriverBase):
    @classmethod
    def is_active(cls) -> bool:
        return False

    def __init__(self) -> None:
        raise NotYetSupported("Blockscope has no CUDA driver yet, kernels run on the CPU")


def libcuda_dirs() -> list[str]:
    """Folders with the CUDA driver's library; none is asked for on the CPU."""
    return []


def library_dirs() -> list[str]:
    return []
