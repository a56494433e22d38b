"""triton-radix-sort: a counting sort in one launch, its programs waiting for each other."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("shawntan/triton-radix-sort", "23f340e8f3ec43dd1944bcde10cf3e3312be21e1")


@repository.case("radix_sort.py", "sort_kernel, sort_kernel_monoblock, locked_add, wait_for_value", small=dict(n=9000, experts=6), production=dict(n=200000, experts=8))  # fmt: skip
def sort(file, device, n, experts):
    ids = tm.integers(0, experts, n, device=device)

    def run():
        got, order, counts = file.sort_expert_idxs(ids, experts)
        return got, ids[order], order.sort().values, counts

    def want():
        ordered = ids.sort().values
        return ordered, ordered, torch.arange(n), torch.bincount(ids, minlength=experts)

    return run, want
