"""ReSampling: the linear recurrence of S5, with complex numbers, and its gradients by a scan from
behind."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mignogales/ReSampling", "bd09183f61af3cebd66ccc47e4cbdc255c4468c8")


@repository.case("models/triton_kernels.py", "forward_scan_kernel, backward_scan_kernel, _scan_combine_fn, _complex_mul", small=dict(b=2, t=50, p=5), production=dict(b=8, t=2048, p=512), rtol=1e-3, atol=1e-3)  # fmt: skip
def recurrence_and_gradients(file, device, b, t, p):
    turn = torch.rand(p) * 6.28
    gates = torch.polar(0.9 + 0.09 * torch.rand(p), turn).to(device)
    x, upstream = (
        torch.complex(*(tm.normal(b, t, p, device=device) for _ in range(2))) for _ in range(2)
    )

    def run():
        leaves = [y.clone().requires_grad_() for y in (gates, x)]
        states = file.triton_parallel_scan(*leaves)
        _, to_x = torch.autograd.grad(states, leaves, upstream)
        return [torch.view_as_real(y.detach()) for y in (states, to_x)]

    def want():
        g, y, up = (z.to(torch.complex128) for z in (gates, x, upstream))
        states, to_x = torch.empty_like(y), torch.empty_like(y)
        state = torch.zeros_like(y[:, 0])
        for i in range(t):
            state = states[:, i] = g * state + y[:, i]
        state = torch.zeros_like(state)
        for i in reversed(range(t)):
            state = to_x[:, i] = g.conj() * state + up[:, i]
        return [torch.view_as_real(z) for z in (states, to_x)]

    return run, want
