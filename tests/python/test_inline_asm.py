"""tl.inline_asm_elementwise: each instruction against NumPy in both CPU modes, and by ptxas."""

from __future__ import annotations

import subprocess
from typing import Any

import blockscope as triton
import gpu_rows
import inline_asm_cases
import numpy as np
import pytest
from blockscope.runtime.backends.cuda import tools as gpu_tools
from inline_asm_cases import AsmCase
from inline_asm_runner import run

torch = pytest.importorskip("torch")


def run_stepped(case: AsmCase) -> Any:
    triton.set_interpret_mode(True)
    try:
        return run(case)
    finally:
        triton.set_interpret_mode(False)


@pytest.mark.parametrize("case", inline_asm_cases.CASES, ids=lambda case: case.name)
def test_instruction(case: AsmCase) -> None:
    found = run(case)
    stepped = run_stepped(case)
    assert found.tobytes() == stepped.tobytes()
    expected = np.asarray(case.reference(*inline_asm_cases.arguments(case)))
    assert expected.dtype == found.dtype, (expected.dtype, found.dtype)
    if not inline_asm_cases.same(case, found, expected, case.ulps):
        wrong = np.flatnonzero(
            found.view(f"u{found.itemsize}") != expected.view(f"u{found.itemsize}")
        )
        rows = [
            (*[x[i] for x in inline_asm_cases.arguments(case)], found[i], expected[i])
            for i in wrong[:8]
        ]
        pytest.fail(f"{len(wrong)} differ, the first (arguments, found, expected): {rows}")


def _module(cases: list[AsmCase], arch: str) -> str:
    """PTX with the text of each case, in a scope of its own."""
    version = "8.6" if arch in ("sm_80", "sm_90a") else "8.8"
    lines = [f".version {version}", f".target {arch}", ".address_size 64", ".visible .entry f() {"]
    for number, case in enumerate(cases):
        text = case.text.replace("AGAIN", f"AGAIN{number}").replace("DONE", f"DONE{number}")
        lines.append("{")
        for k, dtype in enumerate((case.result, *case.args)):
            bits = max(16, 8 * np.dtype(inline_asm_cases.DTYPES[dtype]).itemsize)
            lines.append(f".reg .b{bits} operand{k};")
        for k in range(len(case.args), -1, -1):
            text = text.replace(f"${k}", f"operand{k}")
        lines += [f"// {case.name}", text, "}"]
    return "\n".join([*lines, "ret;", "}"])


@pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_ptxas_takes_every_instruction(arch: str, tmp_path: Any) -> None:
    cases = [case for case in inline_asm_cases.CASES if (case.arch or "sm_80") == arch]
    assert cases
    source = tmp_path / "all.ptx"
    source.write_text(_module(cases, arch))
    done = subprocess.run(
        [str(gpu_tools.ptxas()), f"-arch={arch}", "-o", str(tmp_path / "all.cubin"), str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
