"""quantized-training: products with factors of rows, columns and tiles, convolutions in int8."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "gau-nernst/quantized-training", "01607b37784cb5f7bf559670ce4f7d71d9608bed",
    packages={"gn_kernels": "kernels"},
)  # fmt: skip
MM, CONV = "kernels/gn_kernels/triton_mm.py", "kernels/gn_kernels/triton_conv2d.py"


def _strided(file, kernel, grid, a, b, c, *more, **options):
    (m, k), n = a.shape, b.shape[1]
    getattr(file, kernel)[grid](a, b, c, *more[0], m, n, k, *a.stride(), *b.stride(), *c.stride(), *more[1], **options)  # fmt: skip
    return c


def _operands(device, m, n, k, kind, by_rows):
    if kind == "int8":
        a, b = (tm.integers(-128, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))  # fmt: skip
    else:
        a, b = (tm.fp8(*s, device=device, dtype=getattr(torch, kind)) for s in ((m, k), (n, k)))
    return a, b.T.contiguous() if by_rows else b.T


def _product(a, b):
    # Integers in float64 are exact.
    return a.to(torch.float32).double() @ b.to(torch.float32).double()


def _mm(kind, by_rows):
    def build(file, device, m, n, k):
        a, b = _operands(device, m, n, k, kind, by_rows)
        return (lambda: file._triton_mm(a, b, torch.int32, torch.int32)), lambda: _product(a, b)

    repository.case(MM, "_matmul_kernel", name=f"mm_{kind}" + "_by_rows" * by_rows, small=dict(m=130, n=260, k=128), production=dict(m=4096, n=4096, k=4096))(build)  # fmt: skip


def _scaled(kind):
    def build(file, device, m, n, k):
        a, b = _operands(device, m, n, k, kind, False)
        rows, columns = (torch.rand(s).to(torch.bfloat16).to(device) for s in ((m, 1), (1, n)))
        c = torch.empty(m, n, device=device, dtype=torch.bfloat16)
        options = dict(ACC_DTYPE=file.tl.int32 if kind == "int8" else file.tl.float32, EVEN_K=True)

        def run():
            return _strided(file, "_scaled_mm_kernel", file._grid, a, b, c, (rows, columns), (), **options, COL_SCALE_SCALAR=False)  # fmt: skip

        return run, lambda: _product(a, b) * rows.double() * columns.double()

    repository.case(MM, "_scaled_mm_kernel", rtol=1e-2, atol=5e-2, name=f"scaled_mm_{kind}", small=dict(m=130, n=200, k=128), production=dict(m=8192, n=4096, k=4096))(build)  # fmt: skip


def _tile_scaled(kind, block):
    def build(file, device, m, n, k):
        a, b = _operands(device, m, n, k, kind, False)
        q = block[0], block[1], block[2]
        of_a, of_b = (torch.rand(s).to(device) for s in ((m // q[0], k // q[2]), (k // q[2], n // q[1])))  # fmt: skip
        c = torch.empty(m, n, device=device)
        options = dict(
            QUANT_BLOCK_M=q[0], QUANT_BLOCK_N=q[1], QUANT_BLOCK_K=q[2], BLOCK_K=q[2], EVEN_K=True,
            ACC_DTYPE=file.tl.int32 if kind == "int8" else file.tl.float32,
        )  # fmt: skip

        def run():
            strides = (*of_a.stride(), *of_b.stride())
            return _strided(file, "_tile_scaled_mm_kernel", file._grid, a, b, c, (of_a, of_b), strides, **options)  # fmt: skip

        def want():
            x = tm.dequantised_blocks(a, of_a, q[0], q[2])
            return x @ tm.dequantised_blocks(b, of_b, q[2], q[1])

        return run, want

    repository.case(MM, "_tile_scaled_mm_kernel", rtol=1e-2, atol=5e-2, name=f"tile_scaled_mm_{kind}", small=dict(m=256, n=256, k=256), production=dict(m=4096, n=4096, k=4096))(build)  # fmt: skip


_mm("int8", False)
_mm("int8", True)
_scaled("int8")
_scaled("float8_e4m3fn")
_tile_scaled("int8", (1, 128, 128))
_tile_scaled("float8_e4m3fn", (1, 128, 128))


def _conv(name, kind, kernel, stride, order=torch.channels_last):
    def build(file, device, n, c, h, filters):
        last, dtype = dict(memory_format=order), torch.bfloat16
        if kind == "int8":
            x = tm.integers(-128, 128, n, c, h, h, device=device, dtype=torch.int8).contiguous(
                **last
            )
            w = tm.integers(-128, 128, filters, c, kernel, kernel, device=device, dtype=torch.int8).contiguous(**last)  # fmt: skip
            factors = (torch.rand(filters) / 1000).to(device)
        else:
            x = tm.normal(n, c, h, h, device=device, dtype=dtype).contiguous(**last)
            w = tm.normal(filters, c, kernel, kernel, device=device, dtype=dtype, scale=0.05).contiguous(**last)  # fmt: skip
            factors = torch.ones(filters, device=device)
        pad = kernel // 2

        def run():
            options = ((stride, stride), (pad, pad))
            if kind == "int8":
                return file._triton_scaled_int8_conv2d(x, w, factors, *options)
            return file._triton_conv2d(x, w, *options)

        def want():
            y = F.conv2d(x.double(), w.double(), stride=stride, padding=pad)
            return y * factors.double()[:, None, None]

        return run, want

    kernels = "_scaled_int8_conv2d_kernel" if kind == "int8" else "_conv2d_kernel"
    repository.case(CONV, kernels, rtol=1e-2, atol=2e-2, name=name, small=dict(n=2, c=40, h=9, filters=256), production=dict(n=16, c=256, h=56, filters=256))(build)  # fmt: skip


_conv("conv", "bfloat16", 3, 1)
_conv("conv_int8", "int8", 3, 1)
_conv("conv_int8_strided", "int8", 1, 2)
_conv("conv_planes", "bfloat16", 3, 1, torch.contiguous_format)
_conv("conv_int8_planes", "int8", 3, 1, torch.contiguous_format)
