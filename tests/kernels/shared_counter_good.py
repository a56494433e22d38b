# Every program counts itself with an atomic.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, counter_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    positive = tl.sum((tl.load(x_ptr + offsets) > 0).to(tl.int32), axis=0)
    tl.atomic_add(counter_ptr, positive)


x = (torch.arange(256) % 64 < 64 >> torch.arange(256) // 64).to(torch.int32)  # 64, 32, 16, 8 ones
counter = torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, counter, BLOCK=64)
