"""michael-diggin/triton-kernels: layers of networks on meshes, a modulated layer, split products."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("michael-diggin/triton-kernels", "66ce3af9bb63d8246730e21c3d8ed4095dde5dd4", packages={"spatial_gradients": ".", "spatial_diffusion": ".", "modulated_resnet": "."})  # fmt: skip
HALF = dict(rtol=1e-2, atol=2e-2)
FP16 = torch.float16


@repository.case("spatial_gradients/function.py", "_gradient_matmul, _linear_matmul", small=dict(n=150), production=dict(n=4096), **HALF)  # fmt: skip
def spatial_gradients(file, device, n):
    """As many channels as vertices: it takes one number for both."""
    x, gr, gi, lr, li = (tm.normal(n, n, device=device, dtype=FP16, scale=s * n**-0.5) for s in (n**0.5, 1, 1, 1, 1))  # fmt: skip

    def want():
        a, b = gr.double() @ x.double(), gi.double() @ x.double()
        r, i = lr.double().T, li.double().T
        return (a * (a @ r - b @ i) + b * (b @ r + a @ i)).tanh()

    return lambda: file.SpatialGradFunction.apply(x, gr, gi, lr, li), want


@repository.case("spatial_diffusion/function.py", "_splitk_diffusion", small=dict(v=300), production=dict(v=384), **HALF)  # fmt: skip
def spatial_diffusion(file, device, v):
    """It takes the numbers of programs from other axes, which is right where all are 6."""
    m, n = 192, 384
    b, x = tm.normal(v, m, device=device, scale=v**-0.5), tm.normal(v, n, device=device)
    mass, e, d = (torch.rand(k).to(device) for k in (v, m, n))

    def want():
        s = (-e.double()[:, None] * d.double()).exp() * (b.double().T @ (x * mass[:, None]).double())  # fmt: skip
        return b.double() @ s, s

    return lambda: file.splitk_diffusion(b, x, mass, e, d), want


@repository.case("modulated_resnet/kernel.py", "_moderesnet_block_kernel", small=dict(m=150, n=90), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def modulated_layer(file, device, m, n):
    """Its own function is written for an older torch."""
    x, y = (tm.normal(m, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    w, u = (tm.normal(n, n, device=device, dtype=torch.bfloat16, scale=n**-0.5) for _ in range(2))

    def run():
        z = torch.empty_like(x), torch.empty_like(x)
        strides = [s for t in (x, y, w, u, *z) for s in t.stride()]
        grid = -(-m // 128), -(-n // 64)
        file._moderesnet_block_kernel[grid](x, y, w, u, *z, m, n, n, *strides, GROUP_SIZE=8, BLOCK_M=128, BLOCK_N=64, BLOCK_K=32)  # fmt: skip
        return z

    def want():
        a, b = (x.double() @ w.double().T).sigmoid(), (y.double() @ u.double().T).sigmoid()
        return a, a * b

    return run, want


@repository.case("split_k/split_k.py", "_splitk_kernel", small=dict(k=1000), production=dict(k=65536), rtol=1e-2, atol=2e-1)  # fmt: skip
def split_product(file, device, k):
    """It takes the numbers of programs from other axes, which is right where all are 6."""
    a, b = tm.normal(384, k, device=device, dtype=FP16), tm.normal(k, 384, device=device, dtype=FP16)  # fmt: skip
    return lambda: file.splitk_kernel(a, b.bfloat16().to(FP16)), lambda: a.double() @ b.bfloat16().double()  # fmt: skip
