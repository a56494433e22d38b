"""mamba-triton: a selective scan in parallel, with two floats packed in each element."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "sustcsonglin/mamba-triton", "b8f3ce13652042347bbdae02a69b6fc208ce90cc",
    stand_ins={"einops": {}},
)  # fmt: skip


@repository.case("triton_parallel_scan.py", "forward_scan, first_order_op, pack64, unpack64", small=dict(b=2, m=64, d=3, k=4), production=dict(b=2, m=2048, d=2048, k=16), rtol=1e-3, atol=1e-3)  # fmt: skip
def selective_scan(file, device, b, m, d, k):
    rates = -torch.rand(d, k).to(device)
    inputs, outputs = (tm.normal(b, k, m, device=device) for _ in range(2))
    steps = torch.rand(b, d, m).to(device)
    x = tm.normal(b, d, m, device=device)

    def run():
        y, h = torch.empty_like(x), torch.empty(b, d, k, m, device=device)
        file.forward_scan[(b, d)](rates, inputs, outputs, steps, x, y, h, m, d, k)
        return y, h

    def want():
        state = torch.zeros(b, d, k, dtype=torch.float64, device=device)
        states = []
        for i in range(m):
            step = steps[:, :, i, None].double()
            given = step * x[:, :, i, None].double() * inputs[:, None, :, i].double()
            state = state * (step * rates.double()).exp() + given
            states.append(state)
        h = torch.stack(states, -1)
        return (h * outputs[:, None].double()).sum(2), h

    return run, want
