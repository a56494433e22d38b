"""Gather of rows from many tables, whose addresses are themselves in a tensor (a tensor of
pointers).

Request r takes row `row[r]` of table `table[r]`; tables differ in their number of rows.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def gather_kernel(tables_ptr, sizes_ptr, table_ptr, row_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    table = tl.load(table_ptr + request)
    row = tl.load(row_ptr + request)
    rows = tl.load(sizes_ptr + table)
    source = tl.load(tables_ptr + table).to(tl.pointer_type(tl.float32))
    columns = tl.arange(0, BLOCK)
    inside = columns < tl.where(row < rows, cols, 0)
    values = tl.load(source + row * cols + columns, mask=inside, other=0.0)
    tl.store(out_ptr + request * cols + columns, values, mask=columns < cols)


@triton.jit
def sum_tables_kernel(tables_ptr, sizes_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    """The sum of every table: one program walks over a table of its own length."""
    table = tl.program_id(0)
    source = tl.load(tables_ptr + table).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes_ptr + table) * cols
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(source + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + table, tl.sum(total, axis=0))


if __name__ == "__main__":
    options = arguments("grouped gather", 100, "columns of every table")
    report = Report("grouped_gather", options)
    cols = options.size
    tables = [torch.randn(rows, cols, device=DEVICE) for rows in (3, 17, 1, 40, 8)]
    addresses = torch.tensor([t.data_ptr() for t in tables], dtype=torch.int64, device=DEVICE)
    sizes = torch.tensor([len(t) for t in tables], dtype=torch.int32, device=DEVICE)
    table = torch.randint(0, len(tables), (30,), dtype=torch.int32, device=DEVICE)
    row = torch.randint(0, 1000, (30,), dtype=torch.int32, device=DEVICE) % sizes[table]
    row[7] = 5000  # no table has that row: zeros
    out = torch.empty(30, cols, device=DEVICE)
    gather_kernel[(30,)](
        addresses, sizes, table, row, out, cols, BLOCK=triton.next_power_of_2(cols)
    )
    zeros = torch.zeros(cols, device=DEVICE)
    want = [tables[t][r] if r < len(tables[t]) else zeros for t, r in zip(table, row, strict=True)]
    report.check("gather", out, torch.stack(want), 0)

    sums = torch.empty(len(tables), device=DEVICE)
    sum_tables_kernel[(len(tables),)](addresses, sizes, sums, cols, BLOCK=256)
    report.check("sums", sums, torch.stack([t.double().sum() for t in tables]), 1e-5)
    report.finish()
