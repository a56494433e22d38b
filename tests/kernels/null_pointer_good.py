# A tensor of pointers in which 0 stands for an absent part: it is masked off.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    address = tl.load(table_ptr + tl.program_id(0))
    present = (i >= 0) & (address != 0)
    part = tl.load(address.to(tl.pointer_type(tl.float32)) + i, mask=present, other=0.0)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + i, part)


part = torch.rand(16)
table = torch.tensor([part.data_ptr(), 0, part.data_ptr()], dtype=torch.int64)
out = torch.empty(3, 16)
kernel[(3,)](table, out, BLOCK=16)
