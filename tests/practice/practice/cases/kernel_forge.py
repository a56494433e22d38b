"""kernel-forge: convolutions, hashes of hashes, and sums into one element."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Nikhil-Paleti/kernel-forge", "0c8fd5b7c80fd3a85e5ff58f998b23e5e1ff3732")


@repository.case("Triton/1D_convolution.py", "conv1d_kernel", small=dict(n=3000, k=33), production=dict(n=1 << 20, k=1023), rtol=1e-4, atol=1e-3)  # fmt: skip
def convolution_1d(file, device, n, k):
    x, w = tm.normal(n, device=device), tm.normal(k, device=device)

    def run():
        out = torch.empty(n - k + 1, device=device)
        file.solve(x, w, out, n, k)
        return out

    def want():
        rows, size = x.double(), n - k + 1
        return sum(w[i].double() * rows[i : i + size] for i in range(k))

    return run, want


@repository.case("Triton/2D_Convolution.py", "conv2d", small=dict(h=40, w=50, kh=3, kw=5), production=dict(h=3072, w=3072, kh=15, kw=15), rtol=1e-4, atol=1e-3)  # fmt: skip
def convolution_2d(file, device, h, w, kh, kw):
    x, kernel = tm.normal(h, w, device=device), tm.normal(kh, kw, device=device)

    def run():
        out = torch.empty(h - kh + 1, w - kw + 1, device=device)
        file.solve(x, kernel, out, h, w, kh, kw)
        return out

    def want():
        image, oh, ow = x.double(), h - kh + 1, w - kw + 1
        return sum(kernel[i, j].double() * image[i : i + oh, j : j + ow] for i in range(kh) for j in range(kw))  # fmt: skip

    return run, want


@repository.case("Triton/Rainbow_Table.py", "fnv1a_hash_kernel, fnv1a_hash", small=dict(n=2000, rounds=5), production=dict(n=1 << 24, rounds=50))  # fmt: skip
def hashes(file, device, n, rounds):
    x = tm.integers(0, 1 << 31, n, device=device, dtype=torch.int32)

    def run():
        out = torch.empty_like(x)
        file.solve(x, out, n, rounds)
        return out.long() & 0xFFFFFFFF

    def want():
        value = x.long()
        for _ in range(rounds):
            code = torch.full_like(value, 2166136261)
            for byte in range(4):
                code = (code ^ (value >> (8 * byte) & 255)) * 16777619 & 0xFFFFFFFF
            value = code
        return value

    return run, want


@repository.case("Triton/Count_2D_Array_Element.py", "count_kernel", small=dict(m=30, n=70), production=dict(m=8192, n=8192))  # fmt: skip
def count(file, device, m, n):
    x = tm.integers(0, 10, m, n, device=device, dtype=torch.int32)

    def run():
        out = torch.zeros(1, dtype=torch.int32, device=device)
        file.solve(x, out, m, n, 7)
        return out

    return run, lambda: (x == 7).sum()[None]
