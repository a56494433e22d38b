# autotune runs the kernel many times, and each run adds to what the one before has left.
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
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(out_ptr, tl.sum(x), sem="relaxed")


x, out = torch.ones(256), torch.zeros(1)
kernel[lambda meta: (triton.cdiv(256, meta["BLOCK"]),)](x, out, 256)
