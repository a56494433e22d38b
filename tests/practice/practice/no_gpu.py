"""Files that want a GPU, on a machine without one: 'cuda' means 'cpu', torch.cuda is an H100."""

from __future__ import annotations

import contextlib
import functools
import time
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_H100 = SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, warp_size=32,
    total_memory=80 << 30, shared_memory_per_block_optin=232448, regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048, L2_cache_size=50 << 20,
)  # fmt: skip


class Event:
    """A moment, by the clock of the CPU."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._seconds = 0.0

    def record(self, *_: Any) -> None:
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return (end._seconds - self._seconds) * 1e3


class OnCpu(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "device" in kwargs:
            kwargs["device"] = _cpu(kwargs["device"])
        if func == torch.Tensor.to:
            args = tuple(_cpu(argument) for argument in args)
        return func(*args, **kwargs)


def _cpu(device: Any) -> Any:
    if isinstance(device, int) and not isinstance(device, bool):
        return "cpu"
    name = device.type if isinstance(device, torch.device) else device
    return "cpu" if isinstance(name, str) and name.startswith("cuda") else device


_FACTORIES = (
    "arange", "empty", "empty_strided", "eye", "full", "linspace", "ones", "rand", "randint",
    "randn", "randperm", "tensor", "zeros",
)  # fmt: skip


def _factories_on_cpu() -> None:
    """In a backward pass, and in functions that torch's dispatcher calls, no mode is active."""
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign]
    torch.Tensor.is_cuda = property(lambda self: True)  # type: ignore[assignment]


def _on_cpu(factory: Any) -> Any:
    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = _cpu(kwargs["device"])
        return factory(*args, **kwargs)

    return make


def pretend() -> None:
    """For the rest of the process."""
    _factories_on_cpu()
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_properties = lambda *_: _H100
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_name = lambda *_: _H100.name
    cuda.current_stream = lambda *_: SimpleNamespace(cuda_stream=0)
    cuda.device = lambda *_: contextlib.nullcontext()
    torch.get_device_module = lambda *_: cuda
    torch.version.cuda = "12.9"  # type: ignore[assignment]
    cuda.synchronize = lambda *_: None
    cuda.Event = Event
    cuda.is_current_stream_capturing = lambda: False
    cuda.empty_cache = lambda: None
    cuda.set_device = lambda _: None
    OnCpu().__enter__()
