"""triton-kernels by Bhavikupadhyay: convolutions, Fourier transforms, scans and extremes."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Bhavikupadhyay/triton-kernels", "a5188e5adfdff826f9e0bc2acd9015973a0ace10")
F16 = torch.float16


@repository.case("kernels/convolution/conv1d.py", "conv1d_kernel", rtol=1e-2, atol=2e-2, small=dict(b=2, c=20, out=40, n=200, k=3), production=dict(b=8, c=512, out=512, n=3000, k=3))  # fmt: skip
def conv1d(file, device, b, c, out, n, k):
    x = tm.normal(b, c, n, device=device, dtype=F16)
    w = tm.normal(out, c, k, device=device, dtype=F16, scale=(c * k) ** -0.5)
    return lambda: file.conv1d(x, w), lambda: F.conv1d(x.double(), w.double())


@repository.case("kernels/convolution/conv2d.py", "conv2d_kernel", rtol=1e-2, atol=2e-2, small=dict(b=2, c=20, out=40, h=9, w=30, k=3), production=dict(b=16, c=128, out=128, h=130, w=130, k=3))  # fmt: skip
def conv2d(file, device, b, c, out, h, w, k):
    x = tm.normal(b, c, h, w, device=device, dtype=F16)
    weight = tm.normal(out, c, k, k, device=device, dtype=F16, scale=(c * k * k) ** -0.5)
    return lambda: file.conv2d(x, weight), lambda: F.conv2d(x.double(), weight.double())


@repository.case("kernels/convolution/depthwise_conv2d.py", "depthwise_conv2d_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, c=5, h=30, w=50, k=7), production=dict(b=16, c=192, h=118, w=118, k=7))  # fmt: skip
def depthwise(file, device, b, c, h, w, k):
    x, weight = tm.normal(b, c, h, w, device=device), tm.normal(c, 1, k, k, device=device)
    return (
        lambda: file.depthwise_conv2d(x, weight),
        lambda: F.conv2d(x.double(), weight.double(), groups=c),
    )


@repository.case("kernels/fft/fft_kernel.py", "butterfly_stage_kernel", rtol=1e-3, atol=1e-3, small=dict(b=3, n=256), production=dict(b=8192, n=2048))  # fmt: skip
def fft(file, device, b, n):
    x = tm.normal(b, n, device=device)
    parts = torch.view_as_real
    return lambda: parts(file.fft(x)), lambda: parts(torch.fft.fft(x.double()))


@repository.case("kernels/scanning/cummax.py", "cummax_pass1, cummax_pass2, cummax_pass3", rtol=0, atol=0, small=dict(n=5000), production=dict(n=1 << 24))  # fmt: skip
def cummax(file, device, n):  # in place, as is the next one
    x = tm.normal(n, device=device)
    return lambda: file.cummax(x.clone()), lambda: x.cummax(0).values


@repository.case("kernels/scanning/prefix_sum.py", "prefix_sum_pass1, prefix_sum_pass2, prefix_sum_pass3", rtol=1e-4, atol=1e-2, small=dict(n=5000), production=dict(n=1 << 24))  # fmt: skip
def prefix_sum(file, device, n):
    x = torch.rand(n).to(device)
    return lambda: file.prefix_sum(x.clone()), lambda: x.double().cumsum(0)


@repository.case("kernels/reductions/max_min.py", "argmax_kernel, argmax_partials_kernel", rtol=0, atol=0, small=dict(n=5000), production=dict(n=1 << 26))  # fmt: skip
def argmax(file, device, n):
    x = tm.normal(n, device=device)
    return lambda: file.argmax(x), lambda: (x.max(), x.argmax())
