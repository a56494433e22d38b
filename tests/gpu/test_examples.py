"""Every example is right on the GPU: each in a process of its own, several at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from op_cases import NOT_YET

gpu_rows = pytest.importorskip("gpu_rows")

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "harness")


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """name -> the result of example_runner.py; they start when the first one is asked for."""
    chosen = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = [params["name"] for params in chosen if params.get("name") in NAMES]

    folders = tmp_path_factory.mktemp("examples")  # not from several threads at once

    def run(name: str) -> dict:
        folder = folders / name
        folder.mkdir()
        process = subprocess.run(
            [sys.executable, ROOT / "tests/python/example_runner.py", folder, "-", f"{name}:"],
            capture_output=True, text=True, timeout=200,
            env={**os.environ, "EXAMPLE_DEVICE": "cuda"},
        )  # fmt: skip
        lines = (folder / "results.jsonl").read_text().splitlines()
        return json.loads(lines[0]) if lines else {"status": process.stderr[-2000:], "text": ""}

    with ThreadPoolExecutor(min(8, max(2, (os.cpu_count() or 2) // 2))) as threads:
        yield {name: threads.submit(run, name) for name in dict.fromkeys(names)}


def test_the_list_is_not_empty() -> None:
    assert len(NAMES) >= 16


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, runs) -> None:
    result = runs[name].result()
    status = str(result["status"])
    gaps = [op for op in NOT_YET if f"'{op}' is not supported on the GPU" in status]
    if gaps:
        pytest.xfail(f"uses {gaps[0]}")
    assert result["status"] == 0, f"{status}\n{result['text']}"
    assert result["text"].startswith(f"{name}: ok"), result["text"]
