"""ld_triton: convolution as an implicit product, losses, norms and softmax, with gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository(
    "l1351868270/ld_triton",
    "fc3796283e7c9dfe1c0112387846cfdc4eb71809",
    packages={"ld_triton": "."},
    stand_ins=PYTEST,
)
SMALL, LARGE = dict(rows=7, n=75), dict(rows=2048, n=4000)


def rows_case(path, kernels, function, right, inputs=1, **sizes):
    """A function of rows and its gradients, compared with torch."""

    def build(file, device, rows, n):
        x = [tm.normal(rows, n, device=device) for _ in range(inputs)]
        up = right(*x)
        up = tm.normal(*up.shape, device=device)
        ours = getattr(file, function)
        return (
            lambda: tm.with_gradients(ours, up, *x),
            lambda: tm.with_gradients(right, up, *x, exact=True),
        )

    options = dict(small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4) | sizes
    repository.case(f"ld_triton/ops/{path}.py", kernels, name=function, **options)(build)


rows_case("softmax/triton_softmax", "_triton_softmax_fwd_kernel, _triton_softmax_bwd_kernel", "triton_softmax", lambda x: x.softmax(-1))  # fmt: skip


@repository.case("ld_triton/ops/mse/triton_mse.py", "_triton_mse_fwd_kernel, _triton_mse_bwd_kernel", small=SMALL, production=LARGE, rtol=1e-4)  # fmt: skip
def mse(file, device, rows, n):
    x, y = (tm.normal(rows, n, device=device) for _ in range(2))
    up = torch.tensor(1.5, device=device)
    return (
        lambda: tm.with_gradients(lambda x: file.triton_mse(x, y), up, x),
        lambda: tm.with_gradients(lambda x: F.mse_loss(x, y.double()), up, x, exact=True),
    )


@repository.case("ld_triton/ops/rms_norm/triton_rms_norm.py", "_triton_rms_norm_fwd_kernel, _triton_rms_norm_x_bwd_kernel, _triton_rms_norm_weight_bwd_kernel", small=SMALL, production=dict(rows=64, n=512), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, rows, n):
    x, up = (tm.normal(rows, n, device=device) for _ in range(2))
    w = tm.normal(n, device=device)
    return (
        lambda: tm.with_gradients(file.triton_rms_norm, up, x, w),
        lambda: tm.with_gradients(lambda x, w: tm.rms_norm(x, w, 1e-6), up, x, w, exact=True),
    )


# Its gradient takes the square of another term than the derivative has.
@repository.case("ld_triton/ops/sigmoid/triton_sigmoid.py", "_triton_sigmoid_fwd_kernel", small=SMALL, production=LARGE)  # fmt: skip
def sigmoid(file, device, rows, n):
    x = tm.normal(rows, n, device=device)
    return lambda: file.triton_sigmoid(x), lambda: x.double().sigmoid()


@repository.case("ld_triton/ops/max/triton_max.py", "triton_max_fwd", small=SMALL, production=LARGE)
def maximum(file, device, rows, n):
    x = tm.normal(rows, n, device=device)
    return lambda: file.triton_max(x, -1, False), lambda: tuple(x.max(-1))


CONV = dict(b=2, c=7, y=8, x=9, k=5, r=3, s=2)


def convolution(stride, padding, dilation):
    def build(file, device, b, c, y, x, k, r, s):
        half = dict(device=device, dtype=torch.float16)
        image, weight, bias = tm.normal(b, c, y, x, **half), tm.normal(k, c, r, s, **half), tm.normal(k, **half)  # fmt: skip
        how = [(n, n) for n in (stride, padding, dilation)]
        up = torch.randn_like(F.conv2d(image, weight, bias, *how))
        return (
            lambda: tm.with_gradients(
                lambda *t: file.triton_conv2d(*t, *how), up, image, weight, bias
            ),  # fmt: skip
            lambda: tm.with_gradients(
                lambda *t: F.conv2d(*t, *how), up, image, weight, bias, exact=True
            ),  # fmt: skip
        )

    return build


# The masks of its images leave out the channel, and rows past the end are those at the start again.
for name, how in (("conv2d", (1, 0, 1)), ("conv2d_strided", (2, 2, 2))):
    repository.case("ld_triton/ops/convolution/triton_conv2d.py", "_implicit_gemm_conv2d_fwd_kernel, _implicit_gemm_conv2d_input_bwd_kernel, _implicit_gemm_conv2d_weight_bwd_kernel, _implicit_gemm_conv2d_bias_bwd_kernel", small=CONV, production=dict(b=4, c=64, y=32, x=32, k=128, r=3, s=3), rtol=1e-2, atol=5e-2, finds="oob-load,race-same-value", name=name)(convolution(*how))  # fmt: skip
