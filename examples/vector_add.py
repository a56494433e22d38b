"""Vector addition: one block of elements a program, the tail masked."""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y):
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
    return out


if __name__ == "__main__":
    options = arguments("add two vectors", 98432, "length of the vectors")
    report = Report("vector_add", options)
    for label, dtype in (("fp32", torch.float32), ("fp64", torch.float64), ("int32", torch.int32)):
        if report.wants(label):
            x = (torch.rand(options.size, device=DEVICE) * 100).to(dtype)
            y = (torch.rand(options.size, device=DEVICE) * 100).to(dtype)
            report.check(label, add(x, y), x.double() + y.double(), 1e-7)
    report.finish()
