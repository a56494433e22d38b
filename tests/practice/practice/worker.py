"""One process of a run: the cases of one repository in one mode, a line of JSON for each.

usage: python -m practice.worker FOLDER CACHE REPOSITORY MODE SIZE TRITON CASE...
TRITON: 'blockscope', or 'installed' for the real one on a machine that has it.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

THREADS = 2


def main(words: list[str]) -> None:
    folder, cache, name, mode, size, triton, *wanted = words
    if triton == "blockscope":
        import blockscope

        blockscope.install_as_triton()
    import torch
    import torch.utils._triton

    from practice import cases, checkout, imports, modes, no_gpu

    torch.compile = lambda function=None, **_: function or (lambda f: f)  # it wants the real Triton
    device = "cuda" if mode in ("gpu", "verify") else "cpu"
    if device == "cpu":
        torch.set_num_threads(THREADS)
        no_gpu.pretend()
    repository = cases.load(name)
    root, commit = checkout.checkout(Path(folder), repository, Path(cache))
    imports.install(root, repository)
    torch.utils._triton.has_triton = lambda: True  # files ask it before they define kernels
    say({"commit": commit})
    for case in repository.cases:
        if case.name not in wanted:
            continue
        say({"begin": case.name})
        start, result = time.perf_counter(), {"status": "passed", "why": ""}
        try:
            if reason := case.not_in.get("check" if mode == "all-checks" else mode, ""):
                result = {"status": "skipped", "why": reason}
            else:
                found = modes.RUN[mode](case, root, size, device)
                if isinstance(found, dict):
                    result = found
                elif found:
                    result = {"status": "failed", "why": found}
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if "PRACTICE_TRACEBACK" in os.environ:
                traceback.print_exc()
            result = {"status": "failed", "why": f"{type(error).__name__}: {error}"}
        say({"end": case.name, "seconds": round(time.perf_counter() - start, 2), **result})


def say(row: dict[str, Any]) -> None:
    print("PRACTICE " + json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
