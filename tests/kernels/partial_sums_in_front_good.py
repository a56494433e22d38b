# Writes partial sums in front of all dimensions: the sizes of some are constants of the kernel,
# and powers of two, before the one that is an argument.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, T, B: tl.constexpr, H: tl.constexpr, BT: tl.constexpr):
    part, time, both = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    b, h = both // H, both % H
    t = time * BT + tl.arange(0, BT)
    out_ptr += part * B * H * T + b * T * H + h
    tl.store(out_ptr + t * H, t.to(tl.float32), mask=t < T)


@triton.jit
def kernel_of_flat_rows(out_ptr, T, B: tl.constexpr, H: tl.constexpr, BT: tl.constexpr):
    part, time, both = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    b, h = both // H, both % H
    t = time * BT + tl.arange(0, BT)
    out_ptr += (part << 1) * H * T + b * T * H + h
    tl.store(out_ptr + t * H, t.to(tl.float32), mask=t < T)


for B, H in ((1, 2), (2, 2), (1, 4)):
    out = torch.zeros(2, B, 64, H)
    kernel[(2, 2, B * H)](out, 64, B, H, 32)
    assert torch.equal(out, torch.arange(64.0)[None, None, :, None].expand(2, B, 64, H))
flat = torch.zeros(4, 64, 4)
kernel_of_flat_rows[(2, 2, 8)](flat, 64, 2, 4, 32)
assert torch.equal(flat, torch.arange(64.0)[None, :, None].expand(4, 64, 4))
