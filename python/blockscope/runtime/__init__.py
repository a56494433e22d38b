"""The runtime, under the names of ``triton.runtime``; each is loaded when it is first asked for."""

from __future__ import annotations

import importlib
from typing import Any

from blockscope.process_lock import loading

_NAMES = {
    "Autotuner": "runtime.autotuner",
    "Config": "runtime.config",
    "Heuristics": "runtime.wrapper",
    "autotune": "runtime.autotuner",
    "heuristics": "runtime.wrapper",
    "CacheManager": "runtime.cache",
    "FileCacheManager": "runtime.cache",
    "InterpreterError": "errors",
    "OutOfResources": "errors",
    "JITFunction": "runtime.jit",
    "KernelInterface": "runtime.jit",
    "MockTensor": "runtime.tensors",
    "TensorWrapper": "runtime.tensors",
    "reinterpret": "runtime.tensors",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        with loading:
            value = getattr(importlib.import_module(f"blockscope.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("__"):  # a module below this one, or one at a path of Triton's
        try:
            with loading:
                return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module 'triton.runtime' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
