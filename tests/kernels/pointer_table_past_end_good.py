# A tensor of pointers to parts of different lengths, each with its own.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, length_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    n = tl.load(length_ptr + tl.program_id(0))
    tl.store(out_ptr + tl.program_id(0) * BLOCK + i, tl.load(source + i, mask=i < n, other=0.0))


parts = [torch.rand(16), torch.rand(12), torch.rand(16)]
table = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64)
length = torch.tensor([len(part) for part in parts], dtype=torch.int32)
out = torch.empty(3, 16)
kernel[(3,)](table, length, out, BLOCK=16)
