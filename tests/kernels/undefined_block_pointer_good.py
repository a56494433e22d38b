# A block pointer checks its boundary, and pads with zeros.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (p * BLOCK,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,), padding_option="zero")
    tl.store(out_ptr + p, tl.max(x, axis=0))


x, out = torch.rand(50), torch.empty(2)
kernel[(2,)](x, out, 50, BLOCK=32)
