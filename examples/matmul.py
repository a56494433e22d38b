"""Matrix product with blocks taken in groups of rows (so that they share cached columns), any size,
five dtypes.

The function that is applied to the result is a constexpr argument: another @jit function.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def identity(x):
    return x


@triton.jit
def block_of_program(pid, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of the block that `pid` computes: GROUP rows are walked column by column."""
    blocks_m = tl.cdiv(m, BLOCK_M)
    blocks_n = tl.cdiv(n, BLOCK_N)
    per_group = GROUP * blocks_n
    first_m = (pid // per_group) * GROUP
    rows = min(blocks_m - first_m, GROUP)
    inside = pid % per_group
    return first_m + inside % rows, inside // rows


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PRECISION: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    block_m, block_n = block_of_program(tl.program_id(0), m, n, BLOCK_M, BLOCK_N, GROUP)
    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_block = a_ptr + rows[:, None] * a_stride_m + steps[None, :] * a_stride_k
    b_block = b_ptr + steps[:, None] * b_stride_k + columns[None, :] * b_stride_n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        left = steps < k - start
        a = tl.load(a_block, mask=(rows < m)[:, None] & left[None, :], other=0.0)
        b = tl.load(b_block, mask=left[:, None] & (columns < n)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
        a_block += BLOCK_K * a_stride_k
        b_block += BLOCK_K * b_stride_k
    c = ACTIVATION(total).to(c_ptr.dtype.element_ty)
    c_block = c_ptr + rows[:, None] * c_stride_m + columns[None, :] * c_stride_n
    tl.store(c_block, c, mask=(rows < m)[:, None] & (columns < n)[None, :])


def matmul(a, b, out_dtype, activation=identity, blocks=(64, 64, 32), group=4):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=out_dtype)
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    matmul_kernel[grid](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=blocks[0], BLOCK_N=blocks[1], BLOCK_K=blocks[2], GROUP=group,
        PRECISION="ieee", ACTIVATION=activation,
    )  # fmt: skip
    return c


if __name__ == "__main__":
    options = arguments("matrix products", 256, "rows and columns of the square case")
    report = Report("matmul", options)
    s = options.size
    cases = [  # label, input dtype, output dtype, m, n, k, tolerance relative to the largest result
        ("fp16", torch.float16, torch.float16, s, s, s, 1e-3),
        ("bf16", torch.bfloat16, torch.bfloat16, s, s, s, 8e-3),
        ("fp32", torch.float32, torch.float32, s, s, s, 1e-5),
        ("fp8e5", torch.float8_e5m2, torch.float16, s, s, s, 1e-3),
        ("fp8e4nv", torch.float8_e4m3fn, torch.float16, s, s, s, 1e-3),
        ("fp16 odd", torch.float16, torch.float32, s // 2 + 1, s // 2 + 3, s // 2 - 7, 1e-5),
        ("bf16 odd", torch.bfloat16, torch.float32, s // 2 - 1, s // 4 + 3, s // 2 + 5, 1e-5),
        ("fp32 odd", torch.float32, torch.float32, s // 2 - 1, s // 2 + 3, s // 4 + 7, 1e-5),
    ]
    for label, dtype, out_dtype, m, n, k, tolerance in cases:
        if report.wants(label):
            a = torch.randn(max(m, 1), max(k, 1), device=DEVICE).to(dtype)
            b = (
                torch.randn(max(n, 1), max(k, 1), device=DEVICE).to(dtype).T
            )  # stored column by column
            report.check(label, matmul(a, b, out_dtype), a.double() @ b.double(), tolerance)
    if report.wants("leaky"):
        a, b = torch.randn(s, s, device=DEVICE).half(), torch.randn(s, s, device=DEVICE).half()
        want = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
        report.check("leaky", matmul(a, b, torch.float16, leaky_relu, (32, 64, 16), 8), want, 1e-3)
    report.finish()
