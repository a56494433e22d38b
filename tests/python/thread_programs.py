"""Runs programs that start threads and processes, each in a process of its own that may hang."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

PREAMBLE = """
import faulthandler, sys, threading
faulthandler.dump_traceback_later({limit_s}, exit=True)
import numpy as np
import blockscope as triton
import blockscope.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

def launch_add(n=1000, block=128, kernel=add):
    x, y = np.arange(n, dtype=np.float32), np.full(n, 2, np.float32)
    out = np.zeros(n, np.float32)
    kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    assert (out == x + 2).all()

def on_threads(count, work):
    # Calls work(number) on so many threads at once; raises what the first of them raised.
    errors, barrier = [], threading.Barrier(count)
    def run(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if errors: raise errors[0]

"""


def run_program(
    folder: Path, source: str, *, limit_s: int = 60, status: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the preamble and ``source``. Fails with the output, and the stacks of all threads of a
    program that hangs, unless it ends with ``status``."""
    file = folder / "program.py"
    file.write_text(PREAMBLE.replace("{limit_s}", str(limit_s)) + textwrap.dedent(source))
    done = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=limit_s + 30,
    )
    assert done.returncode == status, done.stdout[-4000:] + done.stderr[-20000:]
    return done
