"""Histogram by atomics: one atomic per element, and one per bin and program after a histogram of
the block.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def per_element_kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    bins = tl.load(x_ptr + offsets, mask=inside, other=0)
    tl.atomic_add(counts_ptr + bins, 1, mask=inside, sem="relaxed")


@triton.jit
def per_block_kernel(x_ptr, counts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    bins = tl.load(x_ptr + offsets, mask=inside, other=0)
    counts = tl.histogram(bins, BINS)
    index = tl.arange(0, BINS)
    masked_off = BLOCK - tl.sum(inside.to(tl.int32), axis=0)
    counts = tl.where(
        index == 0, counts - masked_off, counts
    )  # lanes past the end were counted as bin 0
    tl.atomic_add(counts_ptr + index, counts)


def histogram(x, bins, by_block, block=512):
    counts = torch.zeros(bins, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(x.numel(), block),)
    if by_block:
        per_block_kernel[grid](x, counts, x.numel(), BINS=bins, BLOCK=block)
    else:
        per_element_kernel[grid](x, counts, x.numel(), BLOCK=block)
    return counts


if __name__ == "__main__":
    options = arguments("histogram", 10000, "elements")
    report = Report("histogram", options)
    x = (torch.randn(options.size, device=DEVICE) * 20 + 64).clamp(0, 127).to(torch.int32)
    want = torch.bincount(x, minlength=128)
    report.check("per element", histogram(x, 128, by_block=False), want, 0)
    report.check("per block", histogram(x, 128, by_block=True), want, 0)
    report.finish()
