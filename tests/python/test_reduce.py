"""``blockscope reduce``: failing launches of real size as files of a few lines.

BLK_REDUCE=all runs all of ``reduce_cases``; else a few of them run.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from reduce_cases import CASES, ROOT

pytest.importorskip("torch")
SOME = ("matmul", "infinity_half_sum", "row_stride_of_slice")
CHOSEN = [case for case in CASES if os.environ.get("BLK_REDUCE") == "all" or case.name in SOME]
GRID = re.compile(r"^\w+\[\(([\d, ]+)\)\]", re.MULTILINE)


def command(*words, cwd):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *map(str, words)],
        capture_output=True, text=True, cwd=cwd, timeout=280, env=environment,
    )  # fmt: skip


def record(case, folder):
    shutil.copy(ROOT / "examples" / "harness.py", folder)
    (folder / "script.py").write_text(case.source())
    done = command(
        "record", "--on-finding", "--checks", case.checks, "script.py", *case.arguments, cwd=folder
    )
    assert (folder / "run.blk").exists(), done.stderr
    (folder / "script.py").unlink()


def beside_the_kernel(text):
    """The lines of a small file that belong to no definition."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith((" ", "@", "def ", ")"))]


def test_there_are_ten_cases():
    assert len(CASES) >= 10 and len(CHOSEN) >= len(SOME)


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_a_launch_of_real_size_becomes_a_few_lines(case, tmp_path):
    record(case, tmp_path)
    done = command(
        "reduce", "run.blk", "--checks", case.checks, "--finding", case.code, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "small.py").read_text()
    assert len(beside_the_kernel(text)) < 15, text
    programs = 1
    for size in re.findall(r"\d+", GRID.findall(text)[-1]):
        programs *= int(size)
    assert programs <= 2, text
    (tmp_path / "run.blk").unlink()
    told = command("check", "--checks", case.checks, "small.py", cwd=tmp_path)
    assert f"[{case.code}]" in told.stderr, told.stderr
    marked = re.search(r"small\.py:(\d+):", told.stderr).group(1)
    if case.file.startswith("tests/kernels"):
        assert f"<-- {case.code}" in text.splitlines()[int(marked) - 1]


def test_a_right_launch_has_nothing_to_reduce(tmp_path):
    command("record", ROOT / "tests/kernels/mask_less_equal_good.py", cwd=tmp_path)
    done = command("reduce", "run.blk", cwd=tmp_path)
    assert done.returncode == 2
    assert "no launch of 'run.blk' has an error under the checks asan,tsan" in done.stderr
    assert not (tmp_path / "small.py").exists()


def test_a_finding_that_depends_on_a_launch_before_is_said_so(tmp_path):
    path = ROOT / "tests/kernels/undefined_scratch_bad.py"
    command("record", path, cwd=tmp_path)
    done = command("reduce", "run.blk", "--checks", "undefined", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "is not there when the launch runs alone" in done.stderr
