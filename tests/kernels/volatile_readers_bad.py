# Every program looks at a table by volatile loads, and the last one changes it.
# CHECKS: tsan
# EXPECT: race-read-write tensor=table_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    first = tl.load(table_ptr + i, volatile=True)  # <-- race-read-write
    tl.store(out_ptr + pid * BLOCK + i, first)
    if pid == tl.num_programs(0) - 1:
        tl.store(table_ptr + i, first + 1)  # <-- race-read-write


table, out = torch.arange(32, dtype=torch.int32), torch.zeros(4 * 32, dtype=torch.int32)
kernel[(4,)](table, out, BLOCK=32)
