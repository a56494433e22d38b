# Online softmax in which a row that is masked whole has a maximum of 0.
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
        shift = tl.where(new_top == float("-inf"), 0.0, new_top)
        scale = tl.exp(top - shift)
        total = total * scale + tl.sum(tl.exp(x - shift), axis=0)
        top = new_top
    tl.store(out_ptr + row, total)


x, keep, out = torch.ones(4, 64), torch.ones(4, 64, dtype=torch.int32), torch.zeros(4)
keep[2] = 0
kernel[(4,)](x, keep, out, 64, BLOCK=32)
