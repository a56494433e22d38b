"""Linear-MoE: causal linear attention in blocks, whose states several devices could share."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "OpenSparseLLMs/Linear-MoE",
    "b312754b9b8a2cb9eb15e373baabe263b8d409c1",
    packages={"linear_moe": "."},
    stand_ins={"megatron.core.parallel_state": {}},
)
FOLDER = "linear_moe/sequence_modeling/lasp2/"


SIZES = dict(
    small=dict(b=1, h=2, n=512, d=32, e=64), production=dict(b=4, h=16, n=4096, d=64, e=64)
)


def _attention(file, device, b, h, n, d, e, seen):
    q, k = (tm.normal(b, h, n, d, device=device, scale=d**-0.5) for _ in range(2))
    v, up = (tm.normal(b, h, n, e, device=device) for _ in range(2))

    def run():
        states = file.prepare_m(q, k, v, 256, 64)
        nothing = torch.zeros_like(states[:, :, -1])
        out = file.lasp2_forward(q, k, v, states, nothing, 256, 64)
        grads = file.prepare_dm(q, k, v, up, 256, 64)
        return [out, *file.lasp2_backward(q, k, v, up, states, grads, nothing, 256, 64)]

    rows = torch.arange(n, device=device)

    def exact(q, k, v):
        return (q @ k.mT * seen(rows[:, None], rows)) @ v

    def want():
        parts = [
            tm.with_gradients(exact, up[i], q[i], k[i], v[i], exact=True) for i in range(b)
        ]  # one after the other, since the scores are in float64
        return [torch.stack(x) for x in zip(*parts, strict=True)]

    return run, want


@repository.case(FOLDER + "lasp2_with_mask_triton_op.py", "_fwd_m_calculate, _fwd_m_cumsum, _fwd_m_update, _fwd_intra_kernel, _fwd_inter_kernel, _bwd_dm_calculate, _bwd_dm_cumsum, _bwd_dm_update, _bwd_intra_kernel, _bwd_inter_kernel", rtol=2e-2, atol=5e-2, share=1e-2, **SIZES)  # fmt: skip
def causal_blocks(file, device, **size):
    """A query sees all keys of its block of 64, and of those before it."""
    return _attention(file, device, **size, seen=lambda i, j: i // 64 >= j // 64)


@repository.case(FOLDER + "lasp2_without_mask_triton_op.py", "_fwd_m_calculate, _fwd_m_cumsum, _fwd_m_update, _fwd_kernel, _bwd_dm_calculate, _bwd_dm_cumsum, _bwd_dm_update, _bwd_kernel", rtol=2e-2, atol=5e-2, share=1e-2, **SIZES)  # fmt: skip
def earlier_blocks(file, device, **size):
    """A query sees all keys of the blocks of 256 before its own."""
    return _attention(file, device, **size, seen=lambda i, j: i // 256 > j // 256)
