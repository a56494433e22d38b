"""lion-pytorch: the Lion optimizer, tuned in place."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lucidrains/lion-pytorch", "6a74fdc0ba572ab5683dc0270c66c20ecbc02d09")


@repository.case("lion_pytorch/triton.py", "update_fn_kernel", small=dict(n=3000), production=dict(n=1 << 24))  # fmt: skip
def lion(file, device, n):
    p, grad, average = (tm.normal(n, device=device) for _ in range(3))

    def run():
        got = p.clone(), average.clone()
        file.update_fn(got[0], grad, got[1], 1e-2, 0.1, 0.9, 0.99)
        return got

    def want():
        a, g = average.double(), grad.double()
        step = ((a - g) * 0.9 + g).sign()
        return p.double() * (1 - 1e-3) - 1e-2 * step, (a - g) * 0.99 + g

    return run, want
