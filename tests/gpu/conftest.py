"""Every test here needs an NVIDIA GPU and a torch with CUDA; elsewhere all are skipped."""

import os
import sys
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
