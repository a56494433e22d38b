# An embedding look-up by indices from memory, one of which is masked off because it is out of
# range.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, index_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i)
    x = tl.load(table_ptr + index, mask=index < rows, other=0.0)
    tl.store(out_ptr + i, x)


table = torch.rand(100)
index = torch.arange(0, 64, 4)
index[5] = 100  # one past the end
out = torch.empty(16)
kernel[(1,)](table, index, out, 100, BLOCK=16)
