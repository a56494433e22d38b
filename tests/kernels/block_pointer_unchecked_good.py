# A block pointer over 20 x 24 in blocks of 16 x 32, with boundary_check.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_block_ptr(
        x_ptr, shape=(M, N), strides=(N, 1), offsets=(tl.program_id(0) * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_N), order=(1, 0),
    )
    out = tl.make_block_ptr(
        out_ptr, shape=(M, N), strides=(N, 1), offsets=(tl.program_id(0) * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_N), order=(1, 0),
    )
    block = tl.load(x, boundary_check=(0, 1), padding_option="zero")
    tl.store(out, block, boundary_check=(0, 1))


x = torch.rand(20, 24)
out = torch.empty_like(x)
kernel[(2,)](x, out, 20, 24, BLOCK_M=16, BLOCK_N=32)
