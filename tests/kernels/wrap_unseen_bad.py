# The last row of a large table: 50000 * 65536 is more than an int32 holds. Without the check for
# overflow only the address tells of it.
# CHECKS: asan
# EXPECT: oob-load program=0,0,0 lane=0 tensor=table_ptr element=-1018167296 count=32
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, row, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    values = tl.load(table_ptr + row * stride + i)  # <-- oob-load
    tl.store(out_ptr + i, values)


table = torch.zeros(1 << 20, dtype=torch.int8)
out = torch.empty(32, dtype=torch.int8)
kernel[(1,)](table, out, 50000, 65536, BLOCK=32)
