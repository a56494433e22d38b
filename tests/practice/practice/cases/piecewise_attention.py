"""Piecewise sparse attention: exact for chosen blocks, by their means and slopes for the others."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "xie-lab-ml/piecewise-sparse-attention", "8604494f6660045d6f477f9dcb56b334d06b932c"
)
FILE = "piecewise_attn/kernels/piecewise_sparse_attn_tma.py"
BF16 = torch.bfloat16


def _with_memory(file, device):
    """Memory for the descriptors that are made on the device."""
    file.triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=device)
    )


def _chunks(x, size):
    return torch.nn.functional.pad(x.double(), (0, 0, 0, -x.shape[2] % size)).unflatten(2, (-1, size))  # fmt: skip


@repository.case(FILE, "fused_chunk_reduce_kernel", rtol=2e-2, atol=1e-1, share=1e-3, small=dict(b=1, h=2, n=200, d=64, size=64), production=dict(b=1, h=24, n=32768, d=128, size=64))  # fmt: skip
def means_and_slopes(file, device, b, h, n, d, size):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(3))

    def run():
        _with_memory(file, device)
        return file.fused_chunk_reduce(q, k, v, size)[:4]

    def want():
        qs, ks, vs = (_chunks(x, size) for x in (q, k, v))
        count = torch.full((qs.shape[2], 1), size, device=device)
        count[-1] = n - (len(count) - 1) * size
        q_mean, k_mean = (x.sum(3) / count for x in (qs, ks))
        slopes = (ks - k_mean[..., None, :]).transpose(-1, -2) @ vs
        return q_mean, k_mean, vs.sum(3), slopes.sum(2)

    return run, want


@repository.case(FILE, "piecewise_sparse_attention_fwd_kernel", rtol=2e-2, atol=2e-2, share=1e-3, small=dict(b=1, h=2, n=256, d=64, size=64, chosen=2), production=dict(b=1, h=24, n=16384, d=128, size=64, chosen=25))  # fmt: skip
def pieces(file, device, b, h, n, d, size, chosen):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(3))
    count = n // size
    k_mean = k.float().unflatten(2, (-1, size)).mean(3).to(BF16)
    v_sum = v.float().unflatten(2, (-1, size)).sum(3).to(BF16)
    slope = tm.normal(b, h, d, d, device=device, dtype=BF16)
    ids = torch.rand(b, h, count, count).argsort(-1)[..., :chosen].contiguous().to(device)
    scale = d**-0.5

    def run():
        _with_memory(file, device)
        out = torch.empty_like(v)
        file.piecewise_sparse_attention_fwd_kernel[1, count, b * h](
            q=q, k=k, v=v, kc=k_mean, vc=v_sum, h=slope, o=out, indices=ids, scale=scale,
            T=n, K=d, V=d, BT=size, BK=d, BV=d, NT=count, NS=chosen,
        )  # fmt: skip
        return out

    def want():
        out = torch.empty(b, h, n, d, device=device, dtype=torch.float64)
        for i in range(h):
            seen = torch.zeros(b, count, count, device=device, dtype=torch.bool)
            seen.scatter_(-1, ids[:, i], True)
            exact = (q[:, i].double() @ k[:, i].double().transpose(-1, -2) * scale).exp()
            exact *= seen.repeat_interleave(size, 1).repeat_interleave(size, 2)
            means = (q[:, i].double() @ k_mean[:, i].double().transpose(-1, -2) * scale).exp()
            means *= ~seen.repeat_interleave(size, 1)
            others = means.sum(-1, keepdim=True) * size
            total = exact @ v[:, i].double() + means @ v_sum[:, i].double()
            total += q[:, i].double() @ slope[:, i].double() * others / n * scale
            out[:, i] = total / (exact.sum(-1, keepdim=True) + others)
        return out

    return run, want
