# The loop goes over whole blocks only, so the tail of each row is never written; the host reads it.
# CHECKS: outputs
# EXPECT: never-written tensor=out_ptr element=0,256 count=176
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for k in range(0, columns // BLOCK):
        i = k * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + i, mask=i < columns)
        tl.store(out_ptr + row * stride + i, 2 * x, mask=i < columns)


x, out = torch.ones(4, 300), torch.empty(4, 300)
kernel[(4,)](x, out, 300, 300, BLOCK=128)
print(out.sum() == 2 * x.sum())  # <-- never-written
