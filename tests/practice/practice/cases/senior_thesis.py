"""senior-thesis: online softmax by a scan, whose kernel has a parameter num_stages."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("windsornguyen/senior-thesis", "8826bf16c27b6196a234ee9f3ee7431bcfbbc069")
FOLDER = "thesis/experiments/utils/assoc_scan"


@repository.case(f"{FOLDER}/kernel_online_softmax.py", "online_softmax_kernel, softmax_combine_fn", small=dict(m=5, n=500), production=dict(m=2048, n=4096))  # fmt: skip
def online_softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.online_softmax(x), lambda: x.double().softmax(-1)
