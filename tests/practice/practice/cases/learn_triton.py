"""learn-triton: transposition, attention, experts and quantised products through descriptors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("KindRoach/learn-triton", "c5221d7bcb3887d06d523f701e7514a92e4e4d58", packages={"src": "."}, inits=("src.utils",))  # fmt: skip
HALF = dict(rtol=2e-2, atol=2e-2)
FP16 = torch.float16


def _allocator(file, device):
    file.triton.set_allocator(lambda size, *_: torch.empty(size, dtype=torch.int8, device=device))


@repository.case("src/01_baisc/03_tensor_desc.py", "copy_1D_kernel, copy_2D_kernel", small=dict(m=101, n=72), production=dict(m=20481, n=5120))  # fmt: skip
def copies(file, device, m, n):
    _allocator(file, device)
    x = tm.normal(m, n, device=device)

    def run():
        one, two = torch.empty_like(x), torch.empty_like(x)
        cdiv = file.triton.cdiv
        file.copy_1D_kernel[(cdiv(m * n, 1024),)](x, one, m * n, 1024)
        file.copy_2D_kernel[(cdiv(m, 128), cdiv(n, 128))](x, two, m, n, 128, 128)
        return one, two

    return run, lambda: (x, x)


@repository.case("src/03_matrix/01_matrix_transpose.py", "transpose_kernel, transpose_autotune_kernel", small=dict(m=104, n=72), production=dict(m=8192, n=8192))  # fmt: skip
def transpose(file, device, m, n):
    _allocator(file, device)
    x, out = tm.normal(m, n, device=device), [torch.empty(n, m, device=device) for _ in range(2)]

    def run():
        file.transpose(x, out[0])
        file.transpose_autotune(x, out[1])
        return out

    return run, lambda: [x.T, x.T]


@repository.case("src/03_matrix/02_matrix_multiply.py", "matrix_multiply_kernel", small=dict(m=100, n=72, k=96), production=dict(m=4096, n=4096, k=4096), **HALF)  # fmt: skip
def product(file, device, m, n, k):
    _allocator(file, device)
    a, b = (tm.normal(*s, device=device, dtype=FP16) for s in ((m, k), (k, n)))
    a, out = a / k**0.5, torch.empty(m, n, dtype=FP16, device=device)

    def run():
        file.matrix_multiply(a, b, out)
        return out

    return run, lambda: a.double() @ b.double()


def _attention(file, function, kernels, decode=False):
    def build(module, device, b, h, hk, n, d):
        _allocator(module, device)
        q = tm.normal(b, h, 1 if decode else n, d, device=device, dtype=FP16)
        k, v = (tm.normal(b, hk, n, d, device=device, dtype=FP16) for _ in range(2))
        out = torch.empty_like(q)

        def run():
            getattr(module, function)(q, k, v, out)
            return out

        return run, lambda: tm.attention(q, k, v, causal=not decode)[0]

    # Keys behind the end count as zeros in those that decode: there are none.
    repository.case(f"src/04_attn/{file}.py", kernels, small=dict(b=2, h=4, hk=2, n=128 if decode else 136, d=64), production=dict(b=4, h=32, hk=8, n=4096, d=128), name=file[3:], **HALF)(build)  # fmt: skip


_attention("02_flash_attn", "flash_attn", "flash_attn_kernel")
_attention("03_flash_attn_gqa_fusion", "flash_attn_gqa_fusion", "flash_attn_gqa_fusion_kernel")
_attention("05_flash_decode", "flash_decode", "flash_decode_kernel_split, flash_decode_kernel_reduce", True)  # fmt: skip
_attention("06_flash_decode_gqa_fusion", "flash_decode", "flash_decode_kernel_split, flash_decode_kernel_reduce", True)  # fmt: skip


@repository.case("src/07_quant/02_per_channel_quant_gemm.py", "per_channel_quant_gemm_kernel, per_channel_quant_gemm_swapAB_kernel", small=dict(m=100, n=80, k=96), production=dict(m=4096, n=4096, k=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def per_channel(file, device, m, n, k):
    _allocator(file, device)
    x, w = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    scales, one = torch.rand(n).to(device) / 1e3, torch.tensor(0.5, device=device)
    outs = [torch.empty(m, n, device=device) for _ in range(2)]

    def run():
        file.per_channel_quant_gemm(x, w, outs[0], scales, one)
        file.per_channel_quant_gemm_swapAB(x, w, outs[1], scales, one)
        return outs

    def want():
        y = x.double() @ w.double().T * scales.double() * 0.5
        return [y, y]

    return run, want
