"""foundation-model-stack: products of tokens with the matrices of their experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("foundation-model-stack/foundation-model-stack", "062adf6e1111850aa1c2abf7a678cfb95e35f59a")  # fmt: skip


def _moe(padding):
    def build(file, device, m, e, topk, k, n):
        x = tm.normal(m, k, device=device, dtype=torch.float16)
        w = tm.normal(e, n, k, device=device, dtype=torch.float16, scale=k**-0.5)
        ids = tm.topk_ids(m, e, topk, "cpu")[1]
        rows, experts = [], []
        for expert in range(e):
            of = (ids.flatten() == expert).nonzero()[:, 0]
            blocks = -(-len(of) // padding)
            rows.append(torch.cat([of, of.new_full((blocks * padding - len(of),), ids.numel())]))
            experts += [expert] * blocks
        padded, mapping = torch.cat(rows).to(device), torch.tensor(experts).to(device)

        def run():
            out = x.new_zeros(m, topk, n)
            file.invoke_fused_moe_kernel(x, w, out, ids.to(device), padded, mapping, torch.tensor([len(padded)]).to(device), topk, padding)  # fmt: skip
            return out

        return run, lambda: tm.moe(x.cpu(), w.cpu(), ids)

    return build


repository.case("fms/triton/moe_kernel.py", "fused_moe_kernel_v3", small=dict(m=40, e=4, topk=2, k=96, n=100), production=dict(m=2048, e=8, topk=2, k=2048, n=2048), rtol=1e-2, atol=1e-2, name="moe")(_moe(64))  # fmt: skip
repository.case("fms/triton/moe_kernel.py", "fused_moe_kernel_v3", small=dict(m=5, e=4, topk=2, k=96, n=100), production=dict(m=32, e=8, topk=2, k=4096, n=8192), rtol=1e-2, atol=1e-2, name="moe_decode")(_moe(16))  # fmt: skip
