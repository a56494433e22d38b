"""Equitorch: products of parts of two tensors, as the coefficients of tensor products of rotations
choose them, with a factor each, summed in segments."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("GTML-LAB/Equitorch", "cae1b555272f051703eea48770d88814b38c65b1", packages={"equitorch": "."}, stand_ins={"torch_geometric.utils": {}})  # fmt: skip
FILE = "equitorch/ops/batched_sparse_dense_op.py"
HELPERS = "indexed_ptr, load_block_vec, store_block_vec"


def _terms(parts, terms, device):
    """Which parts are multiplied, with which factors, and where segments of terms begin; the first
    one is empty."""
    index = [torch.randint(0, parts, (terms,)) for _ in range(2)]
    cuts = torch.randint(0, terms + 1, (parts - 2,)).sort().values
    begin = torch.cat([torch.tensor([0, 0]), cuts, torch.tensor([terms])])
    return (x.to(device) for x in (*index, torch.randn(terms), begin))


def _segments(terms, begin):
    """Sums along axis 1."""
    sums = torch.cat([torch.zeros_like(terms[:, :1]), terms.cumsum(1)], 1)[:, begin]
    return sums[:, 1:] - sums[:, :-1]


SIZES = dict(small=dict(n=20, parts=5, terms=17, c=40), production=dict(n=4096, parts=16, terms=160, c=128))  # fmt: skip


@repository.case(FILE, f"indexed_mul_scale_gather_kernel, batched_single_mul, kernel_mul, {HELPERS}", rtol=1e-4, atol=1e-4, **SIZES)  # fmt: skip
def products(file, device, n, parts, terms, c):
    x, y = (tm.normal(n, parts, c, device=device) for _ in range(2))
    first, second, scale, begin = _terms(parts, terms, device)

    def want():
        both = x.double()[:, first] * y.double()[:, second] * scale.double()[:, None]
        return _segments(both, begin)

    return lambda: file.indexed_mul_scale_gather_gpu(x, y, scale, first, second, begin), want


@repository.case(FILE, f"indexed_mul_scale_gather_kernel, batched_single_mul, kernel_mul, {HELPERS}", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def products_of_all(file, device, n, parts, terms, c):
    """Summed over the batch too, by atomics, into chosen parts, as gradients of what all share."""
    x, y = (tm.normal(n, parts, c, device=device) for _ in range(2))
    first, second, scale, _ = _terms(parts, terms, device)
    to = torch.randint(0, parts, (terms,)).to(device)

    def run():
        out = file.indexed_mul_scale_gather_gpu(
            x, y, scale, first, second, index_out=to, out_accumulated=True, out_size=parts
        )
        return out / (n * terms) ** 0.5

    def want():
        out = torch.zeros(parts, c, dtype=torch.float64, device=device)
        for i in range(terms):
            out[to[i]] += (x[:, first[i]].double() * y[:, second[i]].double()).sum(0) * scale[i]
        return out / (n * terms) ** 0.5

    return run, want


@repository.case(FILE, "indexed_outer_scale_gather_kernel, batched_single_outer, kernel_outer, store_block_mat", small=SIZES["small"], production=dict(n=512, parts=16, terms=80, c=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def outer_products(file, device, n, parts, terms, c):
    """The second one is the same for all of the batch."""
    x, y = tm.normal(n, parts, c, device=device), tm.normal(parts, c - 8, device=device)
    first, second, scale, begin = _terms(parts, terms, device)

    def want():
        left = x.double()[:, first] * scale.double()[:, None]
        out, right = [], y.double()[second]
        for a, b in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
            out.append(torch.einsum("nti,tj->nij", left[:, a:b], right[a:b]))
        return torch.stack(out, 1)

    return lambda: file.indexed_outer_scale_gather_gpu(x, y, scale, first, second, begin), want


@repository.case(FILE, "indexed_inner_scale_gather_kernel, batched_single_inner, kernel_inner, store_block_scalar", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def inner_products(file, device, n, parts, terms, c):
    x, y = (tm.normal(n, parts, c, device=device) for _ in range(2))
    first, second, scale, begin = _terms(parts, terms, device)

    def want():
        both = (x.double()[:, first] * y.double()[:, second]).sum(-1) * scale.double()
        return _segments(both, begin)

    return lambda: file.indexed_inner_scale_gather_gpu(x, y, scale, first, second, begin), want


@repository.case(FILE, f"indexed_vecmat_scale_gather_kernel, batched_single_vecmat, kernel_vecmat, load_block_mat, {HELPERS}", small=SIZES["small"], production=dict(n=512, parts=16, terms=64, c=64), rtol=1e-3, atol=1e-3)  # fmt: skip
def matrix_products(file, device, n, parts, terms, c):
    """Matrices that all of the batch share, as weights are."""
    x = tm.normal(n, parts, c, device=device)
    y = tm.normal(parts, c, c - 8, device=device, scale=c**-0.5)
    first, second, scale, begin = _terms(parts, terms, device)

    def want():
        each = torch.einsum("nti,tij->ntj", x.double()[:, first], y.double()[second])
        return _segments(each * scale.double()[:, None], begin)

    return lambda: file.indexed_vecmat_scale_gather_gpu(x, y, scale, first, second, begin), want


@repository.case("equitorch/ops/indexed_scale_segment_op.py", "indexed_scale_segment_kernel", rtol=1e-4, atol=1e-4, **SIZES)  # fmt: skip
def chosen_and_summed(file, device, n, parts, terms, c):
    x = tm.normal(n, parts, c, device=device)
    first, _, scale, begin = _terms(parts, terms, device)
    return (
        lambda: file.indexed_scale_segment_gpu(x, scale, first, begin),
        lambda: _segments(x.double()[:, first] * scale.double()[:, None], begin),
    )
