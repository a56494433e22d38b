"""Blockscope: run, step, check and look at Triton kernels.

Names have the meaning that they have in ``triton``: ``import blockscope as triton`` works. What is
not needed to import is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
import os
import sys

from blockscope.compat import paths
from blockscope.process_lock import loading

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the time to import typing
if TYPE_CHECKING:
    from typing import Any

# The extension module lies in the build folder, <build>/python/blockscope/, which a .pth file or
# PYTHONPATH puts on the path; an installed wheel has it beside this file.
for _entry in sys.path:
    if isinstance(_entry, str):
        _folder = os.path.join(os.path.abspath(_entry), __name__)
        if _folder not in __path__ and os.path.isdir(_folder):
            __path__.append(_folder)
paths.install()

_NAMES = {
    "Config": "runtime.autotuner",
    "autotune": "runtime.autotuner",
    "heuristics": "runtime.autotuner",
    "cdiv": "host",
    "next_power_of_2": "host",
    "set_allocator": "host",
    "set_interpret_mode": "host",
    "set_profile_allocator": "host",
    "check": "checks",
    "trace": "checks",
    "HeatMap": "notebook",
    "algebra": "formulas",
    "same": "formulas",
    "install_as_triton": "drop_in",
    "CompilationError": "errors",
    "CompileTimeAssertionFailure": "errors",
    "InterpreterError": "errors",
    "OutOfResources": "errors",
    "SanitizerError": "errors",
    "TritonError": "errors",
    "UnsupportedLanguageConstruct": "errors",
    "AsyncCompileMode": "compat.runtime._async_compile",
    "FutureKernel": "compat.runtime._async_compile",
    "JITFunction": "runtime.jit",
    "KernelInterface": "runtime.jit",
    "MockTensor": "runtime.jit",
    "TensorWrapper": "runtime.jit",
    "constexpr_function": "runtime.jit",
    "jit": "runtime.jit",
    "reinterpret": "runtime.jit",
    "compile": "compat.compiler",
    "must_use_result": "language.core",
    "aggregate": "language.aggregate",
}
_MODULES = (
    "backends", "checks", "compiler", "errors", "experimental", "knobs", "language", "profiler",
    "runtime", "testing", "tools",
)  # fmt: skip


def _load(module: str) -> Any:
    with loading:
        return importlib.import_module(f"{__name__}.{module}")


def _compiled() -> Any:
    """The extension module. Errors: ImportError where a clone is not built, or only in part."""
    try:
        return _load("_core")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}._core":
            raise
        raise ImportError(
            f"{__name__} is not built: it has no module _core; in a clone, run ./dev build"
        ) from None


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(_load(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name == "_core":  # Python asks here before it looks for the module
        return _compiled()
    if name == "__version__":
        return _load("_core").__version__
    if name in _MODULES:
        return _load(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext blockscope`` in a notebook: the magics ``%%check`` and ``%%trace``."""
    _load("notebook").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    _load("notebook").unload(shell)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES, *_MODULES])
