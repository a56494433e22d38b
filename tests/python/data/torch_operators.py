"""Kernels behind torch.library, launched by both of its ways."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


tuned = triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])(double)


@torch.library.triton_op("blockscope_test::double", mutates_args={})
def operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    torch.library.wrap_triton(double)[(1,)](x, y, x.numel(), 16)
    return y


def wrapped(kernel, grid, x, **options):
    y = torch.empty_like(x)
    torch.library.wrap_triton(kernel)[grid](x, y, x.numel(), **options)
    return y
