# An autotuned kernel whose tensors are all arguments: all of its configurations are checked.
# CHECKS: asan
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def kernel(parts_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = parts_ptr + tl.program_id(0) * 64
    tl.store(part + i, tl.load(part + i) * 2)


parts = torch.rand(4, 64)
before = parts.clone()
kernel[lambda meta: (4, 64 // meta["BLOCK"])](parts)
assert torch.equal(parts, 2 * before)
