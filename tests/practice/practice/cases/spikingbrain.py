"""SpikingBrain: a step of linear attention with states that are kept in slots."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("BICLab/SpikingBrain-7B", "ef99987167cf7386ab3348312c8c7aa00a6696ee", stand_ins={"fla.utils": {}, "einops": {}})  # fmt: skip
FILE = "vllm_hymeta/model_for_7B/my_fused_recurrent.py"


@repository.case(FILE, "my_fused_recurrent_fwd_kernel", small=dict(b=3, h=2, d=64, slots=5), production=dict(b=256, h=28, d=128, slots=300), rtol=1e-2, atol=2e-2)  # fmt: skip
def step(file, device, b, h, d, slots):
    """The first sequence has no slot, and is left alone. The state is that of float32."""
    q, k, v = (tm.normal(b, h, 1, d, device=device, dtype=torch.bfloat16) for _ in range(3))
    gate = torch.nn.functional.logsigmoid(torch.randn(b, h, 1, d)).to(torch.bfloat16).to(device)
    before = tm.normal(slots, h, d, d, device=device)
    places = torch.randperm(slots)[:b]
    places[0] = -1
    places = places.to(device)

    def run():
        states, out = before.clone(), torch.zeros_like(q)
        file.my_fused_recurrent_fwd_kernel[(b, h, d // 64)](q, k, v, gate, out, d, states, places, d**-0.5, q.stride(0), q.stride(1), *states.stride(), 64)  # fmt: skip
        return states, out

    def want():
        states, out = before.double(), torch.zeros(b, h, 1, d, dtype=torch.float64, device=device)
        new = states[places[1:]] * gate.double()[1:].exp().mT + k.double()[1:].mT @ v.double()[1:]
        states[places[1:]] = new
        out[1:] = q.double()[1:] * d**-0.5 @ new
        return states, out

    return run, want
