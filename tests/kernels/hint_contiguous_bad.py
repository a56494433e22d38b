# Offsets modulo 50 are not contiguous where they go round.
# CHECKS: hints
# EXPECT: false-hint program=1,0,0 lane=18 count=1 severity=note
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    i = tl.max_contiguous(i, BLOCK)  # <-- false-hint
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x_ptr + i))


x, out = torch.ones(256), torch.zeros(64)
kernel[(2,)](x, out, 50, BLOCK=32)
