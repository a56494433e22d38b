"""FLASHNN: norms with quantised results, products of int8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "AlibabaPAI/FLASHNN", "528a9301587f5fb135b25d973a87ba0a40a703a7", packages={"flashnn": "."}
)
FOLDER, HALF = "flashnn/triton_kernels/", torch.float16
SMALL, LARGE = dict(m=9, n=300), dict(m=4096, n=8192)


@repository.case(FOLDER + "rms_norm.py", "_rms_norm_kernel", small=SMALL, production=LARGE, atol=1e-4)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.triton_rmsnorm_forward(x, w, 1e-5), lambda: tm.rms_norm(x, w, 1e-5)


@repository.case(FOLDER + "layer_norm.py", "_layer_norm_kernel", small=SMALL, production=LARGE, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, b = (tm.normal(*s, device=device) for s in ((m, n), (n,), (n,)))
    return lambda: file.triton_layer_norm_forward(x, w, b, 1e-5), (
        lambda: tm.layer_norm(x, w, b, 1e-5)
    )


# The last block of the weights is loaded without `other`, and its maximum is taken.
@repository.case(FOLDER + "rms_norm_dquant.py", "_rms_norm_dquant_kernel", small=SMALL, production=LARGE, atol=5e-2)  # fmt: skip
def rms_norm_int8(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)

    def run():
        y, scales = file.triton_rmsnorm_dquant_forward(x, w, 1e-5)
        return y.double() * scales.double()[:, None]

    return run, lambda: tm.rms_norm(x, w, 1e-5)


@repository.case(FOLDER + "dynamic_quant.py", "_triton_dynamic_quantize_kernel, _abs_max", small=dict(m=9, n=256), production=dict(m=4096, n=4096), atol=3e-2)  # fmt: skip
def dynamic_int8(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        y = torch.empty(m, n, device=device, dtype=torch.int8)
        scales = torch.empty(m, device=device)
        file.triton_dynamic_quantize(y, x, scales)
        return y.double() * scales.double()[:, None]

    return run, lambda: x


@repository.case(FOLDER + "gemm_a8w8.py", "_triton_gemm_a8w8_kernel", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=8192, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product_int8(file, device, m, n, k):
    a, b = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    rows, columns = (torch.rand(*s).to(HALF).to(device) * 1e-3 for s in ((m, 1), (1, n)))

    def run():
        out = torch.empty(m, n, device=device, dtype=HALF)
        file.triton_gemm_a8w8_forward(out, a, b, rows, columns)
        return out

    return run, lambda: (a.double() @ b.double().T) * rows.double() * columns.double()
