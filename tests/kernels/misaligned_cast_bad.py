# A packed record: floats that start at byte 2 of it are loaded through a cast pointer.
# CHECKS: asan
# EXPECT: misaligned-access program=0,0,0 lane=0 tensor=bytes_ptr count=8
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(bytes_ptr, out_ptr, START: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    floats = (bytes_ptr + START).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + i, tl.load(floats + i))  # <-- misaligned-access


record = torch.zeros(64, dtype=torch.int8)
out = torch.empty(8)
kernel[(1,)](record, out, START=2, BLOCK=8)
