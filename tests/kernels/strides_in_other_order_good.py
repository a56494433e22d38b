# The strides of a matrix are passed in the order that the kernel takes them.
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=mask)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x, mask=mask)


x, y = torch.rand(64, 48), torch.empty(64, 48)
copy_kernel[(2, 2)](x, y, 64, 48, x.stride(0), x.stride(1), BM=32, BN=32)
