"""What is said when an error of a kernel surfaces in torch; no GPU is needed."""

import subprocess
import sys

import pytest
from blockscope.runtime.backends.cuda import excepthook

SCRIPT = """
import sys
from blockscope.runtime.backends.cuda import excepthook
for _ in range(2):
    excepthook.install(lambda: ["'add' on grid (4, 1, 1)"])
raise {error}
"""


def last_words(error: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(error=error)], capture_output=True, text=True
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError('CUDA error: an illegal memory access was encountered')",
        "type('AcceleratorError', (RuntimeError,), {})('CUDA error: misaligned address')",
    ],
)
def test_a_cuda_error_of_torch_gets_a_hint(error):
    text = last_words(error)
    assert text.count("blockscope check --checks asan FILE") == 1
    assert "launched before it: 'add' on grid (4, 1, 1)" in text


@pytest.mark.parametrize("error", ["ValueError('CUDA error: no')", "RuntimeError('out of paper')"])
def test_other_errors_do_not(error):
    assert "blockscope" not in last_words(error).replace("blockscope.runtime", "")


def test_hint_without_launches():
    assert "launched before it" not in excepthook.hint([])
