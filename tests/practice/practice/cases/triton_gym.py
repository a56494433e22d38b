"""triton-gym: exercises up to products of fp8 matrices with scales that are powers of two."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "lightb0x/triton-gym",
    "6a6a994a596d8b8438d78d456ad58466b15d4d9b",
    folders=("6_gemm_fp8",),
)
FP8 = torch.float8_e5m2


@repository.case("3_add/add_relu_fwd.py", "add_relu_kernel, binary_f32_mask", small=dict(n=5000), production=dict(n=1 << 24))  # fmt: skip
def add_relu(file, device, n):
    x = tm.normal(n, device=device)
    y = torch.where(torch.arange(n, device=device) % 7 == 0, -x, tm.normal(n, device=device))
    sums = x.double() + y.double()
    return lambda: file.add_relu_fwd_func(x, y), lambda: (sums.relu(), sums.sign() + 1)


@repository.case("3_add/add_bwd.py", "mask_kernel", small=dict(n=5000), production=dict(n=1 << 24))
def mask(file, device, n):
    x, seen = tm.normal(n, device=device), tm.integers(0, 3, n, device=device, dtype=torch.uint8)
    return lambda: file.mask_func(x, seen), lambda: x.double() * seen / 2


def _blocks(x, size):
    return x.unflatten(0, (-1, size[0])).unflatten(2, (-1, size[1]))


def _quantised(x, size):
    """Blocks to fp8, so that their greatest is below 2**10, and the scales."""
    most = _blocks(x.float(), size).abs().amax((1, 3))
    scale = (torch.frexp(most)[1] - 10).double().exp2()
    wide = scale.repeat_interleave(size[0], 0).repeat_interleave(size[1], 1)
    return (x.double() / wide).float().to(FP8), scale


@repository.case("4_quantize_fp8/quantize_fwd.py", "quantize_fp8_square_tile_kernel, fp32_maxexp", small=dict(m=64, n=96), production=dict(m=8192, n=4096))  # fmt: skip
def quantise_tiles(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return (
        lambda: file.quantize_fp8_square_tile_func(x, 32, 9),
        lambda: _quantised(x, (32, 32)),
    )


def _quantise(name, dtype, turned):
    @repository.case("6_gemm_fp8/quantize_fp8.py", "quantize_fp8_kernel, quantize_fp32_to_fp8_e8_func, quantize_bf16_to_fp8_e8_func", small=dict(m=128, n=192), production=dict(m=8192, n=4096), name=name)  # fmt: skip
    def build(file, device, m, n):
        x = tm.normal(m, n, device=device, dtype=dtype)

        def want():
            y = x.T if turned else x
            return *_quantised(y, (64, 1)), *_quantised(y, (1, 64))

        return lambda: file.quantize_fp8(x, 9, out_trans=turned), want


_quantise("quantise", torch.float32, False)
_quantise("quantise_transposed", torch.bfloat16, True)

PRODUCT = dict(small=dict(m=100, n=130, k=150), production=dict(m=4096, n=4096, k=4096))


def _product(name, dtype, rtol):
    @repository.case("5_matmul/matmul_func.py", "matmul_kernel", **PRODUCT, rtol=rtol, atol=rtol, name=name)  # fmt: skip
    def build(file, device, m, n, k):
        a, b = (tm.normal(*s, device=device, dtype=dtype) for s in ((m, k), (k, n)))
        bias = tm.normal(n, device=device)
        return lambda: file.matmul(a, b, bias), lambda: a.double() @ b.double() + bias.double()


_product("product", torch.bfloat16, 1e-2)
_product("product_tf32", torch.float32, 1.0)


@repository.case("6_gemm_fp8/matmul_scaled.py", "matmul_scaled_kernel", **PRODUCT, rtol=1e-2, atol=1e-2)  # fmt: skip
def product_scaled(file, device, m, n, k):
    a, b = (tm.fp8(*s, device=device, dtype=FP8) for s in ((m, k), (k, n)))
    blocks = -(-k // 64)
    sa, sb = (torch.rand(*s).to(device) for s in ((m, blocks), (blocks, n)))

    def want():
        x, y = tm.dequantised_blocks(a, sa, 1, 64), tm.dequantised_blocks(b, sb, 64, 1)
        return x @ y, (x @ y).T

    return (
        lambda: (
            file.matmul_scaled(a, sa, b, sb),
            file.matmul_scaled(a, sa, b, sb, out_transpose=True),
        ),
        want,
    )
