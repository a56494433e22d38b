"""FlagSparse: products with sparse matrices in several forms, sampled products, gather, scatter."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("flagos-ai/FlagSparse", "5663f45b4b45b7945dc77c963d0803e063a90435", packages={"flagsparse": "src"})  # fmt: skip
FOLDER = "src/flagsparse/sparse_operations/"
SIZES = dict(small=dict(rows=50, columns=70, mean=6), production=dict(rows=1 << 19, columns=1 << 19, mean=24))  # fmt: skip


def _matrix(device, rows, columns, mean, dtype=torch.float32):
    """Values, columns and where rows begin; some rows are empty, one is long."""
    lengths = torch.randint(0, 2 * mean + 1, (rows,))
    lengths[rows // 2] = min(columns, 20 * mean)
    begin = tm.starts(lengths.tolist(), device)
    count = int(lengths.sum())
    column = tm.integers(0, columns, count, device=device, dtype=torch.int32)
    return torch.randn(count, dtype=dtype).to(device), column, begin


def _row_of(begin):
    lengths = begin[1:] - begin[:-1]
    return torch.arange(len(lengths), device=begin.device).repeat_interleave(lengths)


def _product(values, column, begin, dense):
    """In parts, since all the rows that are summed may need much memory."""
    wide = dense.to(torch.promote_types(dense.dtype, torch.float64))
    out = torch.zeros(len(begin) - 1, *dense.shape[1:], dtype=wide.dtype, device=dense.device)
    for v, c, r in zip(*(x.split(1 << 20) for x in (values, column, _row_of(begin))), strict=True):
        out.index_add_(0, r, v.view(-1, *[1] * (dense.dim() - 1)) * wide[c.long()])
    return out


@repository.case(FOLDER + "spmv_csr.py", "_spmv_csr_real_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def times_vector(file, device, rows, columns, mean):
    matrix, x = _matrix(device, rows, columns, mean), tm.normal(columns, device=device)
    return (
        lambda: file.flagsparse_spmv_csr(*matrix, x, (rows, columns)),
        lambda: _product(*matrix, x),
    )


@repository.case(FOLDER + "spmv_csr.py", "_spmv_csr_batched_short_f32, _spmv_csr_vector_rows_f32", rtol=1e-4, atol=1e-4, **SIZES)  # fmt: skip
def times_vector_by_length(file, device, rows, columns, mean):
    matrix, x = _matrix(device, rows, columns, mean), tm.normal(columns, device=device)
    return (
        lambda: file.flagsparse_spmv_csr(*matrix, x, (rows, columns), use_opt=True),
        lambda: _product(*matrix, x),
    )


@repository.case(FOLDER + "spmv_csr.py", "_spmv_csr_complex_kernel", rtol=1e-4, atol=1e-4, **SIZES)
def complex_times_vector(file, device, rows, columns, mean):
    matrix = _matrix(device, rows, columns, mean, torch.complex64)
    x = torch.randn(columns, dtype=torch.complex64).to(device)
    return (
        lambda: torch.view_as_real(file.flagsparse_spmv_csr(*matrix, x, (rows, columns))),
        lambda: torch.view_as_real(_product(*matrix, x)),
    )


@repository.case(FOLDER + "spmm_csr.py", "_spmm_csr_real_kernel", rtol=1e-4, atol=1e-4, small=dict(rows=50, columns=70, mean=6, n=40), production=dict(rows=1 << 17, columns=1 << 17, mean=24, n=128))  # fmt: skip
def times_matrix(file, device, rows, columns, mean, n):
    matrix, x = _matrix(device, rows, columns, mean), tm.normal(columns, n, device=device)
    return (
        lambda: file.flagsparse_spmm_csr(*matrix, x, (rows, columns)),
        lambda: _product(*matrix, x),
    )


@repository.case(FOLDER + "sddmm_csr.py", "_sddmm_csr_real_kernel", rtol=1e-4, atol=1e-4, small=dict(rows=50, columns=70, mean=6, k=40), production=dict(rows=1 << 17, columns=1 << 17, mean=16, k=128))  # fmt: skip
def sampled_product(file, device, rows, columns, mean, k):
    values, column, begin = _matrix(device, rows, columns, mean)
    x, y = tm.normal(rows, k, device=device), tm.normal(columns, k, device=device)

    def want():
        parts = zip(_row_of(begin).split(1 << 20), column.long().split(1 << 20), strict=True)
        return 0.5 * torch.cat([(x[r].double() * y[c]).sum(-1) for r, c in parts]) + 2 * values

    return (
        lambda: file.flagsparse_sddmm_csr(values, column, begin, x, y, (rows, columns), 0.5, 2.0),
        want,
    )


@repository.case(FOLDER + "spmv_bsr.py", "_spmv_bsr_non_real_kernel", rtol=1e-4, atol=1e-4, small=dict(rows=30, columns=40, mean=4, block=4), production=dict(rows=1 << 15, columns=1 << 15, mean=24, block=8))  # fmt: skip
def blocks_times_vector(file, device, rows, columns, mean, block):
    _, column, begin = _matrix(device, rows, columns, mean)
    values = tm.normal(len(column), block, block, device=device)
    x = tm.normal(columns * block, device=device)
    shape = rows * block, columns * block

    def want():
        each = (values.double() @ x.double().view(-1, block)[column.long()][..., None])[..., 0]
        out = torch.zeros(rows, block, dtype=torch.float64, device=device)
        return out.index_add_(0, _row_of(begin), each).flatten()

    return lambda: file.flagsparse_spmv_bsr(values, column, begin, x, shape, block), want


@repository.case(FOLDER + "gather_scatter.py", "_gather_complex_kernel, _scatter_complex_kernel", rtol=0, atol=0, small=dict(n=5000, count=700), production=dict(n=1 << 24, count=1 << 22))  # fmt: skip
def taken_and_put(file, device, n, count):
    x = torch.randn(n, dtype=torch.complex64).to(device)
    ids = torch.randperm(n)[:count].to(torch.int32).to(device)

    def run():
        taken = file.flagsparse_gather(x, ids)
        out = torch.ones_like(x)
        file.flagsparse_scatter(out, ids, taken)
        return torch.view_as_real(taken), torch.view_as_real(out)

    def want():
        taken = x[ids.long()]
        out = torch.zeros_like(x).index_put_((ids.long(),), taken)
        return torch.view_as_real(taken), torch.view_as_real(out)

    return run, want


@repository.case(FOLDER + "spmm_coo.py", "_spmm_coo_rowrun_real_kernel", rtol=1e-4, atol=1e-4, small=dict(rows=50, columns=70, mean=6, n=40), production=dict(rows=1 << 17, columns=1 << 17, mean=24, n=64))  # fmt: skip
def coordinates_times_matrix(file, device, rows, columns, mean, n):
    values, column, begin = _matrix(device, rows, columns, mean)
    x = tm.normal(columns, n, device=device)
    row = _row_of(begin).to(torch.int32)
    return (
        lambda: file.flagsparse_spmm_coo(values, row, column, x, (rows, columns)),
        lambda: _product(values, column, begin, x),
    )


@repository.case(FOLDER + "spsv.py", "_spsv_csr_smblk_kernel", rtol=1e-3, atol=1e-3, small=dict(n=60, mean=3), production=dict(n=1 << 14, mean=6))  # fmt: skip
def triangular_solve(file, device, n, mean):
    """Rows wait for those that they depend on."""
    lengths = [min(i, int(x)) + 1 for i, x in enumerate(torch.randint(0, 2 * mean, (n,)))]
    begin = tm.starts(lengths, "cpu")
    column = torch.cat([torch.cat([torch.randperm(i)[: c - 1].sort().values, torch.tensor([i])]) for i, c in enumerate(lengths)])  # fmt: skip
    values = torch.randn(len(column)) * 0.3
    values[begin[1:].long() - 1] = 2.0
    matrix = [x.to(device) for x in (values, column.to(torch.int32), begin)]
    b = tm.normal(n, device=device)

    def want():
        out, right = torch.zeros(n, dtype=torch.float64), b.double().cpu()
        exact, at = values.double(), begin.tolist()
        for i in range(n):
            part = slice(at[i], at[i + 1] - 1)
            out[i] = (right[i] - exact[part] @ out[column[part]]) / 2
        return out.to(device)

    return lambda: file.flagsparse_spsv_csr(*matrix, b, (n, n)), want
