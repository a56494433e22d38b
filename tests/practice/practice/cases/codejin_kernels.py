"""Triton-Kernel of CODEJIN: linear layers, all of them by block pointers."""

from __future__ import annotations

import sys
from types import ModuleType

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("CODEJIN/Triton-Kernel", "b1ec4d8bf01b4029b73ce1efb3d6e7c84b980bae")
sys.modules.setdefault("triton.ops", ModuleType("triton.ops"))  # imported, but not used


@repository.case("Linear.py", "_Linear_with_Bias_Triton_Kernel.forward", rtol=1e-2, atol=2e-2, small=dict(m=70, k=100, n=90), production=dict(m=8192, k=4096, n=4096))  # fmt: skip
def linear(file, device, m, k, n):
    shapes = (m, k), (k, n), (n,)
    x, w, b = (tm.normal(*s, device=device, dtype=torch.float16, scale=0.2) for s in shapes)
    return lambda: file.linear_with_bias(x, w, b), lambda: x.double() @ w.double() + b.double()
