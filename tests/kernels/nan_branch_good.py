# A branch that asks whether a ratio is NaN.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    ratio = tl.load(x_ptr) / tl.load(y_ptr)
    if ratio != ratio:
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 2)


x, y, out = torch.zeros(1), torch.zeros(1), torch.zeros(1, dtype=torch.int32)
kernel[(1,)](x, y, out)
