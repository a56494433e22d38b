"""RzLinear: products with weights that a hash takes from a short row."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("apd10/RzLinear", "eb56657b2de0a97f398f88af421b0fbcbc5469c9", packages={"rz_linear": "python"})  # fmt: skip
NUMBERS = [45007, 123, 4567, 890, 22222, 333, 44, 5555]  # R0 to R7


@repository.case("python/rz_linear/RzLinearFunction.py", "rz_linear_forward_kernel_notune, rz_linear_forward_core, rz_linear_backward_input_grad_kernel_notune, rz_linear_backward_input_grad_core, rz_linear_backward_weight_grad_kernel_notune, rz_linear_backward_weight_grad_core", small=dict(m=70, k=96, n=128, h=3000), production=dict(m=4096, k=1024, n=1024, h=65536), rtol=1e-3, atol=1e-2)  # fmt: skip
def linear(file, device, m, k, n, h):
    x, w, up = (tm.normal(*s, device=device) for s in ((m, k), (h,), (m, n)))
    bk, bn, (r0, r1, r2, r3, r4, r5, _, r7) = 32, 64, NUMBERS

    def dense(x, w):
        row, column = torch.arange(k, device=w.device)[:, None], torch.arange(n, device=w.device)
        i, j = row // bk, column // bn
        first = (i * r3 + j * r2 + r1) % r0 * r0 + (i * r7 + j * r5 + r4) % r0
        return x @ w[first % (h - bk * bn) + row % bk * bn + column % bn]

    return (
        lambda: tm.with_gradients(lambda x, w: file.RzLinearFunction.apply(x, w, torch.tensor(NUMBERS), n, 1, 1.0), up, x, w),
        lambda: tm.with_gradients(dense, up, x, w, exact=True),
    )  # fmt: skip


@repository.case("python/rz_linear/impl/RzLinearIdx.py", "rz_linear_idx_kernel", small=dict(k=64, n=96, h=2000), production=dict(k=4096, n=4096, h=1 << 20))  # fmt: skip
def weights(file, device, k, n, h):
    w, (r0, r1, r2, r3) = tm.normal(h, device=device), NUMBERS[:4]
    i, j = torch.arange(k)[:, None], torch.arange(n)

    def want():
        first = (i // 32 * r3 + j // 32 * r2 + r1) % r0 % (h - 1024)
        return w.cpu()[first + i % 32 * 32 + j % 32]

    return lambda: file.rz_linear_idx_tl(w, k, n, h, r3, r2, r1, r0), want
