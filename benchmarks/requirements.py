"""What a benchmark needs that may be missing: one line says so, and the status is 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn


def stop(text: str) -> NoReturn:
    """End the program, which is used wrongly, or where it cannot run."""
    print(f"{Path(sys.argv[0]).name}: error: {text}", file=sys.stderr)
    sys.exit(2)


def need_gpu(python: str = sys.executable) -> None:
    """End the program unless torch of this Python has a GPU."""
    code = "import torch; print(torch.cuda.is_available())"
    try:
        child = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError as error:
        stop(f"'{python}' cannot be run: {error.strerror}")
    if child.returncode != 0:
        stop(f"'{python}' has no torch: {last_line(child.stderr)}")
    if child.stdout.strip() != "True":
        stop("it times kernels on a GPU, and torch finds none here")


def need_module(python: str, name: str, option: str) -> None:
    """End the program unless this Python has a module; ``option`` names another Python."""
    try:
        child = subprocess.run([python, "-c", f"import {name}"], capture_output=True, text=True)
    except OSError as error:
        stop(f"{option} is '{python}', which cannot be run: {error.strerror}")
    if child.returncode != 0:
        stop(f"'{python}' has no {name} ({last_line(child.stderr)}); name one by {option}")


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "it says nothing"
