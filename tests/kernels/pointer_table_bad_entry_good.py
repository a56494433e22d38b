# A tensor of pointers, of which one is an address too.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + tl.program_id(0) * BLOCK + i, tl.load(source + i))


parts = [torch.rand(16) for _ in range(4)]
table = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64)
table[2] = parts[0].data_ptr()
out = torch.empty(4, 16)
kernel[(4,)](table, out, BLOCK=16)
