# A block pointer walks along a vector of 128 in steps of 32: four steps.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, shape=(N,), strides=(1,), offsets=(0,), block_shape=(BLOCK,), order=(0,))
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for _ in range(0, N // BLOCK):
        total += tl.load(x)
        x = tl.advance(x, (BLOCK,))
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


x = torch.rand(128)
out = torch.empty(32)
kernel[(1,)](x, out, 128, BLOCK=32)
