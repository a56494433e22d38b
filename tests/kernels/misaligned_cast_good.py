# A packed record: floats that start at byte 4 of it are loaded through a cast pointer.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(bytes_ptr, out_ptr, START: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    floats = (bytes_ptr + START).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + i, tl.load(floats + i))


record = torch.zeros(64, dtype=torch.int8)
out = torch.empty(8)
kernel[(1,)](record, out, START=4, BLOCK=8)
