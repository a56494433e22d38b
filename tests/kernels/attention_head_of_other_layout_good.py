# Keys have fewer heads than queries (grouped heads): the head of the query is mapped to its
# group.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q_ptr, k_ptr, out_ptr, GROUP: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    head = tl.program_id(1)
    offsets = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    q = tl.load(q_ptr + head * ROWS * SIZE + offsets)
    k = tl.load(k_ptr + head // GROUP * ROWS * SIZE + offsets)
    out = tl.arange(0, ROWS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    tl.store(out_ptr + head * ROWS * ROWS + out, tl.dot(q, tl.trans(k)))


q, k, out = torch.rand(2, 16, 32), torch.rand(1, 16, 32), torch.empty(2, 16, 16)
kernel[(1, 2)](q, k, out, GROUP=2, ROWS=16, SIZE=32)
