"""Finds NVIDIA's programs and files in the wheels of this Python, in CUDA_HOME, on PATH and in the
usual folders."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache


@lru_cache(None)
def release(program: str) -> tuple[int, int]:
    """The release of CUDA that a program belongs to; (0, 0) when it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"release (\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def cuda_homes() -> list[str]:
    named = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    return [home for home in (*named, "/usr/local/cuda") if home]


def program(name: str) -> str:
    return next(iter(programs(name)), "")


@lru_cache(None)
def programs(name: str) -> list[str]:
    wheels = in_wheels(f"nvidia/*/bin/{name}", f"triton/backends/nvidia/bin/{name}")
    homes = [os.path.join(home, "bin", name) for home in cuda_homes()]
    on_path = shutil.which(name)
    found = [path for path in (*wheels, *homes) if os.access(path, os.X_OK)]
    return [*found, on_path] if on_path else found


def in_wheels(*patterns: str) -> list[str]:
    return [
        path
        for pattern in patterns
        for folder in sys.path
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)), reverse=True)
    ]
