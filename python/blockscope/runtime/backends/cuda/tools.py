"""NVIDIA's programs and files as the compiler takes them: where a knob says, else as found."""

from __future__ import annotations

import os
from functools import lru_cache

from blockscope import knobs
from blockscope.cuda_files import cuda_homes, in_wheels, program, programs, release


def ptxas() -> str:
    """The path of the newest ptxas; empty when there is none (the C++ part then says what it looked
    for). Packages bring older ones of their own, which refuse the PTX of newer compilers."""
    return knobs.nvidia.chosen_path("ptxas") or max(programs("ptxas"), key=release, default="")


PTX_OF_RELEASE = {(12, 9): 88, (12, 8): 87, (12, 7): 86, (12, 6): 85, (12, 5): 85, (12, 4): 84}
"""The newest version of PTX, times 10, that a release of CUDA assembles."""


def ptx_version() -> int:
    """The version of PTX, times 10, to compile to: 90, or what an older ptxas takes."""
    found = release(ptxas())
    if found >= (13, 0) or found == (0, 0):
        return 90
    return PTX_OF_RELEASE.get(found, 83)


def libdevice() -> str:
    """The path of libdevice.10.bc, or empty: that of ptxas's toolkit, else any. Older ones, which
    other packages bring, have branches where newer ones choose between values."""
    if knobs.nvidia.libdevice_path:
        return knobs.nvidia.libdevice_path
    inside = "nvvm/libdevice/libdevice.10.bc"
    toolkit = os.path.dirname(os.path.dirname(ptxas()))  # empty without a ptxas
    own = os.path.join(toolkit, inside)
    if toolkit and os.path.isfile(own):  # the wheels are not looked through for each kernel
        return own
    others = [os.path.join(home, inside) for home in cuda_homes()]
    wheels = in_wheels(f"nvidia/*/{inside}", "triton/backends/nvidia/lib/libdevice.10.bc")
    return next(filter(os.path.isfile, (*wheels, *others)), "")


def cuobjdump() -> str:
    return knobs.nvidia.chosen_path("cuobjdump") or program("cuobjdump")


def nvdisasm() -> str:
    return knobs.nvidia.chosen_path("nvdisasm") or program("nvdisasm")


@lru_cache(None)
def identity(path: str) -> str:
    """What differs between two versions of a program, without running it."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"
