"""Dropout that keeps no mask: the random numbers of a seed are made again when they are needed
(Philox 4x32-10).
"""

import numpy as np
import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    kept = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - p), 0.0), mask=inside)


@triton.jit
def random_kernel(uniform_ptr, integer_ptr, n, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(uniform_ptr + offsets, tl.rand(seed, offsets), mask=inside)
    tl.store(integer_ptr + offsets, tl.randint(seed, offsets), mask=inside)


def dropout(x, p, seed):
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), p, seed, BLOCK=1024)
    return out


def philox(seed, counters):
    """First word of Philox 4x32-10 for every counter (Salmon et al., SC 2011), in NumPy."""
    low = np.uint64(0xFFFFFFFF)
    c = [counters.astype(np.uint64)] + [np.zeros(len(counters), np.uint64) for _ in range(3)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        product0, product1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        high0, high1 = product0 >> np.uint64(32), product1 >> np.uint64(32)
        c = [
            high1 ^ c[1] ^ np.uint64(key[0]),
            product1 & low,
            high0 ^ c[3] ^ np.uint64(key[1]),
            product0 & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32).view(np.int32)


def uniform(words):
    """Signed words to [0, 1): negative ones are folded over, then scaled."""
    return np.where(words < 0, -1 - words, words).astype(np.float32) * np.float32(4.6566127342e-10)


if __name__ == "__main__":
    options = arguments("dropout", 20000, "elements")
    report = Report("dropout", options)
    n, p, seed = options.size, 0.25, 123456789012345
    words = philox(seed, np.arange(n))
    integers = torch.empty(n, dtype=torch.int32, device=DEVICE)
    numbers = torch.empty(n, dtype=torch.float32, device=DEVICE)
    random_kernel[(triton.cdiv(n, 1024),)](numbers, integers, n, seed, BLOCK=1024)
    report.check("randint", integers, torch.from_numpy(words.copy()), 0)
    report.check("rand", numbers, torch.from_numpy(uniform(words)), 0)

    x = torch.randn(n, device=DEVICE)
    out = dropout(x, p, seed)
    kept = torch.from_numpy(uniform(words)).to(DEVICE) > p
    report.check("dropout", out, torch.where(kept, x.double() / (1 - p), 0.0), 1e-6)
    report.check("again", dropout(x, p, seed), out, 0)
    report.finish()
