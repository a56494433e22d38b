# A tensor of pointers outlives none of its tensors.
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


@triton.jit
def kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + i, tl.load(source + i))


out = torch.empty(4096)
x = torch.rand(1 << 20)
table = torch.tensor([x.data_ptr()], dtype=torch.int64)
scale[(1,)](x, BLOCK=1024)

kernel[(1,)](table, out, BLOCK=4096)
