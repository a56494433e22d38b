# Writes partial sums in front of all dimensions, and of the last rows the next batch's.
# CHECKS: rows
# EXPECT: crosses-dimension severity=error program=0,1,0 tensor=out_ptr element=0,1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, T, B: tl.constexpr, H: tl.constexpr, BT: tl.constexpr):
    part, time, both = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    b, h = both // H, both % H
    t = time * BT + tl.arange(0, BT)
    out_ptr += part * B * H * T + b * T * H + h
    tl.store(out_ptr + t * H, t.to(tl.float32), mask=t < T + 4 * (1 - b))  # <-- crosses-dimension


out = torch.zeros(2, 2, 60, 2)
kernel[(2, 2, 4)](out, 60, 2, 2, 32)
