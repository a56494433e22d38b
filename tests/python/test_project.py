"""The defaults of a project, [tool.blockscope] in pyproject.toml, for the commands that check."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from blockscope import project

BIN = Path(sys.executable).parent

SCRIPT = """
import numpy, triton, triton.language as tl

@triton.jit
def number(out_ptr):
    tl.store(out_ptr, tl.program_id(0))

@triton.jit
def read(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr + 8))

number[(4,)](numpy.zeros(1, numpy.int32))
read[(1,)](numpy.zeros(16, numpy.int32)[:8], numpy.zeros(1, numpy.int32))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "inner").mkdir()
    return tmp_path


def codes(folder, *words, program="blockscope"):
    variables = {k: v for k, v in os.environ.items() if not k.startswith("BLOCKSCOPE_")}
    done = subprocess.run(
        [BIN / program, *words, folder / "script.py"], cwd=folder / "inner", env=variables,
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    return [
        code for code in ("race-write-write", "outside-view") if f"error[{code}]" in done.stderr
    ]


def table(folder, text):
    (folder / "pyproject.toml").write_text(f"[tool.blockscope]\n{text}\n")


def test_of_folder(folder):
    assert project.of_folder(folder) == project.Project()
    table(folder, "checks = 'tsan, asan'\nmax-findings = 3\ninit-strict = true")
    found = project.of_folder(folder / "inner")
    assert found.file == str(folder / "pyproject.toml")
    assert found.checks == ("tsan", "asan")
    assert found.options == {"max_findings": 3, "init_strict": "on"}
    (folder / "inner" / "pyproject.toml").write_text("[project]\nname = 'blockscope-user'\n")
    assert project.of_folder(folder / "inner") == found  # which has no table
    (folder / "inner" / "pyproject.toml").write_text("[tool.blockscope]\n")
    assert project.of_folder(folder / "inner").checks is None
    (folder / "pyproject.toml").write_text("[tool.blockscope\n")
    with pytest.raises(ValueError, match=rf"^{folder}/pyproject.toml cannot be read: .*line 1"):
        project.of_folder(folder)
    (folder / "pyproject.toml").write_text("[tool]\nblockscope = 3\n")
    with pytest.raises(ValueError, match=r"\[tool.blockscope\] is 3, expected a table"):
        project.of_folder(folder)


def test_commands_take_it_where_they_are_told_nothing(folder):
    both = ["race-write-write", "outside-view"]
    assert codes(folder, "check") == both
    table(folder, "checks = ['tsan']")
    assert codes(folder, "check") == ["race-write-write"]
    assert codes(folder, "check", "--checks", "asan") == ["outside-view"]
    assert codes(folder, "asan,tsan", program="triton-san") == both
    table(folder, "checks = ['asan', 'tsan']\nbounds = 'storage'")
    assert codes(folder, "check") == ["race-write-write"]
    assert codes(folder, "check", "--bounds", "view") == both
    assert codes(folder, "asan", program="triton-san") == []
    table(folder, "checks = ['asan', 'tsan']\nmax-findings = 1")
    assert codes(folder, "check") == ["race-write-write"]
    assert codes(folder, "check", "--max-findings", "2") == both


def test_traces_take_its_checks(folder):
    def findings():
        assert codes(folder, "trace", "-o", "t.h5") == []
        with h5py.File(folder / "inner" / "t.h5") as trace:
            return [len(trace[f"launches/{n}/findings/code"]) for n in (0, 1)]

    assert findings() == [1, 1]
    table(folder, "checks = ['tsan']")
    assert findings() == [1, 0]
    table(folder, "bounds = 'storage'")
    assert findings() == [1, 0]


@pytest.mark.parametrize("words", [["check"], ["trace"]])
def test_a_wrong_table_is_wrong_use(folder, words):
    table(folder, "chekcs = 'asan'")
    done = subprocess.run(
        [BIN / "blockscope", *words, "script.py"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"blockscope: {folder}/pyproject.toml: [tool.blockscope] has the unknown key 'chekcs'; did "
        "you mean 'checks'?\n"
    )
