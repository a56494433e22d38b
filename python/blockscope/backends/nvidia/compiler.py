"""The NVIDIA compiler's names, so that files can import them; using them is an error."""

from typing import Any

from blockscope.backends.compiler import BaseBackend, GPUTarget
from blockscope.errors import NotYetSupported


class CUDAOptions:
    def __init__(self, **_: Any) -> None:
        raise NotYetSupported("Blockscope has no CUDA back end yet, kernels run on the CPU")


class CUDABackend(BaseBackend):
    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False

    def __init__(self, target: GPUTarget) -> None:
        raise NotYetSupported("Blockscope has no CUDA back end yet, kernels run on the CPU")
