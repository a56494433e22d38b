"""RMSNorm of three axes, a program for each row."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Indolent-Kawhi/RMSNorm-Triton-Kernel", "d6cec6adefb28772642376812c817ef14e6be6e8")  # fmt: skip


@repository.case("RMSNormTritonKernel.py", "RMSNorm_Triton_fwd", small=dict(b=2, n=5, d=300), production=dict(b=8, n=2048, d=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, b, n, d):
    x, weight = tm.normal(b, n, d, device=device), tm.normal(d, device=device)
    return (
        lambda: file.RMSNormTritonKernel.apply(x, weight),
        lambda: tm.rms_norm(x, weight, 1e-5),
    )
