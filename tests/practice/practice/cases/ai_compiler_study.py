"""AI compiler study: the parts of a Flux transformer, their own and those that inductor wrote."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ai-compiler-study/triton-kernels", "d068688e6b0ba5245f56661b1e4c0555a14a7b1a", packages={"triton_kernels": "."})  # fmt: skip
OWN, OPS = "triton_kernels/kernels/", "triton_kernels/ops/"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case(OWN + "normalization.py", "_layer_norm_modulation_fwd", small=dict(b=2, s=5, n=96), production=dict(b=2, s=4096, n=3072))  # fmt: skip
def layer_norm_modulation(file, device, b, s, n):
    x, w, c = (tm.normal(b, m, n, device=device) for m in (s, 1, 1))
    return (
        lambda: file.layer_norm_modulation(x, w, c),
        lambda: tm.layer_norm(x, None, None, 1e-5) * (1 + w.double()) + c.double(),
    )


@repository.case(OWN + "normalization.py", "_rms_norm_fwd, _rms_norm_bwd", small=dict(m=16, n=96), production=dict(m=24 * 4608, n=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm_with_gradients(file, device, m, n):
    x, dy = (tm.normal(m, n, device=device) for _ in range(2))
    w = tm.normal(n, device=device)
    return (
        lambda: tm.with_gradients(file.rms_norm, dy, x, w)[:2],
        lambda: tm.with_gradients(lambda a, b: tm.rms_norm(a, b, 1e-6), dy, x, w, exact=True)[:2],
    )


@repository.case(OWN + "positional_embedding.py", "_rope_fwd", small=dict(b=1, h=2, s=5, d=32), production=dict(b=1, h=24, s=4608, d=128))  # fmt: skip
def rope(file, device, b, h, s, d):
    q, k = (tm.normal(b, h, s, d, device=device) for _ in range(2))
    angles = torch.rand(1, 1, s, d // 2) * 6
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1)
    turns = turns.unflatten(-1, (2, 2)).to(device)

    def want():
        pairs = [x.double().unflatten(-1, (-1, 1, 2)) for x in (q, k)]
        return [(turns.double() * x).sum(-1).flatten(-2) for x in pairs]

    return lambda: file.apply_rope(q, k, turns), want


@repository.case(OWN + "linear.py", "_linear_fwd", small=dict(m=150, n=200, k=96), production=dict(m=4608, n=12288, k=3072), **HALF)  # fmt: skip
def linear(file, device, m, n, k):
    x, w, b = (tm.normal(*s, device=device, dtype=BF16, scale=0.3) for s in ((1, m, k), (n, k), (n,)))  # fmt: skip
    return lambda: file.linear(x, w, b), lambda: x.double() @ w.double().T + b.double()


@repository.case(OWN + "attention.py", "_attn_fwd_inner, _attn_fwd", small=dict(b=1, h=2, s=256, d=64), production=dict(b=1, h=24, s=4608, d=128), **HALF)  # fmt: skip
def attention(file, device, b, h, s, d):
    q, k, v = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(3))
    return (
        lambda: file.scaled_dot_product_attention(q, k, v),
        lambda: tm.attention(q, k, v)[0],
    )


@repository.case(OPS + "linear.py", "triton_linear", small=dict(m=150, n=200, k=96), production=dict(m=4608, n=9216, k=3072), **HALF)  # fmt: skip
def linear_of_inductor(file, device, m, n, k):
    a, b, c = (tm.normal(*s, device=device, dtype=BF16, scale=0.3) for s in ((m, k), (n, k), (n,)))

    def run():
        out = torch.empty(m, n, dtype=BF16, device=device)
        grid = (-(-m // 64) * -(-n // 128),)
        file.triton_linear[grid](
            a, b, c, out, m, n, k, k, 1, 1, k, GROUP_M=8, EVEN_K=k % 32 == 0, ALLOW_TF32=False,
            ACC_TYPE=file.tl.float32, B_PROLOGUE_CAST_TYPE=None, BLOCK_M=64, BLOCK_N=128,
            BLOCK_K=32, num_stages=4, num_warps=8,
        )  # fmt: skip
        return out

    return run, lambda: a.double() @ b.double().T + c.double()


@repository.case(OPS + "qkv_concat.py", "triton_qkv_concat", small=dict(b=2, text=4, s=12, h=4, d=16), production=dict(b=1, text=512, s=4608, h=24, d=128), rtol=1e-2)  # fmt: skip
def concatenated_heads(file, device, b, text, s, h, d):
    txt, img = (tm.normal(b, n, 3 * h * d, device=device, dtype=BF16) for n in (text, s - text))

    def run():
        out = [torch.empty(b, h, s, d, dtype=BF16, device=device) for _ in range(3)]
        file.triton_qkv_concat[(b * s * h * d // 512,)](
            txt, img, *out, s, h, d, h * d, text, *txt.stride()[:2], *img.stride()[:2],
            *out[0].stride()[:3], XBLOCK=512, num_warps=8,
        )  # fmt: skip
        return out

    def want():
        both = torch.cat([txt, img], 1).double().unflatten(-1, (3, h, d))
        return list(both.permute(2, 0, 3, 1, 4))

    return run, want


@repository.case(OPS + "modulation.py", "triton_modulation_scale_shift, triton_modulation_gate_proj", small=dict(b=2, s=8, n=64), production=dict(b=2, s=4096, n=3072), **HALF)  # fmt: skip
def modulation(file, device, b, s, n):
    x, y = (tm.normal(b, s, n, device=device, dtype=BF16) for _ in range(2))
    parts = tm.normal(b, 6 * n, device=device, dtype=BF16)
    grid = (b * s * n // 512,)

    def run():
        moved, added = torch.empty_like(x), torch.empty_like(x)
        file.triton_modulation_scale_shift[grid](x, parts, moved, s * n, n, 6 * n, False, XBLOCK=512, num_warps=4)  # fmt: skip
        file.triton_modulation_gate_proj[grid](x, parts, y, added, s * n, n, 6 * n, XBLOCK=512, num_warps=8)  # fmt: skip
        return moved, added

    def want():
        p = parts.double().unflatten(-1, (6, 1, n)).unbind(1)
        return (p[4] + 1) * x.double() + p[3], x.double() + p[2] * y.double()

    return run, want
