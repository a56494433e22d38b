# A barrier of the grid, with more programs than a GPU holds at a time.
# CHECKS: asan,tsan
# EXPECT: not-resident severity=warning program=0,0,0 tensor=arrived_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, most_ptr, arrived_ptr, rows, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        tl.atomic_max(most_ptr, tl.max(tl.load(x_ptr + row * BLOCK + i)))
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < tl.num_programs(0):  # <-- not-resident
        pass
    most = tl.atomic_max(most_ptr, 0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * BLOCK + i)
        tl.store(x_ptr + row * BLOCK + i, most - x)


x = torch.arange(300 * 16, dtype=torch.int32)
most, arrived = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
kernel[(300,)](x, most, arrived, 300, BLOCK=16, num_warps=32)
assert (x == torch.arange(300 * 16).flip(0)).all()
