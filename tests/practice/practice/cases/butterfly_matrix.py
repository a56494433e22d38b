"""butterfly_matrix_kernel: FFTs by a launch for each of their stages, and butterfly matrices."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "kiaghods/butterfly_matrix_kernel", "eccc067ff288ca236ea9d3c29e12f84587e20db9"
)


@repository.case("triton_fft_kernel.py", "fft_butterfly_stage_kernel", small=dict(b=2, n=256), production=dict(b=1, n=1 << 16), atol=1e-3)  # fmt: skip
def fft(file, device, b, n):
    x = tm.normal(b, n, 2, device=device)
    want = torch.view_as_real(torch.fft.fft(torch.view_as_complex(x.double())))
    return lambda: file.fft_triton(x), lambda: want
