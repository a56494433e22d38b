# Every program looks at a table that nobody changes, some of it by volatile loads.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    first = tl.load(table_ptr + i, volatile=True)
    second = tl.load(table_ptr + BLOCK - 1 - i)
    tl.store(out_ptr + pid * BLOCK + i, first + second)


table, out = torch.arange(32, dtype=torch.int32), torch.zeros(4 * 32, dtype=torch.int32)
kernel[(4,)](table, out, BLOCK=32)
