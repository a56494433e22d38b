"""Runs kernel files under the checks that their headers name, all in this process.

Usage: kernel_runner.py RESULTS FILE ...   a line of JSON for each file
       kernel_runner.py --write FILE ...   the report of each file, as NAME.txt beside it

A line is written before the next file starts, so that after a crash it is known where it was.
"""

import json
import os
import re
import runpy
import sys
import traceback
from pathlib import Path

import blockscope


def checks_of(path):
    """What the header of a kernel file says it runs under, by default `all`."""
    named = re.search(r"^# CHECKS:(.*)", Path(path).read_text(), re.MULTILINE)
    return named.group(1).strip() if named else "all"


def comparable(text, path):
    """A report without what each run has for itself: the folder, numbers of launches, addresses."""
    folder = Path(path).parent
    for written in (folder, os.path.relpath(folder)):
        text = text.replace(f"{written}/", "")
    text = re.sub(r"launch: number \d+", "launch: number N", text)
    return re.sub(r"0x[0-9a-f]{9,}", "0x...", text)


def run(path):
    """The findings of one file, its report, and the traceback when it ended with an exception."""
    import torch

    error = None
    torch.manual_seed(0)
    with blockscope.check(checks_of(path)) as report:
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            error = traceback.format_exc()
    return {
        "file": path,
        "findings": json.loads(report.json()),
        "text": comparable(report.text(), path),
        "error": error,
    }


def main():
    output, *paths = sys.argv[1:]
    blockscope.install_as_triton()
    if output == "--write":
        for path in paths:
            Path(path).with_suffix(".txt").write_text(run(path)["text"] + "\n")
        return
    with open(output, "w") as stream:
        for path in paths:
            stream.write(json.dumps(run(path)) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
