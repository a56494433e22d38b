"""AQLM: a matrix of sums of entries of codebooks, times a vector."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Vahe1994/AQLM", "e79a896ed6656fe4ed06193d42d004e7d0bbdbb2")


def _product(books, out_group):
    def build(file, device, m, n, k, size):
        codes = tm.integers(0, size, n // out_group, k // 8, books, device=device)
        table = tm.normal(books, size, out_group, 8, device=device, dtype=torch.float16)
        x = tm.normal(m, k, device=device, dtype=torch.float16, scale=0.1)
        scales = torch.rand(n // out_group, 1, 1, 1).half().to(device)
        bias = tm.normal(n // out_group, device=device, dtype=torch.float16)
        stored = torch.where(codes >= 1 << 15, codes - (1 << 16), codes).to(torch.int16)

        def want():
            parts = sum(table[i].cpu().double()[codes[..., i].cpu()] for i in range(books))
            rows = (parts * scales.cpu().double()).permute(0, 2, 1, 3).reshape(n, k)
            return x.cpu().double() @ rows.T + bias.cpu().double().repeat_interleave(out_group)

        return lambda: file.triton_matmul(x.clone(), stored, table, scales, bias), want

    return build


for _name, _books, _group in (("one_book", 1, 1), ("two_books", 2, 1), ("groups_of_outputs", 2, 4)):
    repository.case("inference_lib/src/aqlm/inference_kernels/triton_kernel.py", "_aqlm_gemv_simple", small=dict(m=2, n=32, k=88, size=1 << 16), production=dict(m=1, n=4096, k=4096, size=1 << 16), rtol=1e-2, atol=2e-2, name=_name)(_product(_books, _group))  # fmt: skip
