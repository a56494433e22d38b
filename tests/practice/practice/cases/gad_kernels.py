"""GAD-cell's kernels: a convolution along one axis, an element for each program."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("GAD-cell/Triton_kernel", "cd4ea4cba950d5acf4769d81f7742f5aada36bd7")


@repository.case("conv1d.py", "Conv1D_kernel", small=dict(n=300, k=11), production=dict(n=1 << 19, k=1023), rtol=1e-4, atol=1e-3)  # fmt: skip
def convolution(file, device, n, k):
    a, b = tm.normal(n, device=device), tm.normal(k, device=device)

    def run():
        c = torch.empty_like(a)
        file.solution(a, b, c, n, k)
        return c

    def want():
        return F.conv1d(a.double()[None, None], b.double()[None, None], padding=k // 2)[0, 0]

    return run, want
