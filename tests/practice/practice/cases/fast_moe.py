"""fast_moe: rows that are chosen, transposed, quantised and added up for a mixture of experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from practice import torch_math as tm
from practice.case import Repository


def _autotune(**arguments: Any) -> Callable[..., Any]:
    """The repository's has a cache on disk as well."""
    import triton

    return triton.autotune(**arguments)


repository = Repository(
    "meta-recsys/fast_moe",
    "b63e8da3d084dae666e5bf28bd772172a7e1a6e2",
    stand_ins={
        "fast_moe.kernels.triton.utils": {
            "triton_autotune": _autotune,
            "switch_to_contiguous_if_needed": torch.Tensor.contiguous,
            "get_bmm_configs": list,
            "get_bmm_split_k_configs": list,
            "_get_rowwise_quant_fp8_configs": list,
            "fast_sigmoid": None,
        },
        "fast_moe.kernels.triton.grouped_gemm": {},
        "fast_moe.kernels.triton.triton_general_ops": {},
    },
)
BF16 = torch.bfloat16


@repository.case("kernels/triton/triton_general_ops.py", "_kernel_index_transpose", small=dict(rows=50, n=70, m=90), production=dict(rows=16384, n=2048, m=32768), rtol=0, atol=0)  # fmt: skip
def chosen_and_transposed(file, device, rows, n, m):
    x = tm.normal(rows, n, device=device, dtype=BF16)
    index = tm.integers(0, rows, m, device=device)
    return lambda: file.triton_index_transpose(x, index), lambda: x[index].T


@repository.case("kernels/triton/triton_general_ops.py", "_kernel_jagged_reduce_sum", small=dict(groups=5, most=60, n=70), production=dict(groups=64, most=4096, n=2048), rtol=1e-4, atol=1e-3)  # fmt: skip
def sums_of_groups(file, device, groups, most, n):
    lengths = tm.lengths(groups, most)
    lengths[1] = 0
    offsets = tm.starts(lengths, device)
    x = tm.normal(sum(lengths), n, device=device)

    def want():
        return torch.stack([part.double().sum(0) for part in x.split(lengths)])

    return lambda: file.triton_jagged_reduce_sum(x, offsets, most), want


@repository.case("kernels/triton/triton_quant_fp8.py", "_kernel_quantize_fp8_row, calculate_scale", small=dict(b=2, n=1100, m=20), production=dict(b=8, n=4096, m=4096), rtol=0, atol=0, share=1e-3)  # fmt: skip
def columns_in_8_bits(file, device, b, n, m):
    """The scales are powers of two, so they change no value but by rounding it."""
    x = tm.normal(b, n, m, device=device, dtype=BF16)

    def want():
        turned = x.double().transpose(1, 2)
        scale = torch.exp2(torch.floor(torch.log2(448 / turned.abs().amax(-1))))
        return (turned * scale[..., None]).float().to(tm.FP8), scale

    return lambda: file.triton_transpose_rowwise_quant_fp8(x), want


@repository.case("kernels/triton/triton_moe.py", "_mul_merge_k_add_fwd, _mul_merge_k_add_bwd", small=dict(n=50, k=2, d=100), production=dict(n=8192, k=4, d=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def merged(file, device, n, k, d):
    """Row ``i`` of the result adds ``k`` rows of ``x``, each times the weight it was given for."""
    x = tm.normal(n * k, d, device=device)
    weight = torch.rand(n, k).to(device)
    upstream = tm.normal(n, d, device=device)
    index = torch.randperm(n * k).to(device)  # row j of x came from place index[j]
    reverse = index.argsort().view(n, k)

    def merged(x, weight):
        return file.triton_mul_merge_k_add(index, reverse, x, k, weight, index)

    def want(x, weight):
        return (x[reverse] * weight[..., None]).sum(1)

    return (
        lambda: tm.with_gradients(merged, upstream, x, weight),
        lambda: tm.with_gradients(want, upstream, x, weight, exact=True),
    )
