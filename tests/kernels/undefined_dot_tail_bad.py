# The last tile of K is loaded without zeros: it is multiplied as a whole.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=c_ptr element=0,0 count=256
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, k, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N, N], dtype=tl.float32)
    for start in range(0, k, K):
        depth = start + tl.arange(0, K)
        a = tl.load(a_ptr + i[:, None] * k + depth[None, :], mask=depth[None, :] < k)
        b = tl.load(b_ptr + depth[:, None] * N + i[None, :], mask=depth[:, None] < k, other=0)
        total += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * N + i[None, :], total)  # <-- undefined-value


a, b, c = torch.rand(16, 40), torch.rand(40, 16), torch.empty(16, 16)
kernel[(1,)](a, b, c, 40, N=16, K=32)
