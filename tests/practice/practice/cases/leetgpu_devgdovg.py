"""Solutions of LeetGPU by devgdovg: pictures, histograms and attention by block pointers."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("devgdovg/leetgpu_solutions", "14e055053f32f5dd551d20ed4ae1227acdda5932")


@repository.case("leetgpu_gaussian_blur/solve.py", "gaussian_blur_kernel", rtol=1e-4, atol=1e-4, small=dict(h=20, w=30, kh=5, kw=7), production=dict(h=2048, w=2048, kh=7, kw=7))  # fmt: skip
def blur(file, device, h, w, kh, kw):
    x, kernel = tm.normal(h, w, device=device), tm.normal(kh, kw, device=device)

    def run():
        out = torch.empty_like(x)
        file.solve(x, kernel, out, h, w, kh, kw)
        return out

    def want():
        padding = kh // 2, kw // 2
        return F.conv2d(x.double()[None, None], kernel.double()[None, None], padding=padding)[0, 0]

    return run, want


@repository.case("leetgpu_max_pooling_operation/solve.py", "max_pooling_kernel", small=dict(n=2, c=2, h=20, w=30), production=dict(n=4, c=16, h=1024, w=1024))  # fmt: skip
def max_pooling(file, device, n, c, h, w):
    x = tm.normal(n, c, h, w, device=device)

    def run():
        out = torch.empty(n, c, (h + 1) // 2, (w + 1) // 2, device=device)
        file.solve(x, out, n, c, h, w, 3, 2, 1)
        return out

    return run, lambda: F.max_pool2d(x, 3, 2, padding=1)


@repository.case("leetgpu_histogramming/solve.py", "histogram_kernel", small=dict(n=3000, bins=20), production=dict(n=1 << 24, bins=256))  # fmt: skip
def histogram(file, device, n, bins):
    x = tm.integers(0, bins, n, device=device, dtype=torch.int32)

    def run():
        out = torch.zeros(bins, device=device, dtype=torch.int32)
        file.solve(x, out, n, bins)
        return out

    return run, lambda: x.long().bincount(minlength=bins)


@repository.case("leetgpu_attention_with_linear_biases/solve.py", "attention_with_linear_bias_kernel", rtol=1e-4, atol=1e-4, small=dict(m=50, n=70, d=40), production=dict(m=4096, n=4096, d=128))  # fmt: skip
def linear_biases(file, device, m, n, d):
    q, k, v = (tm.normal(rows, d, device=device) for rows in (m, n, n))

    def run():
        return file.solve(q, k, v, torch.empty_like(q), m, n, d, 0.05)

    def want():
        i, j = (torch.arange(size, device=device) for size in (m, n))
        bias = 0.05 * (i[:, None] - j)
        return tm.attention(q[None], k[None], v[None], bias=bias)[0][0]

    return run, want


@repository.case("leetgpu_2d_subarray_sum/solve.py", "_sum_kernel", rtol=1e-4, atol=1e-3, small=dict(h=200, w=150), production=dict(h=10000, w=10000))  # fmt: skip
def part_sum(file, device, h, w):
    x = torch.rand(h, w).to(device)
    first, last = (h // 8, w // 7), (h * 7 // 8, w * 6 // 7)

    def run():
        out = torch.zeros(1, device=device)
        file.solve(x, out, h, w, first[0], last[0], first[1], last[1])
        return out

    def want():
        return x[first[0] : last[0] + 1, first[1] : last[1] + 1].double().sum()[None]

    return run, want
