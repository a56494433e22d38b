# A block pointer checks its boundary, and pads with nothing.
# CHECKS: undefined
# EXPECT: undefined-value program=1,0,0 tensor=out_ptr element=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (p * BLOCK,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,))
    tl.store(out_ptr + p, tl.max(x, axis=0))  # <-- undefined-value


x, out = torch.rand(50), torch.empty(2)
kernel[(2,)](x, out, 50, BLOCK=32)
