"""AdamW-Triton-PyTorch: a step of AdamW."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lessw2020/AdamW-Triton-PyTorch", "e5ae616420db150fb2825ab30104588d745f6184")  # fmt: skip
FILE = "adamw/triton_adamw.py"


@repository.case(FILE, "adamw_kernel", small=dict(m=40, n=100), production=dict(m=4096, n=4096))
def steps(file, device, m, n):
    start, grads = tm.normal(m, n, device=device), [tm.normal(m, n, device=device) for _ in range(2)]  # fmt: skip

    def stepped(kind, dtype, **more):
        p = start.to(dtype, copy=True).requires_grad_()
        optimiser = kind([p], lr=1e-2, weight_decay=0.1, **more)
        for g in grads:
            p.grad = g.to(dtype)
            optimiser.step()
        return p.detach()

    return (
        lambda: stepped(file.TritonAdamW, torch.float32),
        lambda: stepped(torch.optim.AdamW, torch.float64),
    )


@repository.case(FILE, "adamw_kernel, quantize_to_fp8", small=dict(n=3000), production=dict(n=1 << 24), share=1e-3)  # fmt: skip
def step_with_rounded_mean(file, device, n):
    p, g, a, b = (tm.normal(n, device=device) for _ in range(4))
    b, scale = b.square(), torch.tensor([0.003], device=device)

    def run():
        after = [x.clone() for x in (p, a, b)]
        grid = (-(-n // 1024),)
        file.adamw_kernel[grid](after[0], g, after[1], after[2], scale, 1e-2, 0.9, 0.999, 1e-8, 0.1, 0.1, 0.001, n, 0, 1, BLOCK_SIZE=1024)  # fmt: skip
        return after

    def want():
        x, d, u, v = (t.double() for t in (p, g, a, b))
        u = ((0.9 * u + 0.1 * d) / scale).clamp(-448, 448).add(0.5).floor() * scale
        v = 0.999 * v + 0.001 * d * d
        return [x * (1 - 1e-3) - 0.1 * u / ((v / 0.001).sqrt() + 1e-8), u, v]

    return run, want
