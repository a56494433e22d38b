"""The runtime, under the names of ``triton.runtime``; each is loaded when it is first asked for."""

from typing import Any

_NAMES = {
    "Autotuner": "autotuner",
    "Config": "autotuner",
    "Heuristics": "autotuner",
    "autotune": "autotuner",
    "heuristics": "autotuner",
    "CacheManager": "cache",
    "FileCacheManager": "cache",
    "InterpreterError": "errors",
    "OutOfResources": "errors",
    "JITFunction": "jit",
    "KernelInterface": "jit",
    "MockTensor": "jit",
    "TensorWrapper": "jit",
    "reinterpret": "jit",
}
_MODULES = (
    "autotuner",
    "build",
    "cache",
    "driver",
    "errors",
    "interpreter",
    "jit",
    "launch",
)


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'triton.runtime' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*_MODULES, *_NAMES])
