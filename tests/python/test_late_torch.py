"""Commands on programs without torch leave it alone: its import takes seconds, or it is not there.
Checks that watch torch begin when the program imports it."""

import os
import subprocess
import sys

import pytest

KERNEL = """
import numpy, sys, triton, triton.language as tl

@triton.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + 1, mask=offsets < n)
"""
NUMPY = """
x, out = numpy.zeros(1000, numpy.float32), numpy.empty(1000, numpy.float32)
add[(4,)](x, out, 1000, BLOCK=256)
print(out.sum())
"""
UNDEFINED = """
out = numpy.empty(1000, numpy.float32)
add[(4,)](torch.empty(1000), out, 1000, BLOCK=256)
total = torch.from_numpy(out).sum().item()
if total > 0:
    print("positive")
"""


@pytest.fixture
def command(tmp_path):
    """Runs a command in a folder where ``import torch`` fails."""
    (tmp_path / "absent" / "torch").mkdir(parents=True)
    (tmp_path / "absent" / "torch" / "__init__.py").write_text("raise ImportError('not here')")

    def run(*words, has_torch=False):
        variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
        if not has_torch:
            variables["PYTHONPATH"] = str(tmp_path / "absent")
        return subprocess.run(
            [sys.executable, "-m", "blockscope", *words],
            capture_output=True, text=True, timeout=240, cwd=tmp_path, env=variables,
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    "words",
    [
        ["run", "script.py"],
        ["check", "--checks", "all", "script.py"],
        ["check", "--checks", "precision", "script.py"],
        ["trace", "-o", "a.h5", "script.py"],
        ["record", "-o", "a.blk", "script.py"],
    ],
    ids=lambda words: " ".join(words[:-1]),
)
def test_scripts_without_torch(command, tmp_path, words):
    (tmp_path / "script.py").write_text(KERNEL + NUMPY)
    done = command(*words)
    assert done.returncode == 0 and done.stdout == "1000.0\n", done.stderr


@pytest.mark.parametrize(
    "imports",
    [
        "import torch",
        "from torch import nn; import torch",
        # The watch is of the session's thread: it begins there with the next launch.
        "import threading; t = threading.Thread(target=__import__, args=('torch',)); t.start(); "
        "t.join(); warm = numpy.zeros(4, numpy.float32); add[(1,)](warm, warm, 4, BLOCK=4); "
        "import torch",
    ],
)
def test_the_watch_begins_when_torch_is_imported(command, tmp_path, imports):
    path = tmp_path / "script.py"
    path.write_text(KERNEL + imports + UNDEFINED)
    done = command("check", "--checks", "undefined", "script.py", has_torch=True)
    assert "error[undefined-value]: the host reads undefined data" in done.stderr, done.stderr
    assert "allocated at: script.py" in done.stderr


def test_the_watch_does_not_import_what_compiles(command, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        KERNEL
        + "import torch\n"
        + UNDEFINED
        + "print([name for name in sys.modules if name == 'torch._dynamo'])\n"
        + "print(torch.compile(lambda x: x + 1, backend='eager')(torch.ones(1)))\n"
    )
    done = command("check", "--checks", "undefined", "script.py", has_torch=True)
    assert done.stdout.endswith("[]\ntensor([2.])\n"), done.stdout + done.stderr
    assert done.stderr.count("error[") == 1, done.stderr
