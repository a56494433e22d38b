# A scatter by labels, where -100 means: ignore. The label is masked off.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(label_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    label = tl.load(label_ptr + i)
    tl.store(out_ptr + label, i, mask=label >= 0)


label = torch.tensor([4, 2, 9, -100, 1, 0, 7, 8], dtype=torch.int32)
out = torch.zeros(10, dtype=torch.int32)
kernel[(1,)](label, out, BLOCK=8)
