# autotune runs the kernel many times, and each run updates what the one before has left.
# CHECKS: outputs
# EXPECT: not-idempotent
import torch
import triton
import triton.language as tl


@triton.autotune(  # <-- not-idempotent
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"],
)
@triton.jit
def kernel(x_ptr, bias, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(x_ptr + i, x + bias, mask=i < n)


x = torch.ones(256)
kernel[lambda meta: (triton.cdiv(256, meta["BLOCK"]),)](x, 1.0, 256)
