"""nano-llm: an RMS norm with the gradient of its input, and SwiGLU."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ifnodoraemon/nano-llm", "8dfa535aea924322a237a5e9e0ff218f969e8672")
FILE = "utils/triton_kernels.py"


@repository.case(FILE, "rms_norm_fwd_kernel, rms_norm_bwd_kernel", small=dict(m=20, n=100), production=dict(m=8192, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm_and_gradients(file, device, m, n):
    x, upstream = (tm.normal(m, n, device=device) for _ in range(2))
    weight = tm.normal(n, device=device)
    return (
        lambda: tm.with_gradients(file.triton_rms_norm, upstream, x, weight),
        lambda: tm.with_gradients(
            lambda *inputs: tm.rms_norm(*inputs, 1e-5), upstream, x, weight, exact=True
        ),
    )


@repository.case(FILE, "swiglu_fwd_kernel", small=dict(m=20, n=100), production=dict(m=8192, n=8192), rtol=1e-4, atol=1e-5)  # fmt: skip
def swiglu(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device)
    gate, up = (part.contiguous() for part in x.chunk(2, 1))
    return lambda: file.triton_swiglu(gate, up), lambda: tm.silu_mul(x)
