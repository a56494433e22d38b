"""torchao: fp8, mxfp8 and int8 quantisation and GEMM, for training and inference."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "pytorch/ao",
    "36027d82d1ad9949597ea16002ff4940374b1b94",
    packages={"torchao": "."},
)
PROTOTYPE = "torchao/prototype/"
TRAINING = PROTOTYPE + "blockwise_fp8_training/kernels.py"
FP8_ERROR = dict(rtol=0.07, atol=2e-3)
BF16 = torch.bfloat16


@repository.case(PROTOTYPE + "blockwise_fp8_inference/kernels.py", "_fp8_blockwise_act_quant_kernel_impl", small=dict(m=9, n=512), production=dict(m=8192, n=8192), **FP8_ERROR)  # fmt: skip
def activation_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    return lambda: tm.dequantised_blocks(*file.fp8_blockwise_act_quant(x), 128), lambda: x


@repository.case(PROTOTYPE + "quantized_training/int8_mm.py", "_scaled_int8_mm_kernel", small=dict(m=70, n=96, k=150), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def scaled_int8_mm(file, device, m, n, k):
    a, b = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (k, n)))
    s, t = torch.rand(m).to(device) / 100, torch.rand(n).to(device) / 100

    def run():
        return file.scaled_int8_mm_cuda(a, b, s, t)

    return run, lambda: a.double() @ b.double() * s.double()[:, None] * t.double()


ACT = dict(small=dict(m=256, n=384), production=dict(m=8192, n=8192))


@repository.case(TRAINING, "triton_fp8_blockwise_act_quant_lhs_kernel", **ACT, **FP8_ERROR)
def left_rows(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        data, reciprocal = file.triton_fp8_blockwise_act_quant_lhs(x)
        return tm.dequantised_blocks(data, reciprocal, 128)

    return run, lambda: x


@repository.case(TRAINING, "triton_fp8_blockwise_act_quant_rhs_kernel", **ACT, **FP8_ERROR)
def right_columns(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        data, reciprocal = file.triton_fp8_blockwise_act_quant_rhs(x)
        return tm.dequantised_blocks(data, reciprocal, 128, 1)

    return run, lambda: x


@repository.case(
    TRAINING, "triton_fp8_blockwise_act_quant_transposed_lhs_kernel", **ACT, **FP8_ERROR
)
def left_transposed(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        data, reciprocal = file.triton_fp8_blockwise_act_quant_transposed_lhs(x)
        return tm.dequantised_blocks(data, reciprocal, 128)

    return run, lambda: x.T


@repository.case(TRAINING, "triton_fp8_blockwise_weight_quant_rhs_kernel", **ACT, **FP8_ERROR)
def weight_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        data, reciprocal = file.triton_fp8_blockwise_weight_quant_rhs(x)
        return tm.dequantised_blocks(data, reciprocal, 128, 128)

    return run, lambda: x


@repository.case(TRAINING, "triton_fp8_gemm_1x128_128x128_kernel", small=dict(m=256, n=256, k=384), production=dict(m=4096, n=4096, k=7168), rtol=1e-3, atol=1e-2)  # fmt: skip
def gemm_blocks(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    s, t = torch.rand(m, k // 128).to(device), torch.rand(n // 128, k // 128).to(device)

    def want():
        return tm.dequantised_blocks(a, s, 128) @ tm.dequantised_blocks(b, t, 128, 128).T

    return lambda: file.triton_fp8_gemm_1x128_128x128(a, b.T, s.T.contiguous().T, t.T), want


@repository.case(PROTOTYPE + "mx_formats/kernels.py", "_dequant_mxfp8_kernel, _e8m0_to_fp32", small=dict(m=128, n=256), production=dict(m=8192, n=8192), rtol=1e-2)  # fmt: skip
def mxfp8_back(file, device, m, n):
    x = tm.fp8(m, n, device=device)
    scales = tm.integers(120, 134, m, n // 32, device=device, dtype=torch.uint8)
    return (
        lambda: file.triton_mxfp8_dequant_dim0(x, scales, BF16, 32),
        lambda: tm.dequantised_blocks(x, torch.exp2(scales.double() - 127), 32),
    )


@repository.case(PROTOTYPE + "moe_training/ep/kernels.py", "_fill_indices_kernel", small=dict(ranks=2, experts=4), production=dict(ranks=8, experts=16), rtol=0, atol=0)  # fmt: skip
def permute_indices(file, device, ranks, experts):
    """Compared with the same function in Python."""
    counts = tm.integers(0, 40, ranks * experts, device=device, dtype=torch.int32)
    size = int(counts.sum()) + experts * 16

    def run():
        return file.generate_permute_indices(counts, experts, ranks, size, 16)

    def want():
        return [
            x.to(torch.int64)
            for x in file.generate_permute_indices(
                counts.cpu(), experts, ranks, size, 16, use_cpu=True
            )
        ]

    return run, want


# Its output has both strides 1, so elements fall on one another. (Whole blocks of rows only: the
# store of the scales compares the row inside of its block.)
JAGGED = dict(small=dict(g=3, m=64, n=256), production=dict(g=16, m=2048, n=5120))


@repository.case(PROTOTYPE + "moe_training/kernels/jagged_float8_scales.py", "_triton_fp8_per_group_rowwise_scales_kernel", **JAGGED, share=1, finds="duplicate-store,race-same-value,race-write-write")  # fmt: skip
def scales_of_groups(file, device, g, m, n):
    lengths = [m // 2 + 16 * (i % 3) for i in range(g)]
    x = tm.normal(n, sum(lengths), device=device, dtype=BF16)
    ends = torch.tensor(lengths, device=device).cumsum(0).to(torch.int32)

    def run():
        data, scales = file.triton_fp8_per_group_rowwise_scales(x, ends)
        parts = zip(data.float().split(lengths, 1), scales.view(g, n), strict=True)
        return torch.cat([part / scale[:, None] for part, scale in parts], 1)

    return run, lambda: x
