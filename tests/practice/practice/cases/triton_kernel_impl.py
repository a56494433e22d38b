"""triton_kernel_impl: softmax, and attention of numbers for vectors, in one or two passes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Wencong50714/triton_kernel_impl", "32e042c9b3dbdcb6556edb25443ea9af3fd37a42", folders=("",))  # fmt: skip


@repository.case("operators.py", "two_pass_flashatt_kernel, one_pass_flashatt_kernel", small=dict(n=200, keys=200), production=dict(n=65536, keys=8192), rtol=1e-4, atol=1e-5)  # fmt: skip
def attention(file, device, n, keys):
    q, k, v = (torch.rand(size).sub(0.5).to(device) for size in (n, keys, keys))

    def run():
        out = [torch.empty(n, device=device) for _ in range(2)]
        kernels = file.two_pass_flashatt_kernel, file.one_pass_flashatt_kernel
        for kernel, z in zip(kernels, out, strict=True):
            kernel[(-(-n // 64), 1, 1)](q, k, v, z, n, keys, B0=64, B1=32)
        return out

    def want():
        y = [
            (rows[:, None] * k.double()).softmax(-1) @ v.double() for rows in q.double().split(8192)
        ]
        return [torch.cat(y)] * 2

    return run, want


@repository.case("softmax.py", "_softmax_kernel_online", small=dict(m=20, n=700), production=dict(m=8192, n=8192), rtol=1e-4, atol=1e-7)  # fmt: skip
def softmax_online(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.online_softmax(x), lambda: x.double().softmax(-1)


@repository.case("softmax.py", "_softmax_kernel_fused", small=dict(m=20, n=700), production=dict(m=8192, n=8192), rtol=1e-4, atol=1e-7)  # fmt: skip
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.fused_softmax(x), lambda: x.double().softmax(-1)
