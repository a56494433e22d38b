"""The generator of random kernels finds a wrong result and cuts it down (tests/fuzz)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ml_dtypes")
sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
from random_kernels import __main__ as command  # noqa: E402
from random_kernels import dtypes, grow, modes  # noqa: E402


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert grow.kernel(3).source() == grow.kernel(3).source() != grow.kernel(4).source()


@pytest.mark.parametrize("seed", range(6))
def test_all_modes_agree(seed: int) -> None:
    assert modes.problem(grow.kernel(seed), modes.CPU_MODES) is None


def test_a_wrong_result_is_found_and_cut_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right = dtypes.remainder

    def wrong(a: Any, b: Any) -> Any:
        return right(a, b) + a.dtype.type(1)

    monkeypatch.setattr(dtypes, "remainder", wrong)
    find = command.finder("cpu", 0)
    kernels = (kernel for kernel in map(grow.kernel, range(400)) if " % " in kernel.source())
    kernel, found = next((kernel, found) for kernel in kernels if (found := find(kernel)))
    assert found.mode == "one thread" and "NumPy has" in found.text
    text = command.cut_down(kernel, find, found, 20)
    body = text[text.index("@triton.jit") : text.index("def arguments")]
    assert "%" in body and len(body.splitlines()) < 20
    path = tmp_path / "reproducer.py"
    path.write_text(text)
    environment = {**os.environ, "BLOCKSCOPE_AS_TRITON": "1"}
    shown = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment)
    assert shown.returncode == 0 and "step by step:" in shown.stdout, shown.stderr
