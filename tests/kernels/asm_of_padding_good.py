# Rows of 99 elements in blocks of 128, through assembly, one element a run, then two: the sums
# take no lane behind the row.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    x = tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.gt.f32 p, $1, 15.0; @p mov.f32 $0, $1; @!p add.f32 $0, $1, 1.0; }",
        "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1,
    )  # fmt: skip
    x = tl.inline_asm_elementwise(
        "{ .reg .f32 t; add.f32 t, $2, 1.0; mov.f32 $0, t; add.f32 t, $3, 1.0; mov.f32 $1, t; }",
        "=r,=r,r,r", [x], dtype=tl.float32, is_pure=True, pack=2,
    )  # fmt: skip
    total = tl.sum(tl.where(columns < n, x, 0), axis=0)
    tl.store(out_ptr + row, total)


x, out = torch.ones(3, 99), torch.zeros(3)
kernel[(3,)](x, out, 99, BLOCK=128)
