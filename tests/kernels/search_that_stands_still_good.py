# A binary search whose lower end is always above the middle that it has seen.
import torch
import triton
import triton.language as tl


@triton.jit
def first_above(sorted_ptr, limit_ptr, out_ptr, n):
    pid = tl.program_id(0)
    limit = tl.load(limit_ptr + pid)
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(sorted_ptr + middle) <= limit:
            low = middle + 1
        else:
            high = middle
    tl.store(out_ptr + pid, low)


out = torch.empty(2, dtype=torch.int32)
limits = torch.tensor([25.0, -1.0])
first_above[(2,)](torch.arange(0.0, 80.0, 10.0), limits, out, 8)
