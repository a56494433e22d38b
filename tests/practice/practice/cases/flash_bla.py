"""Flash bidirectional linear attention: forward and backward, for sequences of any lengths too."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "fla-org/flash-bidirectional-linear-attention",
    "dd222769550d320bbb67edf3d78ddd5b8cfabb4d",
    packages={"flash_bla": "."},
)
FOLDER = "flash_bla/ops/"
SIZES = dict(small=dict(b=2, h=2, n=100, d=32), production=dict(b=4, h=16, n=4096, d=64))


def _positive(*shape, device):
    return (torch.rand(*shape) + 0.1).to(device)


@repository.case(FOLDER + "simple_la/fused.py", "_fwd_kv_kernel, _fwd_qs_kernel, _bwd_ds_kernel, _bwd_dqkv_kernel", rtol=2e-2, atol=2e-2, share=1e-3, **SIZES)  # fmt: skip
def linear(file, device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, d, device=device) for _ in range(4))
    scale = n**-0.5
    return (
        lambda: tm.with_gradients(lambda *a: file.simple_la(*a, scale), up, q, k, v),
        lambda: tm.with_gradients(lambda q, k, v: q @ (k.mT @ v * scale), up, q, k, v, exact=True),
    )


@repository.case(FOLDER + "linear_attn/decoupled.py", "fused_fwd_kernel_s_km, fused_fwd_kernel_o, fused_bwd_kernel_ds_dq, fused_bwd_kernel_dk_dv", rtol=1e-3, atol=1e-5, share=1e-3, **SIZES)  # fmt: skip
def rotated_linear(file, device, b, h, n, d):
    q, k = (_positive(b, h, n, d, device=device) for _ in range(2))
    q2, k2, v, up = (tm.normal(b, h, n, d, device=device) for _ in range(4))

    def exact(q, k, q2, k2, v):
        below = (q * k.mean(-2, keepdim=True)).sum(-1, keepdim=True) + 1e-6
        return q2 @ (k2.mT @ v * n**-0.5) / below

    inputs = q, k, q2, k2, v
    return (
        lambda: tm.with_gradients(lambda *a: file.decoupled_la(*a, n**-0.5), up, *inputs),
        lambda: tm.with_gradients(exact, up, *inputs, exact=True),
    )


@repository.case(FOLDER + "linear_attn/varlen.py", "_varlen_fwd_state_kernel, _varlen_fwd_output_kernel, _varlen_bwd_state_kernel, _varlen_bwd_input_kernel", rtol=1e-3, atol=1e-6, share=1e-3, small=dict(count=3, most=90, h=2, d=24, e=40), production=dict(count=16, most=4096, h=16, d=64, e=64))  # fmt: skip
def packed_linear(file, device, count, most, h, d, e):
    lengths = tm.lengths(count, most)
    starts, total = tm.starts(lengths, device), sum(lengths)
    q, k = (_positive(total, h, d, device=device) for _ in range(2))
    v, up = (tm.normal(total, h, e, device=device) for _ in range(2))

    def exact(q, k, v):
        out = []
        for i in range(count):
            a, b, c = (x[starts[i] : starts[i + 1]].transpose(0, 1) for x in (q, k, v))
            below = (a * b.mean(-2, keepdim=True)).sum(-1, keepdim=True) + 1e-6
            out.append((a @ (b.mT @ c / lengths[i]) / below).transpose(0, 1))
        return torch.cat(out)

    return (
        lambda: tm.with_gradients(
            lambda *a: file.varlen_linear_attention(*a, starts, most), up, q, k, v
        ),
        lambda: tm.with_gradients(exact, up, q, k, v, exact=True),
    )
