"""Which cases of test_gpu_machine.py run: a twenty-fifth, another one for every commit."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from pathlib import Path

STEP = 25


@functools.lru_cache(None)
def commit() -> str:
    """The hash of the commit that is checked out, or text that says that there is none."""
    folder = Path(__file__).parent
    try:
        git = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True
        )
    except OSError:
        return "no commit"
    return git.stdout.strip() if git.returncode == 0 else "no commit"


def first_for(commit: str) -> int:
    """The number of the first case that runs for a commit."""
    return int.from_bytes(hashlib.sha256(commit.encode()).digest()[:8], "big") % STEP


def chosen() -> tuple[int, int]:
    """The step between cases, and the first one: of BLK_MACHINE_CASES, else the commit's."""
    wanted = os.environ.get("BLK_MACHINE_CASES", "")
    if wanted == "all":
        return 1, 0
    if not wanted:
        return STEP, first_for(commit())
    if not wanted.isdigit() or int(wanted) >= STEP:
        raise ValueError(f"BLK_MACHINE_CASES is {wanted!r}, expected 'all' or 0 to {STEP - 1}")
    return STEP, int(wanted)


def described() -> str:
    """What pytest says at its end."""
    step, first = chosen()
    if step == 1:
        return "machine cases: all"
    return f"machine cases: BLK_MACHINE_CASES={first}, chosen for {commit()[:12]}"
