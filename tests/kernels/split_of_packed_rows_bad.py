# A packed row of q and k is loaded as one and stored as two; the mask of k ends behind two rows.
# CHECKS: rows
# EXPECT: crosses-dimension tensor=k_ptr element=1,0,0
# ALLOW: oob-store
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(qk_ptr, q_ptr, k_ptr, H: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    token, i = tl.program_id(0), tl.arange(0, BLOCK)
    HD: tl.constexpr = H * D
    x = tl.load(qk_ptr + token * 2 * HD + i, mask=i < 2 * HD, other=0)
    tl.store(q_ptr + token * HD + i, x, mask=i < HD)
    tl.store(k_ptr + token * HD + i - HD, x, mask=(i >= HD) & (i < 3 * HD))  # <-- crosses-dimension oob-store


qk, q, k = torch.rand(5, 2, 2, 12), torch.empty(5, 2, 12), torch.empty(5, 2, 12)
kernel[(5,)](qk, q, k, H=2, D=12, BLOCK=128)
