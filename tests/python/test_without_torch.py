"""Launch files where torch is not installed: what is made anew is NumPy's."""

import subprocess
import sys

import pytest

KERNELS = """
import {library}, triton, triton.language as tl

@triton.jit
def shift(x, flags, table, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    flag = tl.load(flags + i, mask=i < n, other=False)
    row = tl.load(tl.load(table).to(tl.pointer_type(tl.float32)) + i, mask=i < n)
    v = tl.load(x + i + 1, mask=i < n)
    tl.store(out + i, tl.where(flag, v, row), mask=i < n)

"""
LAUNCH = {
    "numpy": """
from numpy import arange, array, float32, int64, ones, zeros
x, flags, far = arange(1000, dtype=float32), ones(1000, bool), zeros(1000, float32)
table = array([far.ctypes.data], int64)
shift[(8,)](x, flags, table, zeros(1000, float32), 1000, BLOCK=128)
""",
    "torch": """
from torch import arange, float32, int64, ones, tensor, zeros
x, flags, far = arange(1000, dtype=float32), ones(1000, dtype=bool), zeros(1000)
table = tensor([far.data_ptr()], dtype=int64)
shift[(8,)](x, flags, table, zeros(1000), 1000, BLOCK=128)
""",
}
NO_TORCH = """
import sys
sys.modules["torch"] = None
from blockscope.cli import main
sys.exit(main(sys.argv[1:]))
"""


def command(folder, *words, has_torch=True):
    start = ["-m", "blockscope"] if has_torch else ["-c", NO_TORCH]
    return subprocess.run(
        [sys.executable, *start, *map(str, words)],
        capture_output=True, text=True, cwd=folder, timeout=240,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["numpy", "torch"])
def recorded(request, tmp_path_factory):
    pytest.importorskip(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    text = KERNELS.format(library=request.param) + LAUNCH[request.param]
    (folder / "script.py").write_text(text)
    command(folder, "record", "script.py")
    (folder / "script.py").unlink()
    return folder


def test_a_launch_is_made_small(recorded):
    done = command(recorded, "reduce", "run.blk", "-o", "small.py", has_torch=False)
    assert done.returncode == 0, done.stderr
    text = (recorded / "small.py").read_text()
    assert "torch" not in text and "import numpy as np" in text and "np.bool_" in text


def test_a_launch_is_swept(recorded):
    done = command(recorded, "sweep", "run.blk", "--vary", "BLOCK=64,128", "--fixed-sizes",
                   "--grid", "cdiv(n, BLOCK)", has_torch=False)  # fmt: skip
    assert done.returncode == 66, done.stderr
    assert "A  error: oob-load at" in done.stdout
    assert "2 points" in done.stdout


def test_what_numpy_has_not_is_said(recorded):
    done = command(recorded, "sweep", "run.blk", "--vary", "x.dtype=fp32,bf16", has_torch=False)
    assert "Traceback" not in done.stderr
    assert "x.dtype=bfloat16 needs torch" in done.stdout, done.stdout + done.stderr
