"""The tour of ./dev demo: a wrong kernel, its report, its trace, its picture; then mended."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUTPUT = Path("build/demo")


def step(text, *words, status=0):
    """Shows and runs one command of the tour; stops the tour when it ends in an unexpected way."""
    print(f"\n# {text}\n$ blockscope {' '.join(map(str, words))}", flush=True)
    ended = subprocess.run([sys.executable, "-m", "blockscope", *words], cwd=ROOT).returncode
    if ended != status:
        sys.exit(f"demo: that ended with {ended}, expected {status}")


def main():
    wrong, mended = (f"examples/demo/softmax_{which}.py" for which in ("wrong", "mended"))
    trace, picture = OUTPUT / "trace.h5", OUTPUT / "heatmap.png"
    os.makedirs(ROOT / OUTPUT, exist_ok=True)
    step("A softmax that gives wrong numbers. Why?", "check", "--checks", "all", wrong, status=66)
    step("What did it touch?", "trace", wrong, "-o", trace)
    step("Draw it, with no display:", "view", trace, "--png", picture, "--tensor", "x_ptr")
    print(
        f"  {picture}: what lies beyond the tensor's border, and what two programs read (the first"
    )
    print("  elements of each next row), is what the load should not read")
    step("The load with its mask:", "check", "--checks", "all", mended)
    program = Path(sys.executable).with_name("blockscope")
    print(f"\nTo look around in the trace: {os.path.relpath(program)} view {trace}")


if __name__ == "__main__":
    main()
