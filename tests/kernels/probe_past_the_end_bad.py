# Linear probing that does not come back to the first slot: behind the table no slot is free, so the
# loop goes on for ever.
# CHECKS: asan
# EXPECT: oob-atomic program=0,0,0 tensor=table_ptr
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(keys_ptr, table_ptr, CAPACITY: tl.constexpr):
    key = tl.load(keys_ptr + tl.program_id(0))
    slot = key % CAPACITY
    found = tl.atomic_cas(table_ptr + slot, -1, key)
    while found != -1 and found != key:
        slot = slot + 1
        found = tl.atomic_cas(table_ptr + slot, -1, key)  # <-- oob-atomic


keys = torch.tensor([31], dtype=torch.int32)
table = torch.full((16,), -1, dtype=torch.int32)
table[15] = 15
kernel[(1,)](keys, table, CAPACITY=16)
