"""What ``triton.runtime.driver.active`` answers on a machine with an NVIDIA GPU."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from blockscope import _core
from blockscope.driver.base import DriverBase
from blockscope.errors import NoGpu
from blockscope.lazy import lazy_property
from blockscope.target import GPUTarget


def current_device() -> int:
    """torch's current device when torch is in use, else that of the thread's CUDA context."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
        return torch.cuda.current_device()
    return _core.gpu.current_device()


@lru_cache(None)
def why_unavailable() -> str | None:
    """Why kernels cannot run on a GPU here; None when they can.

    Errors are texts that say what to do instead. A torch without CUDA has no GPU tensors, so the
    CPU is then what its users mean.
    """
    reason = _core.gpu.why_unavailable()
    if reason is None and _torch_cuda_version() == "":
        return "torch is a build without CUDA; install one with CUDA to run kernels on the GPU"
    return reason


def _torch_cuda_version() -> str | None:
    """The CUDA version of the installed torch, '' for a build without; None without torch.

    Does not import torch, which takes seconds.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "version"):
        return torch.version.cuda or ""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    values: dict[str, Any] = {}
    try:
        exec(Path(spec.origin).with_name("version.py").read_text(encoding="utf-8"), values)
    except Exception:
        return None
    return values.get("cuda") or ""


class CudaUtils:
    """``driver.active.utils``."""

    def __init__(self) -> None:
        self.printf_fifo_bytes = 1 << 20

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """Limits and rates by their CUDA names. Units: bytes, kHz, bits."""
        return _core.gpu.device_properties(device)

    def set_printf_fifo_size(self, size: int) -> None:
        """How much one launch may print. Errors: ValueError unless more than 0."""
        if size <= 0:
            raise ValueError(f"set_printf_fifo_size got {size} bytes, expected more than 0")
        self.printf_fifo_bytes = size

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """Load a kernel; gives module, function, registers, spilled words and the largest CTA."""
        handle = _core.gpu.load(name, binary, device, shared_bytes=shared, num_warps=1)
        return (
            handle.module,
            handle.function,
            handle.n_regs,
            handle.local_bytes // 4,
            handle.max_threads,
        )


class CudaDriver(DriverBase):
    """Runs kernels on NVIDIA GPUs.

    Errors: NoGpu, a RuntimeError, where there is none, with what to do instead.
    """

    @classmethod
    def is_active(cls) -> bool:
        return why_unavailable() is None

    def __init__(self) -> None:
        reason = _core.gpu.why_unavailable()
        if reason is not None:
            raise NoGpu(reason)

    @lazy_property
    def utils(self) -> CudaUtils:
        return CudaUtils()

    def get_current_target(self) -> GPUTarget:
        return _target(self.get_current_device())

    def get_current_device(self) -> int:
        return current_device()

    def set_current_device(self, device: int) -> None:
        import torch

        torch.cuda.set_device(device)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return divmod(_core.gpu.device_properties(device)["capability"], 10)

    def get_current_stream(self, device: int | None = None) -> int:
        torch: Any = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return 0
        number = self.get_current_device() if device is None else device
        return torch._C._cuda_getCurrentRawStream(number)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_empty_cache_for_benchmark(self) -> Any:
        """A tensor larger than the L2 cache; clearing it evicts what a run left there."""
        import torch

        return torch.empty(256 << 18, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "CUdeviceptr" if ty.startswith("*") else ty


@lru_cache(None)
def _target(device: int) -> GPUTarget:
    return GPUTarget("cuda", _core.gpu.device_properties(device)["capability"], 32)


def libcuda_dirs() -> list[str]:
    """The folder that TRITON_LIBCUDA_PATH names; else the system's linker finds libcuda.so.1."""
    named = os.environ.get("TRITON_LIBCUDA_PATH")
    return [named] if named else []


def library_dirs() -> list[str]:
    return libcuda_dirs()
