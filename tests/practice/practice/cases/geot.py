"""GeoT: sums over sorted segments and products with sparse matrices, by scans and by atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("fishmingyu/GeoT", "bec088673846e222e24d2cd47835881258601daa")


def _edges(edges, nodes, device):
    """Sources, and targets in rising order."""
    source, target = (torch.randint(0, nodes, (edges,)) for _ in range(2))
    return torch.stack([source, target.sort().values]).to(device)


def _reduction(file, kernel, launch, size, name):
    def build(module, device, edges, nodes, features):
        index = _edges(edges, nodes, device)[1]
        x = tm.normal(edges, features, device=device)

        def run():
            out = torch.zeros(nodes, features, device=device)
            getattr(module, launch)(index, x, out, edges, features, size)
            return out

        return run, lambda: torch.zeros(nodes, features, device=device).double().index_add(0, index, x.double())  # fmt: skip

    repository.case(f"geot/triton/{file}.py", kernel, small=dict(edges=500, nodes=60, features=16), production=dict(edges=1000000, nodes=50000, features=64), rtol=1e-4, atol=1e-4, name=name)(build)  # fmt: skip


_reduction("seg_reduction", "parallel_segment_reduction_kernel, combine_fn", "launch_parallel_reduction", 64, "segments_by_scans")  # fmt: skip
_reduction("seg_reduction", "serial_segment_reduction_kernel", "launch_serial_reduction", 32, "segments_by_loops")  # fmt: skip


def _product(file, kernel, launch, size, name):
    def build(module, device, edges, nodes, features):
        index = _edges(edges, nodes, device)
        x = tm.normal(nodes, features, device=device)

        def run():
            out = torch.zeros(nodes, features, device=device)
            getattr(module, launch)(index, x, out, edges, features, size)
            return out

        return run, lambda: torch.zeros(nodes, features, device=device).double().index_add(0, index[1], x.double()[index[0]])  # fmt: skip

    repository.case(f"geot/triton/{file}.py", kernel, small=dict(edges=500, nodes=60, features=16), production=dict(edges=1000000, nodes=50000, features=64), rtol=1e-4, atol=1e-4, name=name)(build)  # fmt: skip


_product("spmm", "pr_spmm_sorted_coo_kernel, combine_fn", "launch_pr_spmm", 64, "product_by_scans")
_product("spmm", "sr_spmm_sorted_coo_naive_kernel", "launch_sr_spmm", 32, "product_by_loops")
_product("torch_compile", "torch_compile_spmm", "launch_torch_compile_spmm", 256, "product_by_atomics")  # fmt: skip


@repository.case("geot/triton/coo_to_csr.py", "coo_to_hist_kernel", small=dict(edges=500, nodes=60), production=dict(edges=1000000, nodes=50000))  # fmt: skip
def counts(file, device, edges, nodes):
    rows = _edges(edges, nodes, device)[1]

    def run():
        out = torch.zeros(nodes, dtype=torch.int32, device=device)
        file.coo_to_hist_wrapper(rows, out, edges, 128)
        return out

    return run, lambda: rows.bincount(minlength=nodes)
