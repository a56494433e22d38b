"""Conversions of layouts behind a dot, without a GPU: how many, and what comes out."""

from __future__ import annotations

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import machine_backend
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def epilogue_kernel(
    x_ptr, y_ptr, c_ptr, bias_ptr, out_ptr, rows, columns, depth, alpha, beta,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, depth, DEPTH):
        k = start + tl.arange(0, DEPTH)
        x = tl.load(x_ptr + row * depth + k[None, :], (row < rows) & (k[None, :] < depth), 0.0)
        y = tl.load(
            y_ptr + k[:, None] * columns + column, (column < columns) & (k[:, None] < depth), 0.0
        )
        total = tl.dot(x, y, total)
    mask = (row < rows) & (column < columns)
    place = row * columns + column
    c = tl.load(c_ptr + place, mask, 0.0)
    bias = tl.load(bias_ptr + column, column < columns, 0.0)
    result = alpha * total.to(tl.float16) + beta * c + bias
    tl.store(out_ptr + place, tl.where(result > 0, result, 0.25 * result).to(tl.float16), mask)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("rows", "columns", "warps"), [(64, 64, 4), (50, 128, 8)])
def test_an_epilogue_moves_the_narrow_sum_once(
    rows: int, columns: int, warps: int, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(7)
    kernels = machine_backend.record(monkeypatch, arch)
    depth = 72
    x, y = torch.randn(rows, depth).half(), torch.randn(depth, columns).half()
    c, bias = torch.randn(rows, columns).half(), torch.randn(columns)
    out = torch.zeros_like(c)
    epilogue_kernel[(1,)](
        x, y, c, bias, out, rows, columns, depth, 0.5, 3.0,
        ROWS=64, COLUMNS=columns, DEPTH=32, num_warps=warps,
    )  # fmt: skip
    want = 0.5 * (x.float() @ y.float()).half().double() + 3.0 * c.double() + bias.double()
    want = torch.where(want > 0, want, 0.25 * want)
    # fp16 of the product and of the result: 2^-11 each of numbers below 64.
    assert torch.allclose(out.double(), want, rtol=2e-3, atol=2e-2)
    conversions = [
        line for line in kernels[0].asm["ttgir"].splitlines() if "tlg.convert_layout" in line
    ]
    large = [line for line in conversions if f"tensor<64x{columns}x" in line]
    assert len(large) == 1 and f"tensor<64x{columns}xf16" in large[0]


@triton.jit
def added_product_kernel(
    x_ptr, y_ptr, out_ptr, rows, columns, depth,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    mask = (row < rows) & (column < columns)
    total = 0.5 * tl.load(out_ptr + row * columns + column, mask, 0.0)
    for start in range(0, depth, DEPTH):
        k = start + tl.arange(0, DEPTH)
        x = tl.load(x_ptr + row * depth + k[None, :], (row < rows) & (k[None, :] < depth), 0.0)
        y = tl.load(
            y_ptr + k[:, None] * columns + column, (column < columns) & (k[:, None] < depth), 0.0
        )
        total = tl.dot(x, y, total)
    tl.store(out_ptr + row * columns + column, 2.0 * total, mask)


@pytest.mark.parametrize(("rows", "columns"), [(128, 128), (100, 112)])
def test_a_large_block_goes_through_buffers_that_are_free(
    rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of 64 KiB, before the loop whose copies have 96 KiB, and behind it: in one round each.
    The loop's buffers wait for the first, and no more memory is needed."""
    torch.manual_seed(8)
    kernels = machine_backend.record(monkeypatch, "sm_90a")
    depth = 208
    x, y = torch.randn(rows, depth).half(), torch.randn(depth, columns).half()
    out = torch.randn(rows, columns)
    want = 2.0 * (0.5 * out.double() + x.double() @ y.double())
    added_product_kernel[(1,)](
        x, y, out, rows, columns, depth, ROWS=128, COLUMNS=128, DEPTH=64, num_warps=8,
        num_stages=3,
    )  # fmt: skip
    assert torch.allclose(out.double(), want, rtol=1e-5, atol=1e-4)
    assert "async_copy" in kernels[0].asm["ttgir"]
    before, _, rest = kernels[0].asm["ptx"].partition("cp.async")
    assert before.count("st.shared.v4") == 64 * 1024 // (16 * 256)
    assert before.count("bar.sync") == 3  # before, between and behind
    assert rest.count("st.shared.v4") == 64 * 1024 // (16 * 256)
    assert kernels[0].metadata.shared <= 4 * 32 * 1024


@triton.jit
def transposed_copy_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + column * ROWS + row, tl.load(x_ptr + row * COLUMNS + column))


@pytest.mark.parametrize(("arch", "shared"), [("sm_86", 32), ("sm_90a", 64)])
def test_rounds_are_the_same_in_all_threads_where_registers_leave_the_memory(
    arch: str, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = machine_backend.record(monkeypatch, arch)
    x, out = torch.randn(128, 256), torch.zeros(256, 128)
    transposed_copy_kernel[(1,)](x, out, ROWS=128, COLUMNS=256)
    assert torch.equal(out, x.T)
    assert kernels[0].metadata.shared == shared * 1024
    # 256 elements of each thread, by 4; where rounds differ each has all of them, predicated.
    assert kernels[0].asm["ptx"].count("ld.shared") == (64 if shared == 64 else 64 * 4)
