"""Every row of op_cases: both CPU modes give the same bits, and those of NumPy."""

from __future__ import annotations

import inspect
import types
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
from blockscope import knobs
from op_cases import CASES, OpCase, numpy_dtype
from op_cases.case import X
from op_cases.kernels import KERNELS

_ROWS = [(case, dtype) for case in CASES for dtype in case.dtypes]


def run(case: OpCase, inputs: list[np.ndarray], like: list[np.ndarray]) -> list[np.ndarray]:
    outs = [np.zeros(max(1, a.size), a.dtype) for a in like]
    while len(outs) < 2:
        outs.append(np.zeros(1, np.int32))
    flat = [np.ascontiguousarray(a).reshape(-1) for a in inputs]
    shapes = tuple(a.shape for a in inputs)
    KERNELS[len(inputs)][(1,)](*flat, *outs, CALL=case.call, SHAPES=shapes)
    return [out[: max(1, a.size)].reshape(a.shape) for out, a in zip(outs, like)]


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def check(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
        return
    wide = np.float64
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=rtol, atol=rtol)


def test_there_are_rows() -> None:
    assert len(_ROWS) > 400


@pytest.mark.parametrize(("case", "dtype"), _ROWS, ids=[f"{c.name}-{d}" for c, d in _ROWS])
def test_op(case: OpCase, dtype: str) -> None:
    random = np.random.default_rng(zlib.crc32(f"{case.name} {dtype}".encode()))
    inputs = [block.make(dtype, random) for block in case.inputs]
    expected = case.reference(*inputs)
    expected = [np.asarray(e) for e in (expected if isinstance(expected, tuple) else (expected,))]
    whole = run(case, inputs, expected)
    for found, wanted in zip(whole, expected):
        check(found, wanted, case.rtol)
    blockscope.set_interpret_mode(True)
    try:
        stepped = run(case, inputs, expected)
    finally:
        blockscope.set_interpret_mode(False)
    for one, other in zip(whole, stepped):
        np.testing.assert_array_equal(bits(one), bits(other))


@pytest.mark.parametrize("step", [False, True])
def test_a_result_of_another_dtype_fails(step: bool) -> None:
    """Outputs have the dtypes of the reference, and stores cast: rows assert the result's."""
    case = OpCase("widens", lambda x: x.to(tl.float32), [X], lambda x: x, ("fp16",))
    x = X.make("fp16", np.random.default_rng(0))
    with knobs.runtime.scope(), pytest.raises(Exception, match="is fp32, expected fp16"):
        blockscope.set_interpret_mode(step)
        run(case, [x], [x])


#: Functions that are no operations on blocks, and the files that test them.
ELSEWHERE = {
    "test_language.py": "condition device_assert device_print static_assert static_print to_tensor",
    "test_host_kernels.py": "num_programs arange",
    "test_aggregates.py": "aggregate_replace",
    "test_inline_asm.py": "inline_asm_elementwise",
    "test_memory_ops.py": """advance atomic_add atomic_and atomic_cas atomic_load atomic_max
        atomic_min atomic_or atomic_poll atomic_store atomic_xchg atomic_xor load
        load_tensor_descriptor make_block_ptr make_tensor_descriptor store
        store_tensor_descriptor""",
}


def _names_in(function: Any, seen: set[types.CodeType]) -> Iterator[str]:
    """The names that a row's function uses, in the functions of op_cases that it calls too."""
    function = inspect.unwrap(function) if callable(function) else function
    if not isinstance(function, types.FunctionType):
        return
    yield function.__name__
    if function.__code__ in seen or not function.__module__.startswith("op_cases"):
        return
    seen.add(function.__code__)
    for name in function.__code__.co_names:
        yield name
        yield from _names_in(function.__globals__.get(name), seen)
    for cell in function.__closure__ or ():
        yield from _names_in(cell.cell_contents, seen)


def test_every_function_of_the_language_has_a_row() -> None:
    public = {
        name
        for name, value in vars(tl).items()
        if getattr(value, "__blockscope_builtin__", False)
        and not isinstance(value, type)
        and not (name.startswith("_") or value.__doc__ == "Not supported yet.")
    }
    assert len(public) > 90
    with_row = {name for case in CASES for name in _names_in(case.call, set())}
    for file, names in ELSEWHERE.items():
        text = Path(__file__).with_name(file).read_text()
        for name in names.split():
            assert f"tl.{name}" in text, f"{file} does not use tl.{name}"
            with_row.add(name)
    assert sorted(public - with_row) == []


def test_dtype_names_agree() -> None:
    for name in {d for case in CASES for d in case.dtypes}:
        assert tl.dtype(name).itemsize == numpy_dtype(name).itemsize
