"""flash-attn-volta: attention and its gradients for GPUs that multiply 64 columns at a time."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("AlexWortega/flash-attn-volta", "50328e4de51084347400a98e1c6d9b05e01e792f", packages={"flash_attn_volta": "."})  # fmt: skip


def _inputs(device, b, n, h, d, count):
    return [tm.normal(b, n, h, d, device=device, dtype=torch.float16) for _ in range(count)]


def _by_heads(function, *tensors):
    """Results for two heads at a time, to save memory, as the kernels order them."""
    b, _, h, _ = tensors[0].shape
    rows = [x.transpose(1, 2).flatten(0, 1).split(2) for x in tensors]
    parts = zip(*(function(*x) for x in zip(*rows, strict=True)), strict=True)
    results = [torch.cat(x).unflatten(0, (b, h)) for x in parts]
    return [x if x.dim() == 3 else x.transpose(1, 2) for x in results]


def _gradients(file, device, b, n, h, d, causal):
    """The result and its sums, which the kernels take, are made with torch in float32."""
    q, k, v, upstream = _inputs(device, b, n, h, d, 4)
    hidden = torch.ones(n, n, dtype=torch.bool, device=device).triu(1)

    def forward(q, k, v):
        scores = q.float() @ k.float().mT * d**-0.5
        if causal:
            scores.masked_fill_(hidden, float("-inf"))
        sums = scores.logsumexp(-1)
        return scores.sub_(sums[..., None]).exp_() @ v.float(), sums

    def exact(q, k, v, upstream):
        leaves = [x.double().requires_grad_() for x in (q, k, v)]
        y, _ = tm.attention(*leaves, causal=causal)
        return torch.autograd.grad(y, leaves, upstream.double())

    out, sums = _by_heads(forward, q, k, v)
    out = out.to(torch.float16).contiguous()
    return (
        lambda: file.flash_attn_backward(upstream, q, k, v, out, sums, causal),
        lambda: _by_heads(exact, q, k, v, upstream),
    )


@repository.case("flash_attn_volta/triton_fa.py", "_fa_fwd_kernel_d64", small=dict(b=2, n=100, h=2, d=32), production=dict(b=4, n=4096, h=16, d=64), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention_64(file, device, b, n, h, d):
    """Narrower heads are padded."""
    q, k, v = _inputs(device, b, n, h, d, 3)

    def attend(q, k, v):
        return tm.attention(q, k, v, causal=True)

    return (
        lambda: file.flash_attn_forward(q, k, v, causal=True),
        lambda: _by_heads(attend, q, k, v)[0],
    )


@repository.case("flash_attn_volta/triton_fa.py", "_fa_fwd_kernel_d128", small=dict(b=2, n=100, h=2, d=128), production=dict(b=4, n=4096, h=16, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention_128(file, device, b, n, h, d):
    q, k, v = _inputs(device, b, n, h, d, 3)
    return (
        lambda: file.flash_attn_forward(q, k, v, return_softmax_lse=True),
        lambda: _by_heads(tm.attention, q, k, v),
    )


@repository.case("flash_attn_volta/triton_fa_bwd.py", "_fa_bwd_dq_kernel_d64, _fa_bwd_dkdv_kernel_d64", small=dict(b=1, n=100, h=2, d=64, causal=True), production=dict(b=4, n=4096, h=8, d=64, causal=True), rtol=2e-2, atol=1e-2)  # fmt: skip
def gradients_64(file, device, b, n, h, d, causal):
    return _gradients(file, device, b, n, h, d, causal)


@repository.case("flash_attn_volta/triton_fa_bwd.py", "_fa_bwd_dq_kernel_d128, _fa_bwd_dkdv_kernel_d128", small=dict(b=1, n=100, h=2, d=128, causal=False), production=dict(b=2, n=4096, h=8, d=128, causal=False), rtol=2e-2, atol=1e-2)  # fmt: skip
def gradients_128(file, device, b, n, h, d, causal):
    return _gradients(file, device, b, n, h, d, causal)
