# A mean over groups; an empty one is divided by 1.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(sum_ptr, count_ptr, out_ptr, GROUPS: tl.constexpr):
    i = tl.arange(0, GROUPS)
    count = tl.load(count_ptr + i)
    mean = tl.load(sum_ptr + i) // tl.where(count == 0, 1, count)
    tl.store(out_ptr + i, mean)


total = torch.tensor([6, 8, 0, 9], dtype=torch.int32)
count = torch.tensor([3, 2, 0, 3], dtype=torch.int32)
kernel[(1,)](total, count, torch.empty(4, dtype=torch.int32), GROUPS=4)
