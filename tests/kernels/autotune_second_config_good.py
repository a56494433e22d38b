# Both configurations of an autotuned kernel have a mask.
# CHECKS: asan
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, x * 2, mask=i < n)


x, out = torch.rand(192), torch.empty(192)
kernel[lambda meta: (triton.cdiv(192, meta["BLOCK"]),)](x, out, 192)
