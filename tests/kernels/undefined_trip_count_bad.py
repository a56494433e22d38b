# The length of the last row, which bounds a loop, was never written.
# CHECKS: undefined
# EXPECT: undefined-value program=1,0,0
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, length_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.minimum(tl.load(length_ptr + row), stride)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, length, BLOCK):  # <-- undefined-value
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + columns, mask=columns < stride, other=0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


x, out = torch.rand(2, 100), torch.empty(2)
lengths = torch.empty(2, dtype=torch.int32)
lengths[:1] = 40
kernel[(2,)](x, lengths, out, 100, BLOCK=32)
