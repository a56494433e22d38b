"""Which GPU and which stream a launch goes to."""

from __future__ import annotations

import sys
from typing import Any

from blockscope.driver import driver
from blockscope.runtime.memory.buffer import tensors_in
from blockscope.runtime.memory.device import device_of


def chosen_device(values: Any) -> int | None:
    """The GPU that a launch on these arguments goes to; None when it goes to the CPU.

    With a tensor in GPU memory it is that GPU. With CPU tensors alone it is the CPU. Without any
    tensor, as with dtypes in place of tensors in ``warmup``, the active driver decides.

    Errors: ValueError for tensors on several GPUs that do not reach each other's memory.
    """
    devices, on_cpu = [], False
    for value in tensors_in(values):
        device = device_of(value)
        if device is not None:
            devices.append(device)
        elif not getattr(value, "is_mock", False):
            on_cpu = True
    if not devices:
        return None if on_cpu else driver.active.get_current_device()
    if len(set(devices)) > 1:
        return _one_of(sorted(set(devices)))
    return devices[0]


def _one_of(devices: list[int]) -> int:
    current = driver.active.get_current_device()
    device = current if current in devices else devices[0]
    torch: Any = sys.modules.get("torch")
    for other in devices:
        if torch and other != device and not torch.cuda.can_device_access_peer(device, other):
            raise ValueError(
                f"arguments are on GPU {device} and on GPU {other}, which do not reach each "
                "other's memory; expected all on one GPU"
            )
    return device


def current_stream(device: int, values: Any) -> int:
    """torch's current stream when torch owns an argument, else the default stream."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        return 0
    if any(isinstance(getattr(v, "base", v), torch.Tensor) for v in tensors_in(values)):
        return torch._C._cuda_getCurrentRawStream(device)
    # A kernel without tensors belongs to whoever works on the device now: torch, if it started it.
    has_tensors = next(iter(tensors_in(values)), None) is not None
    if not has_tensors and torch.cuda.is_initialized():
        return torch._C._cuda_getCurrentRawStream(device)
    return 0
