"""PoPE: attention whose queries and keys have lengths of softplus and learned phases."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lucidrains/PoPE-pytorch", "ee11cab0dda8361b02fec56975e84e419ea6a631", stand_ins={"einops": {}})  # fmt: skip
SIMILAR, ATTENTION = "PoPE_pytorch/triton_pope.py", "PoPE_pytorch/triton_pope_flash_attn.py"


def _turned(x, phases):
    """Softplus of the first elements as lengths, at these phases; the others as they are."""
    r = phases.shape[-1]
    lengths = F.softplus(x[..., :r])
    return torch.cat([lengths * phases.cos(), lengths * phases.sin(), x[..., r:]], -1)


def _both(function, right, inputs, up, backward):
    if not backward:
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))
    return (
        lambda: tm.with_gradients(function, up, *inputs),
        lambda: tm.with_gradients(right, up.double(), *inputs, exact=True),
    )


def _similarity(backward):
    def build(file, device, b, h, s, d, r):
        q, k = (tm.normal(b, h, s, d, device=device) for _ in range(2))
        phases, bias = tm.normal(s, r, device=device), tm.normal(h, r, device=device)
        up = tm.normal(b, h, s, s, device=device)

        def right(q, k, phases, bias):
            keys = _turned(k, phases + bias[:, None])
            return _turned(q, phases) @ keys.transpose(-1, -2)

        def function(q, k, phases, bias):
            return file.PoPESimilarityFunction.apply(q, k, phases, bias, r, True)

        return _both(function, right, (q, k, phases, bias), up, backward)

    kernels = "_fwd_kernel" + ", _bwd_kernel_dqk_df, _bwd_kernel_dbias_optimized" * backward
    repository.case(SIMILAR, kernels, rtol=2e-2, atol=0.5 if backward else 5e-2, share=1e-3, name="similarity" + "_gradient" * backward, small=dict(b=1, h=2, s=40, d=64, r=32), production=dict(b=2, h=16, s=2048, d=64, r=32))(build)  # fmt: skip


def _attention(backward):
    def build(file, device, b, h, s, d, r):
        dtype = torch.bfloat16
        q, k, v, up = (tm.normal(b, s, h, d, device=device, dtype=dtype) for _ in range(4))
        phases, bias = tm.normal(s, r, device=device), tm.normal(h, r, device=device)

        def right(q, k, v, phases, bias):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            keys = _turned(k, phases + bias[:, None])
            x = _turned(q, phases) @ keys.transpose(-1, -2) * d**-0.5
            x = x.masked_fill(torch.ones(s, s, device=device).triu(1).bool(), float("-inf"))
            return (x.softmax(-1) @ v).transpose(1, 2)

        def function(q, k, v, phases, bias):
            return file.flash_attn(q, k, v, phases, bias, causal=True)

        return _both(function, right, (q, k, v, phases, bias), up, backward)

    kernels = "_fwd_kernel" + ", _bwd_preprocess, _bwd_kernel" * backward
    repository.case(ATTENTION, kernels, rtol=3e-2, atol=0.3 if backward else 3e-2, share=1e-2, name="attention" + "_gradient" * backward, small=dict(b=1, h=2, s=64, d=64, r=32), production=dict(b=2, h=16, s=2048, d=64, r=32))(build)  # fmt: skip


for _backward in (False, True):
    _similarity(_backward)
    _attention(_backward)
