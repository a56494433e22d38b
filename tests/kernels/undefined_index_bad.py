# Indices are loaded under a mask, the elements they name without one.
# CHECKS: undefined
# EXPECT: undefined-value program=1,0,0 lane=28
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(index_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i, mask=i < n)
    x = tl.load(x_ptr + index)  # <-- undefined-value
    tl.store(out_ptr + i, x, mask=i < n)


index = torch.randperm(60).to(torch.int32)
x, out = torch.rand(60), torch.empty(60)
kernel[(2,)](index, x, out, 60, BLOCK=32)
assert torch.equal(out, x[index.long()])
