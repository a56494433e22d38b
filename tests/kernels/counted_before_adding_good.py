# Each program adds its part, then counts itself.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, sum_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(sum_ptr, tl.sum(x, axis=0), sem="relaxed")
    count = tl.atomic_add(count_ptr, 1)
    if count == tl.num_programs(0) - 1:
        tl.store(out_ptr, tl.load(sum_ptr))


x, total, out = torch.rand(4 * 64) + 1, torch.zeros(1), torch.zeros(1)
count = torch.zeros(1, dtype=torch.int32)
kernel[(4,)](x, total, count, out, BLOCK=64)
torch.testing.assert_close(out[0], x.sum())
