"""An op that is added from a fixture (tests/unit/ir/midpoint_op.h): ptxas takes its PTX, and the
machine for PTX gives what the op gives step by step and as a flat program.
"""

import os
import subprocess
from pathlib import Path

import gpu_rows
import numpy as np
import ptx_machine
import pytest
from blockscope import _core
from blockscope.runtime.backends.cuda import tools

PROGRAM = Path(_core.__file__).parents[2] / "tests" / "added_op_test"

pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


def test_an_added_op_runs_as_ptx(tmp_path: Path) -> None:
    text = tmp_path / "kernel.ptx"
    done = subprocess.run(
        [PROGRAM, "--gtest_brief=1"],
        env={
            **os.environ,
            "BLOCKSCOPE_TEST_PTXAS": tools.ptxas(),
            "BLOCKSCOPE_TEST_PTX": str(text),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    x = np.arange(256, dtype=np.float32) % 37 - 11
    y, out = -3 * x, np.zeros(256, np.float32)
    machine = ptx_machine.Machine(text.read_text(), 4)
    machine.run((1, 1, 1), [x, y, out], 0)
    np.testing.assert_array_equal(out, (x + x + y) / 2)
