"""triton-optimizers: steps of Adam and of RMSprop, in place."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("matteobonotto/triton-optimizers", "81f6da8c9cf2b781e7d824c5a5600d298568a123")  # fmt: skip
FOLDER = "src/triton_optimizers/optim/ops"
SIZES = dict(small=dict(m=30, n=50), production=dict(m=8192, n=4096))


@repository.case(f"{FOLDER}/adam.py", "_adam_kernel", rtol=1e-4, atol=1e-5, **SIZES)
def adam(file, device, m, n):
    states = [tm.normal(m, n, device=device) for _ in range(2)]
    states.append(torch.rand(m, n).to(device))
    grad, step = tm.normal(m, n, device=device), torch.tensor(3.0, device=device)

    def run():
        p, m1, m2 = (x.clone() for x in states)
        file.adam_interface(p, grad, m1, m2, step, lr=0.01)
        return p, m1, m2

    def want():
        p, m1, m2 = (x.double() for x in states)
        m1, m2 = 0.9 * m1 + 0.1 * grad.double(), 0.999 * m2 + 0.001 * grad.double() ** 2
        root = (m2 / (1 - 0.999**3)).sqrt() + 1e-8
        return p - 0.01 * m1 / (1 - 0.9**3) / root, m1, m2

    return run, want


@repository.case(f"{FOLDER}/rmsprop.py", "_rmsprop_kernel", rtol=1e-4, atol=1e-5, **SIZES)
def rmsprop(file, device, m, n):
    param, grad = (tm.normal(m, n, device=device) for _ in range(2))
    squares = torch.rand(m, n).to(device)

    def run():
        p, s = param.clone(), squares.clone()
        file.rmsprop_interface(p, grad, s)
        return p, s

    def want():
        s = 0.99 * squares.double() + 0.01 * grad.double() ** 2
        return param.double() - 0.01 * grad.double() / (s.sqrt() + 1e-8), s

    return run, want
