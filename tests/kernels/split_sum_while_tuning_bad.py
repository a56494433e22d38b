# Of the configurations that autotune runs in turn, those that split the sum add to what is there.
# CHECKS: outputs
# EXPECT: not-idempotent
import torch
import triton
import triton.language as tl


@triton.autotune(  # <-- not-idempotent
    configs=[triton.Config({"SPLIT": 1}), triton.Config({"SPLIT": 4})],
    key=["n"],
)
@triton.jit
def kernel(x_ptr, out_ptr, n, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    size = tl.cdiv(n, SPLIT)
    start = tl.program_id(0) * size
    total = tl.zeros([BLOCK], tl.float32)
    for k in range(start, tl.minimum(start + size, n), BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=i < n, other=0)
    if SPLIT == 1:
        tl.store(out_ptr, tl.sum(total))
    else:
        tl.atomic_add(out_ptr, tl.sum(total), sem="relaxed")


x, out = torch.ones(256), torch.zeros(1)
kernel[lambda meta: (meta["SPLIT"],)](x, out, 256, BLOCK=64)
