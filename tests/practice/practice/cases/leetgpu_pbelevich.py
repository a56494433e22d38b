"""pbelevich's leetgpu: a sum by atomics, and a softmax by three kernels that loop over rows."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pbelevich/leetgpu", "2e682766131364c13cc70e486830ba29d42c33be")


@repository.case("reduction-triton2-fast.py", "sum_kernel", small=dict(n=3000), production=dict(n=1 << 26), rtol=1e-4, atol=1e-2)  # fmt: skip
def total(file, device, n):
    x = torch.rand(n).to(device)

    def run():
        out = torch.zeros(1, device=device)
        file.solve(x, out, n)
        return out

    return run, lambda: x.double().sum()[None]


@repository.case("softmax-triton3.py", "max_kernel, sum_kernel, softmax_kernel", small=dict(rows=2, n=70000), production=dict(rows=256, n=131072), rtol=1e-4, atol=1e-9)  # fmt: skip
def softmax(file, device, rows, n):
    x = tm.normal(rows, n, device=device)

    def run():
        y = torch.empty_like(x)
        largest, total = (torch.zeros(rows, device=device) for _ in range(2))
        grid, size = (rows,), 64 * 1024
        file.max_kernel[grid](x, n, largest, n, size, num_warps=32)
        file.sum_kernel[grid](x, n, largest, total, n, size, num_warps=32)
        file.softmax_kernel[grid](x, n, largest, total, y, n, n, size, num_warps=32)
        return y

    return run, lambda: x.double().softmax(-1)
