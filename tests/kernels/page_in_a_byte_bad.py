# The numbers of pages are bytes: the product with a page's size wraps at 256.
# CHECKS: overflow
# EXPECT: index-wrap program=1,0,0 tensor=pages_ptr element=64 count=16
import torch
import triton
import triton.language as tl


@triton.jit
def gather(pages_ptr, table_ptr, out_ptr, PAGE: tl.constexpr):
    i = tl.arange(0, PAGE)
    page = tl.load(table_ptr + tl.program_id(0))
    x = tl.load(pages_ptr + page * PAGE + i)  # <-- index-wrap
    tl.store(out_ptr + tl.program_id(0) * PAGE + i, x)


table = torch.tensor([3, 20], dtype=torch.uint8)
pages, out = torch.arange(32 * 16.0), torch.empty(32)
gather[(2,)](pages, table, out, PAGE=16)
