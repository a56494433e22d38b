"""gau-nernst's answers to GPU MODE's tasks: a histogram."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gau-nernst/gpu-mode-kernels", "0b216c39b307e49187042a66408df467b1d2edfd", stand_ins={"task": {}})  # fmt: skip


@repository.case("pmpp_v2/histogram_py/submission_triton_v0.py", "kernel", small=dict(n=3000), production=dict(n=1 << 26), rtol=0, atol=0)  # fmt: skip
def histogram(file, device, n):
    """Zeros that are counted behind the end are taken away again."""
    x = tm.integers(0, 256, n, device=device, dtype=torch.uint8)

    def run():
        return file.custom_kernel((x, torch.empty(256, dtype=torch.int32, device=device)))

    return run, lambda: torch.bincount(x.long(), minlength=256)
