"""linear_cross_entropy_loss: the last layer and its loss as one, both gradients by one dispatcher."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("JonasGeiping/linear_cross_entropy_loss", "3da8e5ff11e5d1c1ef34a9a2411287058965c141")  # fmt: skip


@repository.case("linear_cross_entropy/ops.py", "linear_xent_fwd_prep_bwd_kernel_matmul_t, linear_xent_bwd_dispatcher, linear_xent_bwd_kernel_matmul_t_epilogue_dx, linear_xent_bwd_kernel_matmul_t_epilogue_dA", small=dict(n=512, h=256, v=4096, chunk=512), production=dict(n=8192, h=2048, v=32768, chunk=4096), rtol=2e-2, atol=1e-3)  # fmt: skip
def linear_loss(file, device, n, h, v, chunk):
    half = torch.float16
    x, w = tm.normal(n, h, device=device, dtype=half), tm.normal(h, v, device=device, dtype=half, scale=0.05)  # fmt: skip
    y, up = tm.integers(0, v, n, device=device), torch.tensor(1.0, device=device)
    y[5] = -100

    def triton(x, w):
        return file.linear_cross_entropy(x, y, w, z_regularization=1e-3, N_chunk_size=chunk)[0]

    def exact(x, w):
        z = x @ w
        # The regularisation counts ignored rows too.
        return F.cross_entropy(z, y.cpu(), ignore_index=-100) + 1e-3 * z.logsumexp(-1).square().sum() / (n - 1)  # fmt: skip

    return (
        lambda: tm.with_gradients(triton, up, x, w),
        lambda: tm.with_gradients(exact, up.cpu(), x.cpu(), w.cpu(), exact=True),
    )
