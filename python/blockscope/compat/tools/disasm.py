"""The machine code of a binary as text, under Triton's module path."""

from __future__ import annotations

import subprocess
import tempfile
from typing import Any

from blockscope import knobs


def path_to_cuobjdump() -> str:
    """Errors: RuntimeError when there is none."""
    return str(knobs.nvidia.cuobjdump.path)


def get_sass(cubin_asm: bytes, fun: str | None = None) -> str:
    """The SASS of a binary, or of one function of it."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin_asm)
        file.flush()
        return extract(file.name, fun)


def extract(file_path: Any, fun: str | None) -> str:
    """What cuobjdump prints for a file with a binary."""
    only = ["-fun", fun] if fun else []
    command = [path_to_cuobjdump(), *only, "-sass", str(file_path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


__all__ = ["extract", "get_sass", "path_to_cuobjdump"]
