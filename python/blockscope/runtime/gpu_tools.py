"""Finds NVIDIA's programs and files: the assembler, disassemblers, the library of math functions.

Each is looked for where its environment variable says, in the wheels of this Python, in CUDA_HOME,
on PATH, and in the usual folders.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
from functools import lru_cache

from blockscope import knobs


def ptxas() -> str:
    """The path of ptxas; empty when there is none (the C++ part then says what it looked for)."""
    return knobs.nvidia.ptxas or _program("ptxas")


def libdevice() -> str:
    """The path of libdevice.10.bc, or empty."""
    if knobs.nvidia.libdevice_path:
        return knobs.nvidia.libdevice_path
    wheels = _in_wheels(
        "nvidia/*/nvvm/libdevice/libdevice.10.bc", "triton/backends/nvidia/lib/libdevice.10.bc"
    )
    homes = [os.path.join(home, "nvvm/libdevice/libdevice.10.bc") for home in _cuda_homes()]
    return next((path for path in (*wheels, *homes) if os.path.isfile(path)), "")


def cuobjdump() -> str:
    return knobs.nvidia.cuobjdump or _program("cuobjdump")


def nvdisasm() -> str:
    return knobs.nvidia.nvdisasm or _program("nvdisasm")


@lru_cache(None)
def identity(path: str) -> str:
    """What tells two versions of a program apart without running it."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _cuda_homes() -> list[str]:
    named = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    return [home for home in (*named, "/usr/local/cuda") if home]


@lru_cache(None)
def _program(name: str) -> str:
    wheels = _in_wheels(f"nvidia/*/bin/{name}", f"triton/backends/nvidia/bin/{name}")
    homes = [os.path.join(home, "bin", name) for home in _cuda_homes()]
    for path in (*wheels, *homes):
        if os.access(path, os.X_OK):
            return path
    return shutil.which(name) or ""


def _in_wheels(*patterns: str) -> list[str]:
    return [
        path
        for pattern in patterns
        for folder in sys.path
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)), reverse=True)
    ]
