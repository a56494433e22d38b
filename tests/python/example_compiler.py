"""Runs examples on the CPU and compiles what they launch; writes a line of JSON for each kernel.

Usage: example_compiler.py RESULTS TARGET,... NAME ...
"""

import contextlib
import io
import json
import os
import runpy
import sys
import traceback

import blockscope
from blockscope.cli.compiled_launches import compiled_launches
from example_runner import EXAMPLES
from test_examples import SIZES


def main():
    results, targets, *names = sys.argv[1:]
    blockscope.install_as_triton()
    sys.path.insert(0, str(EXAMPLES))
    with open(results, "w") as stream:
        for name in names:

            def write(result):
                line = {
                    "name": name,
                    "kernel": result.fn.__name__,
                    "target": result.target,
                    "ir": result.ir,
                    "error": None if result.error is None else str(result.error),
                    "warnings": result.kernel.warnings if result.kernel else [],
                }
                stream.write(json.dumps(line) + "\n")
                stream.flush()

            sys.argv = [f"{name}.py", *(["--size", str(SIZES[name])] if name in SIZES else [])]
            with compiled_launches(targets.split(","), write, jobs=os.cpu_count() or 1):
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
                except SystemExit as stop:
                    assert not stop.code, f"{name} ended with status {stop.code}"
                except BaseException:
                    traceback.print_exc()


if __name__ == "__main__":
    main()
