"""Compiled GPU kernels kept by a cache manager of the user's (``knobs.cache.manager_class``), one
file for each stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blockscope import knobs
from blockscope.runtime.cache import get_cache_manager

TEXTS = ("tl", "plan", "tlg", "llir", "ptx")


def is_on() -> bool:
    return knobs.cache.manager_class is not None


def read(key: str, name: str) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The kernel stored under ``key``, and its files by name; None when it is not there whole."""
    if knobs.compilation.always_compile:
        return None
    group = get_cache_manager(key).get_group(f"{name}.json")
    if not group:
        return None
    try:
        kernel = json.loads(Path(group[f"{name}.json"]).read_text(encoding="utf-8"))
        kernel["cubin"] = Path(group[f"{name}.cubin"]).read_bytes()
        for stage in TEXTS:
            if path := group.get(f"{name}.{stage}"):
                kernel[stage] = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError, KeyError):
        return None
    return kernel, group


def write(key: str, name: str, kernel: dict[str, Any]) -> dict[str, str]:
    """Store a kernel; gives its files by name."""
    manager = get_cache_manager(key)
    stages = {stage: kernel[stage] for stage in TEXTS if stage in kernel}
    rest = {k: v for k, v in kernel.items() if k not in stages and k != "cubin"}
    files: dict[str, bytes | str] = {f"{name}.{stage}": text for stage, text in stages.items()}
    files |= {f"{name}.cubin": kernel["cubin"], f"{name}.json": json.dumps(rest)}
    group = {
        file: manager.put(data, file, binary=isinstance(data, bytes))
        for file, data in files.items()
    }
    manager.put_group(f"{name}.json", group)
    return group


def stored_part(kernel: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a kernel: all, or no texts with TRITON_STORE_BINARY_ONLY."""
    if not knobs.compilation.store_binary_only:
        return kernel
    return {name: value for name, value in kernel.items() if name not in TEXTS}


def is_whole(kernel: dict[str, Any]) -> bool:
    """Whether a stored kernel has all that is asked for."""
    return bool(knobs.compilation.store_binary_only) or all(text in kernel for text in TEXTS)
