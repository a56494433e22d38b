# A row of 99 elements in a block of 128, through assembly that changes the two elements of a pair:
# the last of the row is one that the load leaves out.
# CHECKS: undefined
# EXPECT: undefined-value program=0,0,0 tensor=out_ptr element=0 count=3
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    x = tl.inline_asm_elementwise(
        "{ mov.f32 $0, $3; mov.f32 $1, $2; }",
        "=r,=r,r,r", [x], dtype=tl.float32, is_pure=True, pack=2,
    )  # fmt: skip
    total = tl.sum(tl.where(columns < n, x, 0), axis=0)
    tl.store(out_ptr + row, total)  # <-- undefined-value


x, out = torch.ones(3, 99), torch.zeros(3)
kernel[(3,)](x, out, 99, BLOCK=128)
