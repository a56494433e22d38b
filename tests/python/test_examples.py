"""Every example is right in both CPU modes, with the same bits, and clean under asan and tsan."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "harness")
# Sizes that keep the tests short; a name that is missing here runs with its own size.
SIZES = {
    "attention": 80, "attention_backward": 40, "cross_entropy": 1500, "cumsum": 300,
    "dropout": 3000, "histogram": 3000, "layer_norm": 1100, "layer_norm_backward": 200,
    "matmul": 96, "softmax": 3000, "vector_add": 5000,
}  # fmt: skip


def run(name, *command, timeout=250, **variables):
    kept = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "TRITON_DEBUG")}
    size = ["--size", str(SIZES[name])] if name in SIZES else []
    return subprocess.run(
        [sys.executable, "-m", "blockscope", *command, EXAMPLES / f"{name}.py", *size],
        capture_output=True, text=True, env={**kept, **variables}, timeout=timeout,
    )  # fmt: skip


def assert_ok(name, done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{name}: ok"), done.stdout


def test_the_list_is_not_empty():
    assert len(NAMES) >= 16


@pytest.mark.parametrize("name", NAMES)
def test_both_modes_give_the_same_bits(name, tmp_path):
    whole, step = tmp_path / "whole.npz", tmp_path / "step.npz"
    assert_ok(name, run(name, "run", EXAMPLE_SAVE=str(whole)))
    assert_ok(name, run(name, "run", EXAMPLE_SAVE=str(step), TRITON_INTERPRET="1"))
    with np.load(whole) as a, np.load(step) as b:
        assert a.files and a.files == b.files
        for label in a.files:
            if not label.endswith("~"):  # ~: its rounding depends on the order of execution
                np.testing.assert_array_equal(a[label], b[label], err_msg=label)


@pytest.mark.parametrize("name", NAMES)
def test_clean_under_all_checks(name):
    done = run(name, "check", "--checks", "asan,tsan")
    assert_ok(name, done)
    assert "error[" not in done.stderr and "warning[" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["attention", "layer_norm_backward"])
def test_the_number_of_threads_changes_nothing(name, tmp_path):
    files = []
    for threads in ("1", "5"):
        files.append(tmp_path / f"{threads}.npz")
        assert_ok(name, run(name, "run", EXAMPLE_SAVE=str(files[-1]), BLOCKSCOPE_THREADS=threads))
    with np.load(files[0]) as a, np.load(files[1]) as b:
        for label in a.files:
            if not label.endswith("~"):
                np.testing.assert_array_equal(a[label], b[label], err_msg=label)


def test_a_wrong_example_exits_with_1(tmp_path):
    text = (EXAMPLES / "vector_add.py").read_text().replace("x + y, mask", "x - y, mask")
    (tmp_path / "wrong.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "blockscope", "run", tmp_path / "wrong.py", "--size", "100"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(EXAMPLES)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_a_broken_copy_is_reported_by_triton_san(tmp_path):
    text = (EXAMPLES / "vector_add.py").read_text()
    broken = text.replace("tl.load(y_ptr + offsets, mask=mask)", "tl.load(y_ptr + offsets)")
    assert broken != text
    (tmp_path / "broken.py").write_text(broken)
    for file, status in ((tmp_path / "broken.py", 66), (EXAMPLES / "vector_add.py", 0)):
        done = subprocess.run(
            [Path(sys.executable).with_name("triton-san"), "asan", "python", file],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(EXAMPLES)},
        )  # fmt: skip
        assert done.returncode == status, done.stderr
    assert "oob-load" not in done.stderr
