# The head of a program.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, heads):
    head = tl.program_id(0) % heads
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + head))


kernel[(2,)](torch.rand(4), torch.empty(2), 4)
