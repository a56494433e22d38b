"""flash-muon: a matrix times its own transpose, half of it computed."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("nil0x9/flash-muon", "80ac87fb49afc792b84eccb393d051b1ed8eee32")


@repository.case("flash_muon/matmul_transpose_triton.py", "mmt_kernel", small=dict(m=150, k=100), production=dict(m=4096, k=4096), rtol=1e-2, atol=1e-1)  # fmt: skip
def times_own_transpose(file, device, m, k):
    x = tm.normal(m, k, device=device, dtype=torch.bfloat16)
    return lambda: file.matmul_transpose(x), lambda: x.double() @ x.double().T
