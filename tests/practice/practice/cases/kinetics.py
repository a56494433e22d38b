"""Kinetics: one step of decoding by three kernels."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Infini-AI-Lab/Kinetics",
    "af7fa5752c3fe998f03536be272b2fbb3e4e552d",
)
FILE = "LiteSys/litesys/attention/cache_utils.py"


@repository.case(FILE, "attention_score_kernel, softmax_kernel_inplace, attention_value_stage1_kernel", rtol=1e-3, atol=1e-3, small=dict(b=3, hq=4, hk=2, n=128, d=64, block=32), production=dict(b=16, hq=32, hk=8, n=4096, d=128, block=128))  # fmt: skip
def decode(file, device, b, hq, hk, n, d, block):
    q = tm.normal(b, hq, 1, d, device=device)
    k, v = (tm.normal(b + 1, hk, n, d, device=device) for _ in range(2))
    slots = torch.randperm(b + 1)[:b].to(device)
    lengths = torch.tensor(tm.lengths(b, n)).to(device)

    def run():
        scores = torch.zeros(b, hq, n, device=device)
        parts = torch.zeros(b, hq, -(-n // block), d, device=device)
        file.qk(q, k, slots, lengths, scores, block)
        file.softmax(scores, slots, lengths)
        return file.sv(v, slots, lengths, scores, parts, block)

    def want():
        hidden = torch.arange(n, device=device) >= lengths[:, None, None, None]
        bias = torch.zeros(b, 1, 1, n, device=device).masked_fill(hidden, -torch.inf)
        return tm.attention(q, k[slots], v[slots], bias=bias)[0][:, :, 0]

    return run, want
