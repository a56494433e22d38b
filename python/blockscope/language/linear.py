"""Dots."""

from typing import Any

from blockscope import knobs
from blockscope._core import semantic as _semantic
from blockscope.language.constexpr_value import tensor
from blockscope.language.core import builtin, float32, unwrap
from blockscope.language.target_info import gpu_target


def default_input_precision(on_gpu: bool) -> str:
    """How float32 operands of dot are taken when the kernel does not say: TRITON_F32_DEFAULT, else
    "tf32" on a GPU, as in Triton, and "ieee" on the CPU."""
    return knobs.language.fp32_default or ("tf32" if on_gpu else "ieee")


@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = float32,
    trans_a: Any = False,
    trans_b: Any = False,
) -> Any:
    """``acc + input @ other`` over the last two dimensions; leading ones are batches.

    Both have one dtype (two kinds of fp8 may mix): int8 gives int32, fp64 fp64, the others fp32, or
    fp16 for fp16 and fp8 operands when ``out_dtype`` says so. ``input_precision`` of float32
    operands: "ieee" (default on the CPU), "tf32" (default on a GPU), "tf32x3", "bf16x3", "bf16x6";
    ``allow_tf32`` is its old spelling. ``max_num_imprecise_acc`` of fp8 operands: wgmma of sm_90
    cuts off its accumulators; one adds up at most so many elements of K (and at least 32) before it
    is added in fp32. Without it there is no limit, as in Triton. ``trans_a`` and ``trans_b``
    transpose an operand first.
    """
    precision = unwrap(input_precision)
    allow_tf32 = unwrap(allow_tf32)
    if precision is None:
        if allow_tf32 is None:
            precision = default_input_precision(on_gpu=gpu_target() is not None)
        else:
            # A constant that a variable of the kernel holds is a tensor: true, as in Triton.
            precision = "tf32" if isinstance(allow_tf32, tensor) or allow_tf32 else "ieee"
    elif allow_tf32 is not None:
        raise ValueError("tl.dot: give input_precision or allow_tf32, not both")
    if unwrap(trans_a):
        input = _semantic.trans(input)
    if unwrap(trans_b):
        other = _semantic.trans(other)
    out = unwrap(out_dtype)
    return _semantic.dot(
        input,
        other,
        acc,
        str(precision).lower(),
        max_num_imprecise_acc,
        float32 if out is None else out,
    )


@builtin
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = float32,
) -> Any:
    """``acc + (lhs * lhs_scale) @ (rhs * rhs_scale)`` of operands in microscaling formats.

    Formats: "e2m1" (two in each byte of a uint8 block, the low half first, along K or, with
    ``lhs_k_pack=False`` or ``rhs_k_pack=False``, along M or N), "e4m3", "e5m2" (fp8 or their
    bytes), "bf16", "fp16". A scale is for 16 or 32 elements along K: ``lhs_scale`` is [M, K / 32],
    ``rhs_scale`` [N, K / 32], in uint8 (2^(byte - 127), 255 is NaN) or fp8e4nv; None: 1. Both
    operands are multiplied by their scales in bf16, or in fp16 when one of them is, as Triton does
    without block-scaled instructions; the sum is in fp32. ``fast_math`` takes 255 as infinity.
    GPUs with such instructions take e2m1, e4m3 and e5m2 with their scales (docs/numerics.md).
    """
    return _semantic.dot_scaled(
        lhs,
        lhs_scale,
        lhs_format,
        rhs,
        rhs_scale,
        rhs_format,
        acc,
        fast_math,
        lhs_k_pack,
        rhs_k_pack,
        out_dtype,
    )


__all__ = ["dot", "dot_scaled"]
