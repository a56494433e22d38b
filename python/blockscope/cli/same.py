"""``blockscope same ONE.py OTHER.py``: do two files compute the same formulas?"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from blockscope.cli.own_process import python_words
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError, no_file
from blockscope.formulas import Bits, compared
from blockscope.runtime import hooks

DIFFERENT = 1
NOTHING_TO_COMPARE = 2


@dataclass
class Side:
    """The tensors among the variables of a file at its end, and which of them kernels wrote."""

    tensors: dict[str, Bits] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    launches: int = 0
    has_failed: bool = False  # the last launch has, and the file with it


def compare_files(one: str, other: str) -> int:
    """Run both, each in a process of its own, and compare what kernels have written to variables of
    the same name."""
    files = (one, other)
    sides = [_run(file) for file in files]
    names = [n for n in sides[0].tensors if any(n in side.written for side in sides)]
    common = [name for name in names if name in sides[1].tensors]
    for file, side, peer in zip(files, sides, reversed(sides), strict=True):
        alone = sorted(side.written - set(peer.tensors))
        if alone:
            print(f"only in {file}: {', '.join(alone)}", file=sys.stderr)
    if not common:
        print(
            "there is nothing to compare: kernels wrote no variable of the same name in both "
            f"files ({_listed(sides[0])} in {one}, {_listed(sides[1])} in {other}). Variables of "
            "functions are not seen: give results a name at the top level",
            file=sys.stderr,
        )
        return NOTHING_TO_COMPARE
    inputs = {
        name for name, bits in sides[0].tensors.items()
        if name not in common and name in sides[1].tensors
        and not bits.equals(sides[1].tensors[name])
    }  # fmt: skip
    if inputs:
        print(
            f"the inputs differ: {', '.join(sorted(inputs))} (both files begin with the same "
            "seeds: do they draw in the same order?)",
            file=sys.stderr,
        )
    first, second = ({name: side.tensors[name] for name in common} for side in sides)
    comparison = compared(first, second, files)
    print(comparison)
    return 0 if comparison else DIFFERENT


def _listed(side: Side) -> str:
    return ", ".join(sorted(side.written)) or "none"


def _run(file: str) -> Side:
    if not os.path.isfile(file):
        raise no_file(file)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        code = "from blockscope.cli.same import child; sys.exit(child(*sys.argv[1:]))"
        environment = {**os.environ, "TRITON_INSTRUMENTATION_MODE": "fpsan"}
        done = subprocess.run([*python_words(code), file, path], env=environment)
        if not os.path.exists(path):
            raise UsageError(f"{file} ended the process, with status {done.returncode}")
        with open(path, "rb") as stream:
            side: Side = pickle.load(stream)  # our own child wrote it
    if side.launches == 0:
        raise UsageError(f"{file} launched no kernel")
    if side.has_failed:
        raise UsageError(f"a launch of {file} failed, so there is nothing to compare")
    return side


def child(file: str, path: str) -> int:
    """Run a file, and leave what is to be compared in ``path``."""
    from blockscope.drop_in import install_as_triton

    install_as_triton()
    _seed()
    side, storages = Side(), set[int]()
    with _watched(side, storages):
        # A failed comparison is no news, and may print whole tensors of numbers that mean nothing.
        status = Script([file]).run(silent=(AssertionError,))
    for name, value in vars(sys.modules["__main__"]).items():
        bits = None if name.startswith("_") else Bits.of(value)
        if bits is not None:
            side.tensors[name] = bits
            if _storage(value) in storages:
                side.written.add(name)
    side.has_failed &= status != 0
    if status and not side.has_failed:
        print(
            f"{file} ended with status {status}; its tensors are compared as they were then. (In "
            "the algebra results are no numbers: a comparison with torch in the file fails.)",
            file=sys.stderr,
        )
    with open(path, "wb") as stream:
        pickle.dump(side, stream)
    return 0


@contextmanager
def _watched(side: Side, storages: set[int]) -> Iterator[None]:
    """Inside, launches are counted, and the storages that they change are noted."""

    def watching(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if warmup:
            return run(fn, grid, args, kwargs, warmup=True)
        side.launches += 1
        side.has_failed = False
        tensors = [v for v in (*args, *kwargs.values()) if _storage(v)]
        before = [Bits.of(tensor) for tensor in tensors]
        try:
            return run(fn, grid, args, kwargs)
        except BaseException:
            side.has_failed = True
            raise
        finally:
            for tensor, bits in zip(tensors, before, strict=True):
                now = Bits.of(tensor)
                if bits is not None and now is not None and not now.equals(bits):
                    storages.add(_storage(tensor))

    with hooks.intercepted(watching):
        yield


def _storage(value: Any) -> int:
    """Where the memory of a tensor begins; 0 for what is none."""
    if hasattr(value, "untyped_storage"):
        return int(value.untyped_storage().data_ptr())
    if hasattr(value, "__array_interface__") and hasattr(value, "nbytes"):
        while getattr(value, "base", None) is not None:
            value = value.base
        return int(value.__array_interface__["data"][0])
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
