"""Finds NVIDIA's programs and files: the assembler, disassemblers, the library of math functions.

Each is looked for where its environment variable says, in the wheels of this Python, in CUDA_HOME,
on PATH, and in the usual folders.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache

from blockscope import knobs


def ptxas() -> str:
    """The path of the newest ptxas; empty when there is none (the C++ part then says what it looked
    for). Packages bring older ones of their own, which refuse the PTX of newer compilers."""
    if knobs.nvidia.ptxas:
        return knobs.nvidia.ptxas
    return max(_programs("ptxas"), key=release, default="")


PTX_OF_RELEASE = {(12, 9): 88, (12, 8): 87, (12, 7): 86, (12, 6): 85, (12, 5): 85, (12, 4): 84}
"""The newest version of PTX, times 10, that a release of CUDA assembles."""


def ptx_version() -> int:
    """The version of PTX, times 10, to compile to: 90, or what an older ptxas takes."""
    found = release(ptxas())
    if found >= (13, 0) or found == (0, 0):
        return 90
    return PTX_OF_RELEASE.get(found, 83)


@lru_cache(None)
def release(program: str) -> tuple[int, int]:
    """The release of CUDA that a program belongs to; (0, 0) when it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"release (\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


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
    """What differs between two versions of a program, without running it."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _cuda_homes() -> list[str]:
    named = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    return [home for home in (*named, "/usr/local/cuda") if home]


def _program(name: str) -> str:
    return next(iter(_programs(name)), "")


@lru_cache(None)
def _programs(name: str) -> list[str]:
    wheels = _in_wheels(f"nvidia/*/bin/{name}", f"triton/backends/nvidia/bin/{name}")
    homes = [os.path.join(home, "bin", name) for home in _cuda_homes()]
    on_path = shutil.which(name)
    found = [path for path in (*wheels, *homes) if os.access(path, os.X_OK)]
    return [*found, on_path] if on_path else found


def _in_wheels(*patterns: str) -> list[str]:
    return [
        path
        for pattern in patterns
        for folder in sys.path
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)), reverse=True)
    ]
