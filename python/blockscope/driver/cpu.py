"""The CPU's driver: what ``triton.runtime.driver.active`` answers without a GPU.

Kernel files ask it where they run, how many processors there are and how much shared memory. Each
answer is a value that such files can compute with: the processors are the hardware threads, the
limits that a CPU does not have are those of a large GPU.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from functools import lru_cache
from typing import Any

from blockscope import _core, timing
from blockscope.driver.base import DriverBase
from blockscope.errors import NotYetSupported
from blockscope.lazy import lazy_property
from blockscope.target import GPUTarget, cpu_target


class CPUEvent:
    """A point in time with the interface of ``torch.cuda.Event``."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **_: Any) -> None:
        self.timeNs: int | None = None

    def record(self, stream: Any = None) -> None:
        self.timeNs = time.perf_counter_ns()

    def synchronize(self) -> None:
        """Nothing to wait for: a launch on the CPU returns when it is done."""

    wait = synchronize

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: CPUEvent) -> float:
        """Milliseconds from this event to ``end``."""
        if self.timeNs is None or end.timeNs is None:
            raise RuntimeError("elapsed_time needs two recorded events")
        return (end.timeNs - self.timeNs) / 1e6


class CPUStream:
    """The one stream of the CPU; work on it is done when it is submitted."""

    cuda_stream = 0
    stream_id = 0

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: CPUEvent | None = None) -> CPUEvent:
        event = event or CPUEvent()
        event.record()
        return event

    def __enter__(self) -> CPUStream:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class CPUDeviceInterface:
    """The part of ``torch.cuda`` that kernel files use, for the CPU."""

    Event = CPUEvent
    Stream = CPUStream

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def synchronize(device: Any = None) -> None:
        pass

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def set_device(device: Any) -> None:
        pass

    @staticmethod
    def current_stream(device: Any = None) -> CPUStream:
        return CPUStream()

    @staticmethod
    def stream(stream: CPUStream) -> CPUStream:
        return stream

    @staticmethod
    def empty_cache() -> None:
        pass

    @staticmethod
    def get_device_name(device: Any = None) -> str:
        return cpu_name()

    @staticmethod
    def get_device_capability(device: Any = None) -> tuple[int, int]:
        return (0, 0)

    @staticmethod
    def get_device_properties(device: Any = None) -> Any:
        from types import SimpleNamespace

        properties = CPUUtils().get_device_properties(0)
        return SimpleNamespace(
            name=cpu_name(),
            major=0,
            minor=0,
            multi_processor_count=properties["multiprocessor_count"],
            shared_memory_per_block_optin=properties["max_shared_mem"],
            warp_size=properties["warpSize"],
            total_memory=memory_bytes(),
            **properties,
        )


@lru_cache(None)
def cpu_info() -> dict[str, str]:
    """The first processor's entries of /proc/cpuinfo; empty where there is no such file."""
    info: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, separator, value = line.partition(":")
                if not separator:
                    break
                info[name.strip()] = value.strip()
    except OSError:
        pass
    return info


def cpu_features() -> list[str]:
    """What the processor says that it has, in the words of /proc/cpuinfo."""
    info = cpu_info()
    return (info.get("flags") or info.get("Features", "")).split()  # x86-64, aarch64


def cpu_name() -> str:
    return cpu_info().get("model name") or platform.processor() or platform.machine()


def cpu_count() -> int:
    """Hardware threads that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


class CPUUtils:
    """``driver.active.utils``."""

    def __init__(self) -> None:
        self.printf_fifo_bytes = 1 << 20

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Limits and rates by their CUDA names. Units: bytes, kHz, bits."""
        clock_khz = int(float(cpu_info().get("cpu MHz", "2000")) * 1000)
        limits = _core.gpu.target_named("sm_90a")  # kernels that fit it run
        return {
            "max_shared_mem": limits["shared_bytes"],
            "max_num_regs": limits["registers"],
            "multiprocessor_count": cpu_count(),
            "warpSize": 32,
            "max_threads_per_sm": 2048,
            "sm_clock_rate": clock_khz,
            "mem_clock_rate": 1600000,
            "mem_bus_width": 128,
            "num_aicore": cpu_count(),
            "num_vectorcore": cpu_count(),
        }

    def set_printf_fifo_size(self, size: int) -> None:
        """Accepted for files that call it; output on the CPU is never dropped."""
        if size <= 0:
            raise ValueError(f"set_printf_fifo_size got {size} bytes, expected more than 0")
        self.printf_fifo_bytes = size

    def load_binary(self, *_: Any) -> Any:
        raise NotYetSupported("the CPU driver does not load GPU binaries")


class CPUDriver(DriverBase):
    """Runs kernels on the CPU."""

    @lazy_property
    def utils(self) -> CPUUtils:
        return CPUUtils()

    def get_current_target(self) -> GPUTarget:
        return cpu_target()

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        if device != 0:
            raise ValueError(f"device {device} was asked for, expected 0: the CPU is one device")

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return (0, 0)

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_interface(self) -> type[CPUDeviceInterface]:
        return CPUDeviceInterface

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Any:
        """The CPU's clock, with small budgets."""
        return timing.do_bench_cpu_quick

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer larger than the caches; clearing it evicts what a run left there."""
        return bytearray(CACHE_BYTES)

    def clear_cache(self, cache: Any) -> None:
        if hasattr(cache, "zero_"):
            cache.zero_()
        else:
            size = len(cache)
            ctypes.memset((ctypes.c_char * size).from_buffer(cache), 0, size)

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "void*" if ty.startswith("*") else ty


CACHE_BYTES = 32 << 20
