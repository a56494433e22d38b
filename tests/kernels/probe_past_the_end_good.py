# Linear probing that comes back to the first slot behind the last one.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(keys_ptr, table_ptr, CAPACITY: tl.constexpr):
    key = tl.load(keys_ptr + tl.program_id(0))
    slot = key % CAPACITY
    found = tl.atomic_cas(table_ptr + slot, -1, key)
    while found != -1 and found != key:
        slot = (slot + 1) % CAPACITY
        found = tl.atomic_cas(table_ptr + slot, -1, key)


keys = torch.tensor([31], dtype=torch.int32)
table = torch.full((16,), -1, dtype=torch.int32)
table[15] = 15
kernel[(1,)](keys, table, CAPACITY=16)
