# An autotuned kernel takes pointers from memory: only one of its configurations can be checked.
# CHECKS: asan
# EXPECT: unchecked-configs severity=note
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=[])  # <-- unchecked-configs
@triton.jit
def kernel(table_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(part + i, tl.load(part + i) * 2)


parts = [torch.rand(64) for _ in range(4)]
table = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64)
kernel[lambda meta: (4, 64 // meta["BLOCK"])](table)
