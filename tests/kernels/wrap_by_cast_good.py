# An index stays int64.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, row, stride):
    offset = row.to(tl.int64) * stride
    tl.store(out_ptr, tl.load(x_ptr + offset, mask=offset < 4, other=0))


kernel[(1,)](torch.rand(4), torch.empty(1), 65536, 65536)
