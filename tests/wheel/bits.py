"""What kernels compute on this machine, a line with a hash for each: ``bits.py`` on two machines
must say the same. For machines with other processors than the one that tests run on.

Lines are of rows of tests/python/op_cases (their own inputs, and random bits where each element
of the result has one of each operand), of random kernels (tests/fuzz), and of the PTX of some rows.
NaNs count as one: docs/numerics.md leaves their bits open. Two hashes are of what went in and of
what came out.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

os.environ.setdefault("BLOCKSCOPE_CACHE", "0")
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "python"), str(TESTS / "fuzz")]

import gpu_rows  # noqa: E402
import numpy as np  # noqa: E402
import test_ops  # noqa: E402
from blockscope.errors import CompilationError  # noqa: E402
from op_cases import CASES, OpCase, numpy_dtype  # noqa: E402
from random_kernels import grow, modes  # noqa: E402

WIDE = 8192


def digest(arrays: Iterable[np.ndarray]) -> str:
    result = hashlib.sha256()
    for array in arrays:
        bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}").copy()
        if array.dtype.kind not in "biu":
            with np.errstate(all="ignore"):
                bits[np.isnan(array.astype(np.float64)).reshape(-1)] = 1
        result.update(bits.tobytes())
    return result.hexdigest()[:12]


def random_bits(dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    if dtype == np.bool_:
        return random.integers(0, 2, WIDE).astype(dtype)
    return random.integers(0, 256, WIDE * dtype.itemsize, np.uint8).view(dtype)


def row(case: OpCase, dtype: str) -> Iterator[str]:
    random = np.random.default_rng(zlib.crc32(f"{case.name} {dtype}".encode()))
    inputs = [block.make(dtype, random) for block in case.inputs]
    like = case.reference(*inputs)
    like = [np.asarray(each) for each in (like if isinstance(like, tuple) else (like,))]
    yield f"{case.name} {dtype} {digest(inputs)} {digest(test_ops.run(case, inputs, like))}"
    shapes = {array.shape for array in (*inputs, *like)}
    if shapes != {(128,)} or any(block.low is not None for block in case.inputs):
        return
    inputs = [random_bits(numpy_dtype(block.dtype or dtype), random) for block in case.inputs]
    like = [np.zeros(WIDE, array.dtype) for array in like]
    try:
        found = test_ops.run(case, inputs, like)
    except CompilationError:  # it has a block of constants, or of a number, of its own
        return
    yield f"{case.name} {dtype} bits {digest(inputs)} {digest(found)}"


def ptx(case: OpCase, dtype: str) -> str:
    text = gpu_rows.warm_up(case, dtype, arch="sm_90a").asm["ptx"]
    text = re.sub(r"\.file.*", "", text)  # names folders of this machine
    return f"{case.name} {dtype} ptx {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def random_kernel(seed: int) -> str:
    kernel = grow.kernel(seed)
    try:
        found = modes.whole(2)(kernel, modes.loaded(kernel))
    except Exception as error:  # as in NumPy: a kernel may divide by zero
        return f"kernel {seed} {type(error).__name__}"
    return f"kernel {seed} {digest(modes.memory(kernel).values())} {digest(found.values())}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="of so many rows one")
    parser.add_argument("--kernels", type=int, default=100, help="how many random kernels")
    parser.add_argument("--ptx-every", type=int, default=25, help="of so many rows the PTX of one")
    options = parser.parse_args()
    rows = [(case, dtype) for case in CASES for dtype in case.dtypes]
    for case, dtype in rows[:: options.every]:
        for line in row(case, dtype):
            print(line, flush=True)
    for case, dtype in rows[:: options.ptx_every]:
        print(ptx(case, dtype), flush=True)
    for seed in range(options.kernels):
        print(random_kernel(seed), flush=True)


if __name__ == "__main__":
    main()
