"""What the language says about wrong operands: the same text in both CPU modes."""

# ruff: noqa: E501
from __future__ import annotations

import re
import warnings
from typing import Any

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
from blockscope.language import names_elsewhere
from blockscope.language.core import builtin


@blockscope.jit
def kernel(x, y, s, CALL: tl.constexpr):
    i = tl.arange(0, 128)
    CALL(x, y, s, i)


def f16(*shape: int) -> Any:
    return tl.zeros(shape, tl.float16)


def bytes_of(*shape: int) -> Any:
    return tl.zeros(shape, tl.uint8)


def scaled(m: int, k: int, **changed: Any) -> Any:
    """tl.dot_scaled of [m, k] and [k, m] in e5m2, right but for what is changed."""
    arguments = {
        "lhs": bytes_of(m, k), "lhs_scale": bytes_of(m, k // 32), "lhs_format": "e5m2",
        "rhs": bytes_of(k, m), "rhs_scale": bytes_of(m, k // 32), "rhs_format": "e5m2",
    }  # fmt: skip
    return tl.dot_scaled(**(arguments | changed))


# name, call with (x: pointer, y: pointer, s: scalar int32, i: arange), text
ROWS = [
    ("length", lambda x, y, s, i: tl.arange(0, 100),
     "tl.arange: arange's range must be a power of 2; end - start is 100"),
    (
        "length_at_run_time",
        lambda x, y, s, i: tl.arange(0, s),
        "tl.arange: end is a tensor of int32, expected a constant integer (an int, or a name "
        "annotated tl.constexpr)",
    ),
    (
        "shape_at_run_time",
        lambda x, y, s, i: tl.zeros((s,), tl.int32),
        "tl.zeros: a size is a tensor of int32, expected a constant integer (an int, or a name "
        "annotated tl.constexpr)",
    ),
    ("max_of_two", lambda x, y, s, i: tl.max(i, s),
     "tl.max: axis is a tensor of int32, expected a constant integer; of two values tl.maximum is the maximum"),
    ("min_of_two", lambda x, y, s, i: tl.min(i, 0.0),
     "tl.min: axis is 0.0, expected a constant integer; of two values tl.minimum is the minimum"),
    ("sigmoid_of_integers", lambda x, y, s, i: tl.sigmoid(i),
     "tl.sigmoid: x is int32[128], expected fp32 or fp64"),
    ("softmax_of_integers", lambda x, y, s, i: tl.softmax(i),
     "tl.softmax: x is int32[128], expected fp32 or fp64"),
    ("tensor_of_a_number", lambda x, y, s, i: tl.tensor(0),
     "tl.tensor makes no values; write the number itself, or tl.full for a block"),
    (
        "static_range_at_run_time",
        lambda x, y, s, i: tl.static_range(s),
        "tl.static_range: end is a tensor of int32, expected a constant integer (an int, or a name "
        "annotated tl.constexpr)",
    ),
    (
        "stages_at_run_time",
        lambda x, y, s, i: tl.range(4, num_stages=s),
        "tl.range: num_stages is a tensor of int32, expected a constant integer",
    ),
    (
        "unroll_factor",
        lambda x, y, s, i: tl.range(4, loop_unroll_factor=-1),
        "tl.range: loop_unroll_factor is -1, expected 0 to 64",
    ),
    (
        "static_assert_at_run_time",
        lambda x, y, s, i: tl.static_assert(s == 5),
        "tl.static_assert: cond is known only at run time",
    ),
    (
        "descriptor_store",
        lambda x, y, s, i: tl.make_tensor_descriptor(x, [32, 32], [32, 1], [32, 32]).store([0, 0], f16(32, 16)),
        "descriptor.store: the value has shape [32, 16], expected the descriptor's block [32, 32]",
    ),
    ("order", lambda x, y, s, i: tl.arange(8, 0), "tl.arange: arange's end argument must be greater than the start argument; end is 0, start 8"),
    ("shape", lambda x, y, s, i: tl.zeros((3, 4), tl.float32),
     "tl.zeros: Shape element 0 must be a power of 2; the shape is [3, 4]"),
    ("too_large", lambda x, y, s, i: tl.zeros((2048, 1024), tl.float32),
     "shape [2048, 1024] has more than 1048576 elements"),
    ("int_mask", lambda x, y, s, i: tl.load(x + i, mask=i),
     "tl.load: mask is int32[128], expected int1 (a condition such as offsets < n)"),
    ("store_int_mask", lambda x, y, s, i: tl.store(x + i, 0.0, mask=i),
     "tl.store: mask is int32[128], expected int1"),
    ("other_without_mask", lambda x, y, s, i: tl.load(x + i, other=0.0),
     "tl.load: other is given without mask"),
    ("load_of_number", lambda x, y, s, i: tl.load(i),
     "tl.load: pointer is int32[128], expected a pointer or a block of pointers"),
    ("mask_of_scalar", lambda x, y, s, i: tl.load(x, mask=i < 3),
     "tl.load: mask is a block int1[128], but pointer is a scalar"),
    ("fdiv_both", lambda x, y, s, i: tl.fdiv(1.0 * s, 2.0, ieee_rounding=True, approx=True),
     "tl.fdiv: approx and ieee_rounding cannot both be True"),
    ("fdiv_approx_fp64", lambda x, y, s, i: tl.fdiv(tl.zeros([8], tl.float64), 2.0, approx=True),
     "tl.fdiv: approx division requires float32 operands; the quotient is fp64"),
    ("mask_shape", lambda x, y, s, i: tl.load(x + i, mask=tl.arange(0, 64) < 3),
     "tl.load: mask is int1[64], which does not fit the shape [128] of pointer"),
    ("value_of_scalar", lambda x, y, s, i: tl.store(x, i.to(tl.float32)),
     "tl.store: value is a block fp32[128], but pointer is a scalar"),
    ("cache_modifier", lambda x, y, s, i: tl.load(x + i, cache_modifier=".xx"),
     "tl.load: cache_modifier is '.xx', expected one of '', '.ca', '.cg', '.cs', '.cv'"),
    ("boundary_check", lambda x, y, s, i: tl.load(x + i, boundary_check=(0,)),
     "tl.load: boundary_check and padding_option are for block pointers"),
    ("shapes", lambda x, y, s, i: i + tl.arange(0, 64),
     "operator +: shapes [128] and [64] do not match: dimension 0 is 128 and 64"),
    ("two_pointers", lambda x, y, s, i: x + y, "operator +: cannot add two pointers"),
    ("pointer_and_float", lambda x, y, s, i: x + 1.5,
     "operator +: invalid operands of type pointer<fp32> and fp32"),
    ("pointer_times", lambda x, y, s, i: x * 2,
     "operator *: invalid operands of type pointer<fp32> and int32; a tensor that a kernel is given "
     "is a pointer: tl.load reads what is there"),
    ("float_and", lambda x, y, s, i: i.to(tl.float32) & i,
     "operator &: invalid operands of type fp32[128] and int32[128], expected integers"),
    ("float_floordiv", lambda x, y, s, i: i.to(tl.float32) // 2,
     "operator //: operands are fp32[128], expected integers"),
    ("mixed_signs", lambda x, y, s, i: i // i.to(tl.uint32),
     "operator //: Cannot use // with int32 and uint32 because they have different signedness"),
    ("negative_number", lambda x, y, s, i: i.to(tl.uint32) + (-1),
     "operator +: negative number -1 with a tensor of uint32"),
    ("number_range", lambda x, y, s, i: i.to(tl.int8) + 1000,
     "operator +: number 1000 is out of range for int8"),
    ("huge_number", lambda x, y, s, i: i + 2**70, "integer 1180591620717411303424 does not fit 64 bits"),
    ("exp_of_int", lambda x, y, s, i: tl.exp(i), "tl.exp: x is int32[128], expected fp32 or fp64"),
    ("exp_of_half", lambda x, y, s, i: tl.exp(i.to(tl.float16)),
     "tl.exp: x is fp16[128], expected fp32 or fp64"),
    ("axes", lambda x, y, s, i: tl.expand_dims(i, (0, -3)),
     "tl.expand_dims: duplicate axes, normalized axes = [0, 0]"),
    ("axes_range", lambda x, y, s, i: tl.expand_dims(i, (0, 3)),
     "tl.expand_dims: invalid axis 3. Expected -3 <= axis < 3"),
    ("dim", lambda x, y, s, i: tl.flip(i, 1), "tl.flip: invalid axis 1. Expected -1 <= axis < 1"),
    ("index", lambda x, y, s, i: i[0], "unsupported tensor index: 0; only None and : are supported"),
    ("slice", lambda x, y, s, i: i[1:3], "unsupported tensor index: slice(1, 3, None)"),
    ("indices", lambda x, y, s, i: i[:, :], "too many indices for int32[128]"),
    ("power", lambda x, y, s, i: i**2, "operator **: only for constexpr values"),
    ("matmul", lambda x, y, s, i: i @ i, "operator @: use tl.dot"),
    ("none", lambda x, y, s, i: i + None, "unsupported operand type(s) for +"),
    ("dot_dtypes", lambda x, y, s, i: tl.dot(f16(16, 16), tl.zeros((16, 16), tl.float32)),
     "tl.dot: Both operands must be same dtype. Got fp16 and fp32"),
    ("dot_shapes", lambda x, y, s, i: tl.dot(f16(16, 32), f16(16, 16)),
     "tl.dot: First input shape ([16, 32]) and second input shape ([16, 16]) are not compatible for matmul: K is 32 and 16"),
    ("dot_limit", lambda x, y, s, i: tl.dot(tl.zeros((16, 32), tl.float8e5), tl.zeros((32, 16), tl.float8e5), max_num_imprecise_acc=64),
     "tl.dot: max_num_imprecise_acc (64) must be <= K (32)"),
    ("dot_acc", lambda x, y, s, i: tl.dot(f16(16, 16), f16(16, 16), f16(16, 16)),
     "tl.dot: acc is fp16[16, 16], expected fp32[16, 16]"),
    ("dot_precision", lambda x, y, s, i: tl.dot(f16(16, 16), f16(16, 16), input_precision="x"),
     "tl.dot: input_precision is 'x', expected one of 'tf32'"),
    ("dot_scaled_rank", lambda x, y, s, i: tl.dot_scaled(i, None, "e2m1", i, None, "e2m1"),
     "tl.dot_scaled: Both inputs must be either 2D or 3D; (lhs: int32[128] vs rhs: int32[128])"),
    ("dot_scaled_format", lambda x, y, s, i: scaled(16, 32, lhs_format="e3m2"),
     "tl.dot_scaled: Invalid float format: e3m2. lhs_format is expected to be e2m1, e4m3"),
    ("dot_scaled_packed", lambda x, y, s, i: scaled(16, 32, lhs=f16(16, 32), lhs_format="e2m1"),
     "tl.dot_scaled: e2m1 format must be packed as uint8. Got fp16[16, 32] for lhs"),
    ("dot_scaled_dtype", lambda x, y, s, i: scaled(16, 32, lhs=f16(16, 32)),
     "tl.dot_scaled: Unexpected dtype for e5m2. Got fp16[16, 32] for lhs, expected fp8e5 or uint8"),
    ("dot_scaled_k_pack", lambda x, y, s, i: scaled(16, 32, rhs_k_pack=False),
     "tl.dot_scaled: only mxfp4 inputs can be packed along a dimension different than K; rhs is e5m2"),
    ("dot_scaled_k", lambda x, y, s, i: scaled(16, 64, lhs=bytes_of(16, 32)),
     "tl.dot_scaled: Reduction dimension should pack the same number of elements; (lhs: uint8[16, 32] vs rhs: uint8[64, 16])"),
    ("dot_scaled_factor", lambda x, y, s, i: scaled(16, 64, lhs_scale=bytes_of(16, 8)),
     "tl.dot_scaled: scale factor must be 16 or 32. Got 8 for lhs"),
    ("dot_scaled_factors", lambda x, y, s, i: scaled(16, 64, lhs_scale=bytes_of(16, 4)),
     "tl.dot_scaled: Operands must have the same scale factor; (lhs: 16 vs rhs: 32)"),
    ("dot_scaled_scale", lambda x, y, s, i: scaled(16, 64, rhs_scale=bytes_of(32, 2)),
     "tl.dot_scaled: rhs_scale must be a tensor of shape [16, 2]. Got [32, 2]"),
    ("dot_scaled_scale_dtype", lambda x, y, s, i: scaled(16, 64, rhs_scale=f16(16, 2)),
     "tl.dot_scaled: rhs_scale is fp16[16, 2], expected uint8 (powers of two) or fp8e4nv"),
    ("dot_scaled_acc", lambda x, y, s, i: scaled(16, 32, acc=f16(16, 16)),
     "tl.dot_scaled: acc is fp16[16, 16], expected elements of out_dtype, fp32"),
    ("dot_scaled_out", lambda x, y, s, i: scaled(16, 32, out_dtype=tl.float64),
     "tl.dot_scaled: out_dtype is fp64, expected fp32, fp16 or bf16"),
    ("reshape", lambda x, y, s, i: tl.reshape(i, (64,)),
     "tl.reshape: cannot reshape int32[128] with 128 elements to [64] with 64"),
    ("permute", lambda x, y, s, i: tl.permute(i[:, None], (0, 0)),
     "tl.permute: order [0, 0] is not a permutation of the 2 dimensions of int32[128, 1]"),
    ("axis", lambda x, y, s, i: tl.sum(i, 1), "tl.sum: invalid axis 1. Expected -1 <= axis < 1"),
    ("program_axis", lambda x, y, s, i: tl.program_id(3),
     "tl.program_id: program_id axis must be 0, 1, or 2 but got 3"),
    ("atomic_half_max", lambda x, y, s, i: tl.atomic_max((x + i).to(tl.pointer_type(tl.float16)), 1.0),
     "tl.atomic_max: elements are fp16, expected 32 or 64 bits"),
    ("atomic_sem", lambda x, y, s, i: tl.atomic_add(x + i, 1.0, sem="foo"),
     "tl.atomic_add: sem is 'foo', expected one of 'acq_rel'"),
    ("atomic_and_float", lambda x, y, s, i: tl.atomic_and(x + i, 1),
     "tl.atomic_and: elements are fp32, expected integers"),
    ("rounding", lambda x, y, s, i: tl.cast(i, tl.float32, fp_downcast_rounding="rtz"),
     "fp_downcast_rounding is only for conversions to a narrower float, got int32 to fp32"),
    ("bitcast", lambda x, y, s, i: i.to(tl.int8, bitcast=True),
     "cannot bitcast int32[128] of 32 bits to int8 of 8 bits"),
    ("static_assert", lambda x, y, s, i: tl.static_assert(False, "no way"), "no way"),
    ("asm_constraints", lambda x, y, s, i: tl.inline_asm_elementwise("", "", [i], tl.int32, True, 1),
     "tl.inline_asm_elementwise: constraints '' have 0 outputs and 0 inputs, expected 1 output and 1 input, a register for each element, or for 32 bits of narrower ones"),
    ("asm_pack_registers", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,r", [i], tl.int8, True, 4),
     "constraints '=r,r' have 1 output and 1 input, expected 1 output and 4 inputs"),
    ("asm_unknown_constraint", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,q", [i], tl.int32, True, 1),
     "constraint 'q' is not known, expected h, r, l, f, d, b, n or the number of a result"),
    ("asm_tied", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,1", [i], tl.int32, True, 1),
     "constraint '1' names a result that is not there"),
    ("asm_narrow_register", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,r", [x + i], tl.int32, True, 1),
     "constraint 'r' is a register of 32 bits, and argument 0 needs 64 ('l')"),
    ("asm_float_register", lambda x, y, s, i: tl.inline_asm_elementwise("", "=f,r", [i], tl.float16, True, 1),
     "constraint 'f' is a register of 32 bits, and result 0 needs 16"),
    ("asm_pack", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,r", [i], tl.int32, True, 3),
     "pack is 3, expected a power of two"),
    ("asm_pack_of_two", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,r", [tl.zeros([2], tl.int32)], tl.int32, True, 4),
     "number of input elements 2 must be a multiple of the op's packed_element attribute, 4"),
    ("asm_no_dtype", lambda x, y, s, i: tl.inline_asm_elementwise("", "r", [i], (), True, 1),
     "dtype is empty, expected at least one type"),
    ("asm_text", lambda x, y, s, i: tl.inline_asm_elementwise(7, "=r,r", [i], tl.int32, True, 1),
     "tl.inline_asm_elementwise: asm is 7, expected a string"),
    ("asm_args", lambda x, y, s, i: tl.inline_asm_elementwise("", "=r,r", 7, tl.int32, True, 1),
     "tl.inline_asm_elementwise: args is 7, expected a list"),
    ("float8", lambda x, y, s, i: tl.extra.cuda.convert_custom_float8_sm80(i, tl.float16),
     "tl.extra.cuda.convert_custom_float8_sm80: it converts int32 to fp16, expected float8e4b15 and float16 or float32"),
    ("map_elementwise", lambda x, y, s, i: tl.map_elementwise(None, i),
     "tl.map_elementwise: scalar_fn is NoneType, expected a @jit function"),
    ("map_pack", lambda x, y, s, i: tl.map_elementwise(tl.abs, i, pack=3),
     "tl.map_elementwise: pack is 3, expected a power of two of at most 128"),
    ("map_unpacked", lambda x, y, s, i: tl.map_elementwise(tl.maximum, i, pack=2),
     "tl.map_elementwise: the function returned 1 values, expected 2 for each result"),
    ("map_memory", lambda x, y, s, i: tl.map_elementwise(builtin(lambda e: tl.load(x) + e), i),
     "tl.load: the function of tl.map_elementwise may not access memory, print or assert"),
    ("map_print", lambda x, y, s, i: tl.map_elementwise(builtin(lambda e: tl.device_print("e", e)), i),
     "tl.device_print: the function of tl.map_elementwise may not access memory, print or assert"),
    ("map_scalars", lambda x, y, s, i: tl.map_elementwise(tl.abs, s, pack=2),
     "tl.map_elementwise: pack is 2, expected 1 for arguments without a block"),
    ("libdevice", lambda x, y, s, i: tl.extra.libdevice.sin(i),
     "libdevice.sin: arguments are (int32), expected (fp32) or (fp64)"),
    ("where_pointer", lambda x, y, s, i: tl.where(i < 3, x + i, i),
     "tl.where: cannot choose between pointer<fp32>[128] and int32[128]"),
    ("compare_pointer", lambda x, y, s, i: (x + i) == i,
     "operator ==: cannot compare pointer<fp32>[128] with int32[128]"),
    ("histogram", lambda x, y, s, i: tl.histogram(i.to(tl.float32), 16),
     "tl.histogram: x is fp32[128], expected integers in one dimension"),
    ("full_range", lambda x, y, s, i: tl.full((4,), 300, tl.int8),
     "tl.full: value 300 is out of range for int8"),
    ("gather", lambda x, y, s, i: tl.gather(i, i[:, None], 0),
     "tl.gather: src is int32[128] and index is int32[128, 1], expected blocks of one rank"),
    ("dtype", lambda x, y, s, i: i.to(3), "expected a dtype such as tl.float32, got 3"),
    ("print_prefix", lambda x, y, s, i: tl.device_print("\u00e9"),
     "has characters that are not printable ASCII"),
]  # fmt: skip


@pytest.mark.parametrize("stepping", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize(("call", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_text(call: Any, text: str, stepping: bool) -> None:
    x = np.zeros(128, np.float32)
    blockscope.set_interpret_mode(stepping)
    try:
        with pytest.raises(Exception) as caught:
            kernel[(1,)](x, x, 5, CALL=builtin(call))
    finally:
        blockscope.set_interpret_mode(False)
    assert text in str(caught.value)
    if not stepping:
        assert isinstance(caught.value, blockscope.CompilationError)
        assert f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda x, y, s, i: tl.arange(0, 100), "arange's range must be a power of 2"),
        (lambda x, y, s, i: tl.full((33,), 0, tl.int64), "Shape element 0 must be a power of 2"),
        (
            lambda x, y, s, i: scaled(16, 64, lhs_scale=bytes_of(16, 4)),
            "Operands must have the same scale factor; (lhs: 16 vs rhs: 32)",
        ),
    ],
)
def test_the_cause_is_the_sentence_alone(call: Any, sentence: str) -> None:
    x = np.zeros(128, np.float32)
    with pytest.raises(blockscope.CompilationError, match="tl.") as caught:
        kernel[(1,)](x, x, 5, CALL=builtin(call))
    assert str(caught.value.__cause__) == sentence


def test_errors_of_the_language_have_no_cause() -> None:
    call = builtin(lambda x, y, s, i: tl.static_assert(False, "no way"))
    x = np.zeros(128, np.float32)
    with pytest.raises(blockscope.errors.CompileTimeAssertionFailure) as caught:
        kernel[(1,)](x, x, 5, CALL=call)
    assert caught.value.__cause__ is None


def test_a_condition_that_is_no_bool_warns() -> None:
    x = np.zeros(128, np.float32)
    with pytest.warns(UserWarning, match="non-boolean condition is deprecated.* Got int32"):
        kernel[(1,)](x, x, 5, CALL=builtin(lambda x, y, s, i: tl.where(i, i, i)))


@blockscope.jit
def chosen(i):
    return tl.where(i, i, i + 1)


@blockscope.jit
def chooses_three_times(x, i):
    tl.store(x, chosen(chosen(chosen(i))))


def test_a_line_warns_once() -> None:
    x = np.zeros(1, np.int32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        chooses_three_times[(1,)](x, 5)
    assert ["non-boolean condition" in str(warning.message) for warning in caught] == [True]
    assert x[0] == 5


@blockscope.jit
def mismatched_if(x, n):
    if n > 3:
        y = 1
    else:
        y = 1.5
    tl.store(x, y)


@blockscope.jit
def mismatched_ternary(x, n):
    tl.store(x, 1 if n > 3 else 1.5)


@blockscope.jit
def one_or_other(n):
    if n > 3:
        return 1
    else:
        return 1.5


@blockscope.jit
def mismatched_return(x, n):
    tl.store(x, one_or_other(n))


class Pair:
    pass


@blockscope.jit
def zips(x, n):
    for p, v in zip((x, x), (1, 2)):  # noqa: B905
        tl.store(p, v)


@blockscope.jit
def adds_by_python(x, n):
    tl.store(x, sum((n, 1)))


@blockscope.jit
def sorts_by_python(x, n):
    tl.store(x, sorted((n, 1))[0])


@blockscope.jit
def makes_an_object(x, n):
    Pair()


@blockscope.jit(do_not_specialize=["N"])
def constant_not_specialized(x, N: tl.constexpr):
    tl.store(x, N)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (mismatched_if, "Mismatched type for y: int32 after the 'if' but fp32 after the else"),
        (mismatched_ternary, "Ternary expression with dynamic condition has inconsistent types "),
        (mismatched_return, "Return type mismatch: int32 on one path and fp32 on another"),
        (
            zips,
            "a call of the Python class 'zip' is not supported in a kernel; loop over tl.static_range(...)",
        ),
        (
            adds_by_python,
            "a call of the Python function 'sum' is not supported in a kernel; call it outside",
        ),
        (sorts_by_python, "'sorted' is not defined; kernels do not have this name of Python's"),
        (
            makes_an_object,
            "a call of the Python class 'Pair' is not supported in a kernel; decorate it with @aggregate",
        ),
        (constant_not_specialized, "N marked as constexpr and listed in do_not_specialize"),
    ],
)
def test_control_flow(kernel: Any, text: str) -> None:
    with pytest.raises(blockscope.CompilationError) as caught:
        kernel[(1,)](np.zeros(1, np.float32), 5)
    assert text in str(caught.value)


def test_outside_of_a_kernel() -> None:
    with pytest.raises(RuntimeError, match=r"tl.arange may be called only inside a @jit kernel"):
        tl.arange(0, 8)


@blockscope.jit
def branch_on_block(x):
    if tl.load(x + tl.arange(0, 8)) > 0:
        tl.store(x, 1.0)


@pytest.mark.parametrize("stepping", [False, True], ids=["whole", "step"])
def test_block_in_if(stepping: bool) -> None:
    blockscope.set_interpret_mode(stepping)
    try:
        with pytest.raises(Exception, match=r"shape \[8\]"):
            branch_on_block[(1,)](np.zeros(8, np.float32))
    finally:
        blockscope.set_interpret_mode(False)


@blockscope.jit
def deprecated(x):
    v = tl.view(tl.load(x + tl.arange(0, 8)), (2, 4))
    tl.store(x + tl.arange(0, 8), tl.where(tl.arange(0, 8), tl.reshape(v, (8,)), 0.0))


@pytest.mark.parametrize("stepping", [False, True])
def test_warnings_name_the_kernels_line(stepping):
    blockscope.set_interpret_mode(stepping)
    try:
        with pytest.warns(Warning) as told:
            deprecated[(1,)](np.zeros(8, np.float32))
    finally:
        blockscope.set_interpret_mode(False)
    first = deprecated.fn.__code__.co_firstlineno
    found = [(w.category, w.filename, w.lineno - first, str(w.message)[:8]) for w in told]
    assert found == [
        (DeprecationWarning, __file__, 2, "tl.view "),
        (UserWarning, __file__, 3, "tl.where"),
    ]


def test_what_is_proposed_for_names_of_other_libraries_is_there():
    proposals = " ".join(names_elsewhere._INSTEAD.values())
    proposed = re.findall(r"\btl\.(\w+)", proposals)
    assert len(proposed) > 10 and all(hasattr(tl, name) for name in proposed)
    for name in names_elsewhere._INSTEAD:  # some are functions, which blocks do not have
        assert not (hasattr(tl, name) and hasattr(tl.tensor, name))
