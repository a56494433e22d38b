# The head of a program, of a model that has none.
# CHECKS: arith
# EXPECT: division-by-zero program=0,0,0 tensor=x_ptr element=0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, heads):
    head = tl.program_id(0) % heads  # <-- division-by-zero
    tl.store(out_ptr + tl.program_id(0), tl.load(x_ptr + head))


kernel[(1,)](torch.rand(4), torch.empty(2), 0)
