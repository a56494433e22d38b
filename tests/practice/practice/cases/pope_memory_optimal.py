"""PoPE: positions as angles of numbers whose lengths are softplus(q) and softplus(k), turned inside
of the attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ezrakoreen/pope-memory-optimal", "ab2648ac989b08bfdaf44d17ce3a193075b4f007")  # fmt: skip


@repository.case("kernels/memory_optimized_pope.py", "pope_fwd_kernel_optimized", small=dict(b=2, heads=2, t=100, d=32), production=dict(b=2, heads=16, t=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def attention(file, device, b, heads, t, d):
    q, k, v = (tm.normal(b, heads, t, d, device=device, dtype=torch.float16) for _ in range(3))

    def want():
        # The angles get large: they are those of the file's float32.
        cos, sin = file.compute_trig_tables(t, file.compute_theta(d, device=q.device), q.device)
        both = (
            torch.cat([F.softplus(x.double()) * cos, F.softplus(x.double()) * sin], -1)
            for x in (q, k)
        )
        return tm.attention(*both, v, scale=d**-0.5, causal=True)[0]

    return lambda: file.pope_fwd_attention(q, k, v, d**-0.5), want
