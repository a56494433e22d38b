# A square matrix is transposed into another tensor.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x_ptr + m[:, None] * N + n[None, :])
    tl.debug_barrier()
    tl.store(out_ptr + n[:, None] * N + m[None, :], tl.trans(tile))


x = torch.rand(32, 32)
out = torch.empty(32, 32)
kernel[(2, 2)](x, out, 32, BLOCK=16)
