"""pscan: a linear recurrence that goes up and down a tree in global memory, between barriers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "johnryan465/pscan",
    "99b7342e38893df56e73c4b440204bb71ad7c71d",
    stand_ins={"pscan_cuda_v1": {}},
)


@repository.case("src/triton.py", "expand_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, n=128, d=40), production=dict(b=16, n=4096, d=1024))  # fmt: skip
def recurrence(file, device, b, n, d):
    decay, x = 0.5 + torch.rand(b, n, 1).to(device) * 0.5, tm.normal(b, n, d, device=device)

    def run():
        out = decay.clone(), x.clone()
        file.expand_triton(*out)
        return out

    def want():
        a, states, state = decay.double(), [], 0
        for t in range(n):
            state = a[:, t] * state + x[:, t].double()
            states.append(state)
        return a.cumprod(1), torch.stack(states, 1)

    return run, want
