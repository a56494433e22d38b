"""Benchmarks that are used wrongly, or without a GPU: one line, and status 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")


def run(*words, python=sys.executable):
    return subprocess.run(
        [python, str(ROOT / "benchmarks" / words[0]), *map(str, words[1:])],
        capture_output=True, text=True, timeout=120, env={**os.environ},
    )  # fmt: skip


def assert_one_line(done, text):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == "" and text in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize("name", ["gpu.py", "tuning.py", "inductor.py"])
def test_without_a_gpu(name):
    assert_one_line(run(name), "torch finds none here")


def test_tutorials(tmp_path):
    done = run("gpu_tutorials.py")
    assert done.returncode == 2 and "gpu_tutorials.py FOLDER" in done.stdout + done.stderr
    assert_one_line(run("gpu_tutorials.py", tmp_path), "has no tutorials")
    (tmp_path / "01-vector-add.py").touch()
    assert_one_line(run("gpu_tutorials.py", tmp_path), "torch finds none here")


def test_foreign_inputs(tmp_path):
    python = ("--triton-python", sys.executable)
    assert_one_line(run("foreign.py", "--static", tmp_path / "no.py", *python), "there is no file")
    missing = f"{tmp_path}/no:sla"
    assert_one_line(run("foreign.py", "--static", missing, *python), "there is no folder")
    assert_one_line(run("foreign.py", "--static", f"{tmp_path}:no_such", *python), "no module 'no")
    assert_one_line(run("foreign.py", "--static", f"{tmp_path}:", *python), "name a module")
    cases = ROOT / "benchmarks" / "foreign_cases.py"
    assert_one_line(run("foreign.py", "--timed", cases, *python), "torch finds none here")
    gone = ("--triton-python", tmp_path / "python")
    assert_one_line(run("foreign.py", "--static", cases, *gone), "cannot be run")


def test_foreign_needs_triton(tmp_path):
    shell = tmp_path / "python"
    shell.write_text("#!/bin/sh\necho 'ModuleNotFoundError: no triton' >&2\nexit 1\n")
    shell.chmod(0o755)
    cases = ROOT / "benchmarks" / "foreign_cases.py"
    done = run("foreign.py", "--static", cases, "--triton-python", shell)
    assert_one_line(done, "has no triton (ModuleNotFoundError: no triton); name one by --triton")


def test_foreign_counts_what_failed(tmp_path):
    """By a Python that stands for Triton's, and fails as it does."""
    worker = tmp_path / "python"
    line = '{"case": "a", "error": "ValueError: no"}'
    worker.write_text(
        f"#!/bin/sh\ncase $1 in -c) exit 0;; esac\necho 'FOREIGN {line}'\n"
    )  # fmt: skip
    worker.chmod(0o755)
    case = tmp_path / "cases.py"
    case.write_text("def case_a():\n    raise ValueError('no')\n")
    tools = ("--nvdisasm", "/bin/true", "--cuobjdump", "/bin/true")
    done = run("foreign.py", "--static", case, "--triton-python", worker, *tools)
    assert done.returncode == 1 and "0 of 1 flagged, 1 failed" in done.stdout
    done = run("foreign.py", "--static", case, "unknown", "--triton-python", worker, *tools)
    assert done.returncode == 1 and "no case has such a name" in done.stderr


def test_foreign_explains_its_columns():
    text = run("foreign.py", "--help").stdout
    for word in ("total ", "widths ", "stack, shared"):
        assert word in text
