"""``blockscope doctor``: what was found on this machine, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

PACKAGES = ("numpy", "torch", "h5py", "ml_dtypes", "pandas", "matplotlib")
FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "amx_tile",
            "asimd", "sve", "sve2")  # fmt: skip


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


OLD_CORE = "the compiled part is older than the Python part: run ./dev build"


def is_of_old_core(error: BaseException) -> bool:
    """Whether the error comes of a compiled part that lacks what the Python part asks it for."""
    core = sys.modules.get("blockscope._core")
    if isinstance(error, ImportError):
        return core is not None and error.name == "blockscope._core"
    of = getattr(error, "obj", None)
    return core is not None and (
        of is core or str(getattr(of, "__name__", "")).startswith("blockscope._core")
    )


def _version() -> str:
    try:
        from blockscope import _core
    except ImportError:
        return "version unknown"
    return _core.__version__


def _core() -> str:
    try:
        from blockscope import _core
    except ImportError as error:
        return f"MISSING ({error})"
    return f"{_core.__version__} at {getattr(_core, '__file__', '?')}"


def _other_triton() -> str:
    for folder in sys.path:
        if (Path(folder or ".") / "triton" / "__init__.py").is_file():
            return f"{_package('triton')} at {Path(folder or '.') / 'triton'}"
    return "none, so 'import triton' means Blockscope"


def _drop_in() -> str:
    from blockscope.drop_in import TritonFinder

    names = [type(finder).__module__ for finder in sys.meta_path]
    installed = "blockscope_drop_in" in names or any(
        isinstance(finder, TritonFinder) for finder in sys.meta_path
    )
    return "installed" if installed else "not installed; use 'blockscope run FILE'"


def _viewer() -> str:
    from blockscope.cli.usage import UsageError
    from blockscope.cli.viewer import find_viewer

    try:
        return find_viewer()
    except UsageError as error:
        return f"MISSING ({error})"


def _gpu() -> str:
    from blockscope.driver.cuda import why_unavailable

    reason = why_unavailable()
    if reason is not None:
        return f"none, kernels run on the CPU ({reason.partition(';')[0]})"
    from blockscope import _core

    found = [_core.gpu.device_properties(n) for n in range(_core.gpu.device_count())]
    version = _core.gpu.driver_version()
    names = ", ".join(f"{p['name']} ({_code_of(p['capability'])})" for p in found)
    return f"{names}, CUDA {version // 1000}.{version % 1000 // 10}"


def _code_of(capability: int) -> str:
    """What kernels of a GPU are compiled for, and with."""
    from blockscope import _core

    try:
        target = _core.gpu.target_of_capability(capability)
    except RuntimeError as error:
        return str(error)
    return f"{capability / 10}, {target['arch']}: {', '.join(target['features'])}"


def _targets() -> str:
    from blockscope import _core

    return " ".join(target["arch"] for target in _core.gpu.targets())


def _assembler() -> str:
    from blockscope.runtime.backends.cuda import tools

    return tools.ptxas() or "none; pip install nvidia-cuda-nvcc gives ptxas"


def _settings() -> str:
    names = ("TRITON_", "BLOCKSCOPE_", "MLIR_ENABLE")
    unknown = _unknown_settings()
    found = [f"{k}={v}" for k, v in os.environ.items() if k.startswith(names) and k not in unknown]
    return " ".join(sorted(found)) or "none"


def _unknown_settings() -> dict[str, str]:
    try:
        from blockscope import settings
    except ImportError:
        return {}
    return settings.unknown()


def lines() -> Iterator[tuple[str, str]]:
    """Each line of the report as name and value."""
    try:
        yield from _lines()
    except (AttributeError, ImportError) as error:
        if not is_of_old_core(error):
            raise
        yield "compiled part", f"MISSING ({OLD_CORE}: {error})"


def _lines() -> Iterator[tuple[str, str]]:
    from blockscope.driver.cpu import cpu_count, cpu_features, cpu_name, memory_bytes

    features = cpu_features()
    yield "blockscope", f"{_version()} at {Path(__file__).parents[1]}"
    yield "compiled part", _core()
    yield "viewer", _viewer()
    yield "python", f"{platform.python_version()} at {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "processor", f"{cpu_name()}, {cpu_count()} threads"
    yield "vector units", " ".join(f for f in FEATURES if f in features) or "none known"
    yield "memory", f"{memory_bytes() / 2**30:.1f} GiB"
    yield "gpu", _gpu()
    yield "gpu targets", _targets()
    yield "ptxas", _assembler()
    yield "display", os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "none"
    for name in PACKAGES:
        yield name, _package(name)
    yield "other triton", _other_triton()
    yield "import triton", _drop_in()
    yield "settings", _settings()
    for said in _unknown_settings().values():
        yield "wrong setting", said


def report(stream: TextIO) -> int:
    """Print the report; status 1 when something that every run needs is missing."""
    rows = list(lines())
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}", file=stream)
    return 1 if any(name == "compiled part" and v.startswith("MISSING") for name, v in rows) else 0
