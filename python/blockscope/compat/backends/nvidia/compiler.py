"""The NVIDIA compiler's names, as kernel files and generated code import them."""

from __future__ import annotations

from typing import Any

from blockscope.compat.backends.compiler import BaseBackend, GPUTarget
from blockscope.runtime.backends.cuda.options import GpuOptions


class CUDABackend(BaseBackend):
    """Describes an NVIDIA target."""

    binary_ext = "cubin"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    def parse_options(self, options: dict[str, Any]) -> Any:
        known = {n: v for n, v in options.items() if n in GpuOptions.__dataclass_fields__}
        return GpuOptions(**known)


CUDAOptions = GpuOptions
