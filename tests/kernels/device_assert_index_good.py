# Indices are asserted to be in range; one is masked out of the assertion.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(index_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i)
    tl.device_assert(index < rows, "index out of range", mask=index != 999)
    tl.store(out_ptr + i, index)


index = torch.tensor([1, 5, 999, 0], dtype=torch.int32)
out = torch.empty(4, dtype=torch.int32)
kernel[(1,)](index, out, 10, BLOCK=4)
