"""Qwen3 MoE fused: products of groups of rows by persistent programs, bf16 and 4 bits, SwiGLU."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "woct0rdho/transformers-qwen3-moe-fused", "5ad116aeafca3751490a7a8c2d75f8bafe68c66e", packages={"qwen3_moe_fused": "."},
    stand_ins={"bitsandbytes": {}},
)  # fmt: skip
FOLDER = "qwen3_moe_fused/grouped_gemm/"
SWIGLU = "qwen3_moe_fused/kernels/silu_mul.py"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)
SMALL = dict(e=4, m=150, n=96, k=80)
LARGE = dict(e=128, m=16384, n=1536, k=2048)


def _few(kernel, **blocks):
    """One of a thousand configurations, which takes as long to tune as a thousand kernels."""
    kernel.configs = [c for c in kernel.configs if c.num_warps == 8 and c.num_stages == 3 and c.kwargs == blocks]  # fmt: skip
    return kernel


def _groups(e, m, device):
    """Sizes of groups, one of which is empty."""
    sizes = torch.rand(e)
    sizes[1] = 0
    sizes = (sizes / sizes.sum() * m).to(torch.int32)
    sizes[0] += m - sizes.sum()
    return sizes.to(device)


def _exact(x, w, sizes):
    return torch.cat([a.double() @ b.double().T for a, b in zip(x.split(sizes.tolist()), w, strict=True)])  # fmt: skip


for _turned in (False, True):

    @repository.case(FOLDER + f"forward{'_transposed' * _turned}.py", f"_grouped_gemm_forward{'_transposed' * _turned}_kernel", small=SMALL, production=LARGE, name="groups" + "_turned" * _turned, **HALF)  # fmt: skip
    def groups(file, device, e, m, n, k, turned=_turned):
        x, w = (tm.normal(*s, device=device, dtype=BF16, scale=0.3) for s in ((m, k), (e, n, k)))
        sizes = _groups(e, m, device)
        given = w.mT.contiguous() if turned else w
        run = file.grouped_gemm_forward_transposed if turned else file.grouped_gemm_forward
        kernel = file._grouped_gemm_forward_transposed_kernel if turned else file._grouped_gemm_forward_kernel  # fmt: skip
        _few(kernel, BLOCK_SIZE_M=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=64)
        return lambda: run(x, given, sizes), lambda: _exact(x, w, sizes)


@repository.case(FOLDER + "backward_dw.py", "_grouped_gemm_backward_dw_kernel", small=SMALL, production=LARGE, **HALF)  # fmt: skip
def gradient_of_weights(file, device, e, m, n, k):
    x, y = (tm.normal(m, c, device=device, dtype=BF16, scale=0.3) for c in (k, n))
    sizes = _groups(e, m, device)
    _few(file._grouped_gemm_backward_dw_kernel, BLOCK_SIZE_M=64, BLOCK_SIZE_N=128, BLOCK_SIZE_K=128)

    def want():
        parts = zip(*(a.double().split(sizes.tolist()) for a in (y, x)), strict=True)
        return torch.stack([a.T @ b for a, b in parts])

    return lambda: file.grouped_gemm_backward_dw(x, y, sizes, BF16), want


# Its scales are loaded without a mask, so whole blocks of columns are needed.
@repository.case(FOLDER + "forward_4bit.py", "_grouped_gemm_forward_4bit_kernel", small=dict(e=4, m=150, n=128, k=128), production=LARGE, **HALF)  # fmt: skip
def groups_of_4_bits(file, device, e, m, n, k):
    x = tm.normal(m, k, device=device, dtype=BF16, scale=0.3)
    codes = torch.randint(0, 16, (e, n, k))
    packed = (codes[..., ::2] * 16 + codes[..., 1::2]).to(torch.uint8).to(device)
    table, scales = torch.linspace(-1, 1, 16).to(device), torch.rand(e * n * k // 64).to(device)
    state = SimpleNamespace(
        quant_type="nf4", blocksize=64, code=table, absmax=scales, nested=False, shape=(e, n, k)
    )
    sizes = _groups(e, m, device)
    _few(file._grouped_gemm_forward_4bit_kernel, BLOCK_SIZE_M=64, BLOCK_SIZE_N=128, BLOCK_SIZE_K=64)

    def want():
        w = table[codes.to(device)] * scales.view(e, n, k // 64, 1).expand(-1, -1, -1, 64).flatten(-2)  # fmt: skip
        return _exact(x, w.to(BF16), sizes)

    return lambda: file.grouped_gemm_forward_4bit(x, packed.view(-1, 1), state, sizes), want


@repository.case(SWIGLU, "_silu_mul_forward_kernel", small=dict(n=1000), production=dict(n=1 << 26), rtol=2e-2, atol=2e-2)  # fmt: skip
def swiglu(file, device, n):
    e, g = (tm.normal(n, device=device, dtype=BF16) for _ in range(2))
    return lambda: file.silu_mul(e, g), lambda: torch.nn.functional.silu(e.double()) * g.double()


for _inplace in (False, True):

    @repository.case(SWIGLU, f"_silu_mul_backward{'_inplace' * _inplace}_kernel", small=dict(n=1000), production=dict(n=1 << 26), name="swiglu_gradients" + "_in_place" * _inplace, rtol=2e-2, atol=2e-2)  # fmt: skip
    def swiglu_gradients(file, device, n, inplace=_inplace):
        dh, e, g = (tm.normal(n, device=device, dtype=BF16) for _ in range(3))
        kernel = file._silu_mul_backward_inplace_kernel
        kernel.configs = kernel.configs[-1:]  # it does not restore what it changes when it is tuned

        def run():
            if not inplace:
                return file.silu_mul_backward(dh, e, g)
            copies = [x.clone() for x in (dh, e, g)]
            file.silu_mul_backward_inplace(*copies)
            return copies[1], copies[2], copies[0]

        def want():
            h, de, dg = tm.with_gradients(lambda a, b: torch.nn.functional.silu(a) * b, dh, e, g, exact=True)  # fmt: skip
            return (de, dg, h) if inplace else (de, dg)

        return run, want
