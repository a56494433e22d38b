"""modded-nanogpt: symmetric products, a fused layer by descriptors, transposed copies."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("KellerJordan/modded-nanogpt", "f411b3d346aa52d3504324ca93c230fd84c6c07f")
FILE = "triton_kernels.py"
# CUDA C++, which none of these cases runs.
torch.cuda._compile_kernel = lambda *_, **__: SimpleNamespace(
    set_shared_memory_config=lambda *_: None
)
BF16 = torch.bfloat16
# A block on the diagonal is stored, then stored mirrored.
MIRROR = "race-same-value,race-warp-order"
SMALL, LARGE = dict(b=2, m=160, k=96), dict(b=16, m=768, k=3072)


@repository.case(FILE, "XXT_kernel", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-1, finds=MIRROR)  # fmt: skip
def product_with_transposed(file, device, b, m, k):
    x = tm.normal(b, m, k, device=device, dtype=BF16)
    return lambda: file.XXT(x, torch.empty(b, m, m, device=device, dtype=BF16)), (
        lambda: x.double() @ x.double().mT
    )


@repository.case(FILE, "XTX_kernel", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-1, finds=MIRROR)  # fmt: skip
def transposed_product(file, device, b, m, k):
    x = tm.normal(b, m, k, device=device, dtype=BF16)
    return lambda: file.XTX(x, torch.empty(b, k, k, device=device, dtype=BF16)), (
        lambda: x.double().mT @ x.double()
    )


@repository.case(FILE, "ba_plus_cAA_kernel", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-1)
def polynomial(file, device, b, m, k):
    x = tm.normal(b, m, m, device=device, dtype=BF16)
    x = x + x.mT
    return lambda: file.ba_plus_cAA(x, 0.5, -2.0, torch.empty_like(x)), (
        lambda: 0.5 * x.double() @ x.double().mT - 2 * x.double()
    )


@repository.case(FILE, "linear_relu_square_kernel", small=dict(m=200, n=512, k=128), production=dict(m=65536, n=3072, k=768), rtol=2e-2, atol=2e-1)  # fmt: skip
def linear_relu_square(file, device, m, n, k):
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (n, k)))
    return lambda: file.linear_relu_square(x, w), (
        lambda: (x.double() @ w.double().T).relu().square()
    )


@repository.case(FILE, "_transpose_copy_kernel", small=dict(m=200, n=300), production=dict(m=50304, n=768))  # fmt: skip
def transposed_copy(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        out = torch.empty(n, m, device=device, dtype=BF16)
        file.transpose_copy(x, out)
        return out

    return run, lambda: x.T


@repository.case(FILE, "_transpose_add_kernel", small=dict(m=200, n=300), production=dict(m=50304, n=768))  # fmt: skip
def transposed_add(file, device, m, n):
    x, y = tm.normal(m, n, device=device), tm.normal(n, m, device=device)

    def run():
        out = y.clone()
        file.transpose_add(x, out)
        return out

    return run, lambda: y.double() + x.T


@repository.case(FILE, "quantize_transpose_mlp_down_weights_kernel, reduce_mlp_activation_scales_kernel", small=dict(n=300, count=5), production=dict(n=4096, count=132))  # fmt: skip
def activation_scales(file, device, n, count):
    amax = tm.normal(7, count, device=device).abs()

    def run():
        scales = torch.zeros(7, device=device)
        file.reduce_mlp_activation_scales(amax.clone(), scales, headroom=1.25)
        return scales

    return run, lambda: amax.double().amax(1) * 1.25 / 448
