# An embedding look-up by indices from memory, one of which is out of range.
# CHECKS: asan
# EXPECT: oob-load program=0,0,0 lane=5 tensor=table_ptr element=100 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, index_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i)
    x = tl.load(table_ptr + index)  # <-- oob-load
    tl.store(out_ptr + i, x)


table = torch.rand(100)
index = torch.arange(0, 64, 4)
index[5] = 100  # one past the end
out = torch.empty(16)
kernel[(1,)](table, index, out, 100, BLOCK=16)
