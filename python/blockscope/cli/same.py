"""``blockscope same ONE.py OTHER.py``: do two files compute the same formulas?"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import tempfile
from typing import Any

from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.formulas import Bits, compared

DIFFERENT = 1
NOTHING_TO_COMPARE = 2


def compare_files(one: str, other: str) -> int:
    """Run both, each in a process of its own, and compare their tensors of the same name."""
    sides = [_tensors_of(file) for file in (one, other)]
    comparison = compared(*sides)
    if not comparison.names:
        print(
            f"there is nothing to compare: no tensor has the same name at the end of {one} "
            f"({_listed(sides[0])}) and of {other} ({_listed(sides[1])})",
            file=sys.stderr,
        )
        return NOTHING_TO_COMPARE
    print(comparison)
    return 0 if comparison else DIFFERENT


def _listed(side: dict[str, Bits]) -> str:
    return ", ".join(side) or "no tensors"


def _tensors_of(file: str) -> dict[str, Bits]:
    if not os.path.isfile(file):
        raise UsageError(f"there is no file '{file}'")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        code = "import sys; from blockscope.cli.same import child; sys.exit(child(*sys.argv[1:]))"
        environment = {**os.environ, "TRITON_INSTRUMENTATION_MODE": "fpsan"}
        done = subprocess.run([sys.executable, "-c", code, file, path], env=environment)
        if not os.path.exists(path):
            raise UsageError(f"{file} ended the process, with status {done.returncode}")
        with open(path, "rb") as stream:
            said: dict[str, Any] = pickle.load(stream)  # our own child wrote it
    if said["launches"] == 0:
        raise UsageError(f"{file} launched no kernel")
    return said["tensors"]


def child(file: str, path: str) -> int:
    """Run a file, and leave the tensors among its variables in ``path``."""
    from blockscope import knobs
    from blockscope.drop_in import install_as_triton

    install_as_triton()
    os.environ["BLOCKSCOPE_AS_TRITON"] = "1"
    _seed()
    launches = 0

    def count(_: Any) -> None:
        nonlocal launches
        launches += 1

    hooks: Any = knobs.runtime.launch_enter_hook
    hooks.add(count)
    script = Script([file])
    status = script.run()
    variables = vars(sys.modules["__main__"])
    tensors = {name: Bits.of(value) for name, value in variables.items() if name[0] != "_"}
    if status:
        print(
            f"{file} ended with status {status}; its tensors are compared as they were then. (In "
            "the algebra results are no numbers: a comparison with torch in the file fails.)",
            file=sys.stderr,
        )
    with open(path, "wb") as stream:
        found = {name: bits for name, bits in tensors.items() if bits is not None}
        pickle.dump({"launches": launches, "tensors": found}, stream)
    return 0


def _seed() -> None:
    """The same random inputs in both files, where they are made without a seed of their own."""
    import numpy as np

    random.seed(0)
    np.random.seed(0)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(0)
