"""Every operation and every example compiles for every GPU: ptxas takes the PTX without a word.

sm_90a gets every row with every dtype. The other targets get one dtype of each row, and all dtypes
of dots and of rows with fp8: in nothing else do targets differ by the dtype. Examples
run once on the CPU; each of their launches is compiled as launched, for all targets.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu_rows
import pytest
from blockscope import _core
from op_cases import CASES, NOT_YET, OpCase
from op_cases.case import FP8

TARGETS = ("sm_90a", "sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "harness")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


def dtypes_for(case: OpCase, target: str) -> tuple[str, ...]:
    """The dtypes of a row that are compiled for a target."""
    if target == "sm_90a" or case.name.startswith("dot") or set(case.dtypes) & set(FP8):
        return case.dtypes
    preferred = [name for name in ("fp32", "int32") if name in case.dtypes]
    return (preferred or list(case.dtypes))[:1]


ROWS = [
    (case, dtype, target)
    for target in TARGETS
    for case in CASES
    for dtype in dtypes_for(case, target)
]
BY_ID = {f"{case.name}-{dtype}-{target}": (case, dtype, target) for case, dtype, target in ROWS}


def test_there_are_rows() -> None:
    assert len(ROWS) == len(BY_ID) > 1000
    assert len(NAMES) >= 16


def test_the_list_of_gaps_is_true() -> None:
    lowered = set(_core.gpu.lowered_ops())
    assert len(lowered) > 50
    assert sorted(set(NOT_YET) & lowered) == []


def compile_row(name: str) -> tuple[list[str], BaseException | None, list[str]]:
    """The row's operations that are known gaps, its error, and what ptxas said."""
    case, dtype, target = BY_ID[name]
    missing = gpu_rows.missing_ops(case, dtype)
    try:
        kernel = gpu_rows.warm_up(case, dtype, arch=target)
    except Exception as error:
        return missing, error, []
    return missing, None, kernel.warnings


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Any:
    """Compiles the rows of the tests that were chosen, on threads, before and while they run."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    keys = [(params["row"],) for params in chosen if params.get("row") in BY_ID]
    os.environ["BLOCKSCOPE_CACHE"], before = "0", os.environ.get("BLOCKSCOPE_CACHE")
    try:
        with gpu_rows.pool(compile_row, keys) as futures:
            yield futures
    finally:
        os.environ.pop("BLOCKSCOPE_CACHE")
        if before is not None:
            os.environ["BLOCKSCOPE_CACHE"] = before


@pytest.mark.parametrize("row", BY_ID)
def test_row(row: str, outcomes: Any) -> None:
    missing, error, warnings = outcomes[row,].result()
    reason = gpu_rows.hold_to_gaps(missing, error)
    if reason is not None:
        pytest.xfail(reason)
    assert warnings == []


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(name, target) -> what became of each kernel; one process runs all examples."""
    folder = tmp_path_factory.mktemp("compiled")
    runner = Path(__file__).with_name("example_compiler.py")
    process = subprocess.run(
        [sys.executable, runner, folder / "results.jsonl", ",".join(TARGETS), *NAMES],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    found: dict[tuple[str, str], list[Any]] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        found.setdefault((result["name"], result["target"]), []).append(result)
    return found, process.stderr[-2000:]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, target: str, examples: Any) -> None:
    results, stderr = examples
    assert results.get((name, target)), f"no kernel of {name} was compiled: {stderr}"
    gaps = []
    for result in results[name, target]:
        missing = sorted(gpu_rows.ops_of(result["ir"]) & set(NOT_YET))
        error = None if result["error"] is None else gpu_rows.CompilationError(result["error"])
        gaps.append(gpu_rows.hold_to_gaps(missing, error))
        assert result["warnings"] == []
    if any(gaps):
        pytest.xfail(next(filter(None, gaps)))
