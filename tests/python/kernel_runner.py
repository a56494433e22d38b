"""Runs kernel files under checks, all in this process, and writes one line of JSON for each.

Usage: kernel_runner.py RESULTS CHECKS FILE ... CHECKS FILE ... (a word without .py names checks).
A line is written before the next file starts, so that after a crash it is known where it was.
"""

import json
import runpy
import sys
import traceback

import blockscope
import torch

blockscope.install_as_triton()


def run(checks, file):
    """The findings of one file, and the traceback when it ended with an exception."""
    error = None
    torch.manual_seed(0)
    with blockscope.check(checks) as report:
        try:
            runpy.run_path(file, run_name="__main__")
        except BaseException:
            error = traceback.format_exc()
    return {"file": file, "findings": json.loads(report.json()), "error": error}


def main():
    results, *words = sys.argv[1:]
    checks = "asan,tsan"
    with open(results, "w") as stream:
        for word in words:
            if not word.endswith(".py"):
                checks = word
                continue
            stream.write(json.dumps(run(checks, word)) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
