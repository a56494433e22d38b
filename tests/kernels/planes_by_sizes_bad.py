# The sums of planes of [2, 3, 5, 6]: the mask lets two elements of the next plane through.
# CHECKS: rows
# EXPECT: crosses-dimension severity=warning program=0,0,0 lane=30 tensor=x_ptr element=0,1,0,0 count=10
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, N, C, H, W, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = 0.0
    for n in range(N):
        plane = x_ptr + n * C * H * W + c * H * W
        inside = (i < BLOCK) & (n * C * H * W + c * H * W + i < N * C * H * W)
        x = tl.load(plane + i, mask=inside, other=0)  # <-- crosses-dimension
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + c, total)


x, out = torch.ones(2, 3, 5, 6), torch.zeros(3)
kernel[(3,)](x, out, 2, 3, 5, 6, BLOCK=32)
