"""axonforge: kernels that are made in the function that launches them: attention, SwiGLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ritunjaym/axonforge", "cbddd30d2438447b414144b7532bbb97787b6f58")


@repository.case("kernels/flash_attention.py", "_flash_attn_kernel", small=dict(b=2, heads=2, n=150, d=32), production=dict(b=4, heads=16, n=2048, d=64), rtol=1e-2, atol=5e-3)  # fmt: skip
def attention(file, device, b, heads, n, d):
    """In float32: tensor cores round it to tf32."""
    q, k, v = (tm.normal(b, heads, n, d, device=device) for _ in range(3))
    return lambda: file.flash_attention(q, k, v), lambda: tm.attention(q, k, v)[0]


@repository.case("kernels/swiglu.py", "_swiglu_kernel", small=dict(m=3, n=900), production=dict(m=4096, n=8192), rtol=1e-2, atol=1e-3)  # fmt: skip
def swiglu(file, device, m, n):
    gate, up = (tm.normal(m, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    return (
        lambda: file.swiglu_triton(gate, up),
        lambda: F.silu(gate.double()) * up.double(),
    )
