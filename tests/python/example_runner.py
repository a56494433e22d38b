"""Runs examples in this process, one after another, and writes one line of JSON for each.

Usage: example_runner.py FOLDER CHECKS NAME[:SIZE] ... (CHECKS is - for none). Outputs go to
FOLDER/NAME.npz, the lines to FOLDER/results.jsonl.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from pathlib import Path

import blockscope

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(folder, checks, name, size):
    """Status, text and findings of one example."""
    sys.argv = [f"{name}.py", "--save", str(folder / f"{name}.npz"), *size]
    text, status, findings = io.StringIO(), 0, []
    with contextlib.ExitStack() as stack:
        report = stack.enter_context(blockscope.check(checks)) if checks != "-" else None
        stack.enter_context(contextlib.redirect_stdout(text))
        try:
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException:
            status = traceback.format_exc()
    if report is not None:
        findings = [f"{f.code} in line {f.line}: {f.message}" for f in report.findings]
    return {"name": name, "status": status, "text": text.getvalue(), "findings": findings}


def main():
    folder, checks, *words = sys.argv[1:]
    blockscope.install_as_triton()
    sys.path.insert(0, str(EXAMPLES))
    with open(Path(folder) / "results.jsonl", "w") as stream:
        for word in words:
            name, _, size = word.partition(":")
            result = run(Path(folder), checks, name, ["--size", size] if size else [])
            stream.write(json.dumps(result) + "\n")
            stream.flush()


if __name__ == "__main__":
    main()
