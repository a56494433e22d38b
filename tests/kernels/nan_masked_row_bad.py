# Online softmax: of a row that is masked whole the maximum is -inf, and -inf - -inf is NaN.
# CHECKS: nan
# EXPECT: nan-born program=2,0,0 tensor=out_ptr element=2 count=1
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i)
        keep = tl.load(keep_ptr + row * n + i) != 0
        x = tl.where(keep, x, float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        scale = tl.exp(top - new_top)  # <-- nan-born
        total = total * scale + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    tl.store(out_ptr + row, total)


x, keep, out = torch.ones(4, 64), torch.ones(4, 64, dtype=torch.int32), torch.zeros(4)
keep[2] = 0
kernel[(4,)](x, keep, out, 64, BLOCK=32)
