"""Running sums along rows of any length, with the last sum of a block carried into the next; and a
linear recurrence.

The recurrence h[t] = a[t] * h[t-1] + b[t] is a scan over pairs with a combine function of its
own.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = tl.zeros([1], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + columns, mask=columns < cols, other=0.0)
        tl.store(out_ptr + row * cols + columns, tl.cumsum(x, axis=0) + carry, mask=columns < cols)
        carry += tl.sum(x, axis=0)


@triton.jit
def compose(a_left, b_left, a_right, b_right):
    return a_left * a_right, a_right * b_left + b_right


@triton.jit
def recurrence_kernel(a_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * cols + columns, mask=columns < cols, other=1.0)
    b = tl.load(b_ptr + row * cols + columns, mask=columns < cols, other=0.0)
    _, h = tl.associative_scan((a, b), axis=0, combine_fn=compose)
    tl.store(out_ptr + row * cols + columns, h, mask=columns < cols)


def cumsum(x, block=256):
    out = torch.empty_like(x)
    cumsum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


def recurrence(a, b):
    out = torch.empty_like(a)
    recurrence_kernel[(a.shape[0],)](
        a, b, out, a.shape[1], BLOCK=triton.next_power_of_2(a.shape[1])
    )
    return out


if __name__ == "__main__":
    options = arguments("running sums", 1000, "columns")
    report = Report("cumsum", options)
    x = torch.randn(8, options.size, device=DEVICE)
    report.check("cumsum", cumsum(x), x.double().cumsum(dim=1), 1e-5)
    cols = min(options.size, 200)
    a, b = torch.rand(4, cols, device=DEVICE), torch.randn(4, cols, device=DEVICE)
    want = torch.empty(4, cols, dtype=torch.float64)
    state = torch.zeros(4, dtype=torch.float64)
    for t in range(cols):
        state = a[:, t].double().cpu() * state + b[:, t].double().cpu()
        want[:, t] = state
    report.check("recurrence", recurrence(a, b), want, 1e-5)
    report.finish()
