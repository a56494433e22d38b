"""Dots."""

import os
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.errors import NotYetSupported
from blockscope.language.core import builtin, float32, unwrap
from blockscope.language.target_info import gpu_target


def default_input_precision(on_gpu: bool) -> str:
    """How float32 operands of dot are taken when the kernel does not say: TRITON_F32_DEFAULT, else
    "tf32" on a GPU, as in Triton, and "ieee" on the CPU."""
    return os.environ.get("TRITON_F32_DEFAULT", "") or ("tf32" if on_gpu else "ieee")


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
            precision = "tf32" if allow_tf32 else "ieee"
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
def dot_scaled(*args: Any, **kwargs: Any) -> Any:
    """The product of block-scaled operands; not supported yet."""
    raise NotYetSupported("tl.dot_scaled is not supported yet")


__all__ = ["dot", "dot_scaled"]
