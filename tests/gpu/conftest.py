"""Every test here needs an NVIDIA GPU and a torch with CUDA; elsewhere all are skipped."""

import os
import subprocess
import sys
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

import blockscope
import pytest
from blockscope import _core

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))
sys.path.append(str(ROOT / "tests" / "python"))  # behind this folder: both have a test_ops.py
# Processes that tests start find the same package.
_packages = [str(Path(folder).parent) for folder in blockscope.__path__]
os.environ["PYTHONPATH"] = os.pathsep.join(
    dict.fromkeys([*_packages, *filter(None, [os.environ.get("PYTHONPATH")])])
)
os.environ.setdefault("BLOCKSCOPE_CACHE", "0")  # tests of the cache turn it on


# Every launch that says nothing of num_ctas has so many: BLK_NUM_CTAS=2 pytest tests/gpu
if "BLK_NUM_CTAS" in os.environ:
    from blockscope.runtime.backends.cuda.options import GpuOptions

    _fields = list(GpuOptions.__dataclass_fields__)
    GpuOptions.__init__.__defaults__ = tuple(
        int(os.environ["BLK_NUM_CTAS"]) if name == "num_ctas" else value
        for name, value in zip(_fields, GpuOptions.__init__.__defaults__, strict=True)
    )


def _why_not() -> str | None:
    reason = _core.gpu.why_unavailable()
    if reason is None:
        try:
            import torch
        except ImportError:
            return "torch is not installed"
        if not torch.cuda.is_available():
            return "torch finds no GPU"
    return reason


def pytest_collection_modifyitems(items):
    reason = _why_not()
    if reason is not None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def device():
    return "cuda"


@pytest.fixture(autouse=True)
def same_numbers_in_every_run(request):
    """Whatever ran before in the process, and on whichever worker."""
    with suppress(ImportError):
        import torch

        torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


# -- going on after a kernel that broke the CUDA context -------------------------------------------

#: The test after which CUDA answers every call with an error, and those that are still to run.
_broken_by = None
_left = []


def pytest_runtest_setup(item):
    if _broken_by is not None:
        _left.append(item.nodeid)
        pytest.skip(f"runs in a new process, since {_broken_by} broke the CUDA context")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    global _broken_by
    torch = sys.modules.get("torch")
    if _broken_by is not None or torch is None or not torch.cuda.is_initialized():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        _broken_by = item.nodeid
        raise AssertionError(f"the CUDA context is broken: {error}") from None


def pytest_sessionfinish(session):
    """Run what is left in a process of its own, which does the same."""
    if not _left:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(_left) + "\n")
        file.flush()
        print(f"\n{len(_left)} tests go on in a new process", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"@{file.name}"],
            cwd=session.config.invocation_params.dir,
        )
    session.exitstatus = session.exitstatus or done.returncode
