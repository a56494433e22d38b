"""KernelSwift solutions: groups of experts, doubly stochastic matrices, pooled scores of words."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mantuoluozk/kernelswift-2026-triton-kernels", "35e3614702775b0c213c3c613d63168ccd46bf4b")  # fmt: skip
FOLDER = "platforms/bw1000/"
LENGTHS = [20, 25, 18, 20]


@repository.case(FOLDER + "task01_grouped_topk/solution.py", "_grouped_topk_kernel", small=dict(m=7), production=dict(m=32768), rtol=1e-4)  # fmt: skip
def experts_of_groups(file, device, m):
    x = tm.normal(m, 256, device=device)

    def want():
        best = x.view(m, 8, 32).amax(-1).topk(4).indices
        kept = torch.zeros(m, 8, dtype=torch.bool, device=device).scatter(1, best, True)
        values, ids = x.double().masked_fill(~kept.repeat_interleave(32, 1), -torch.inf).topk(8)
        return values.softmax(-1), ids

    return lambda: file.ModelNew(8, True, 8, 4)(None, x), want


@repository.case(FOLDER + "task08_hc_split_sinkhorn/solution.py", "_hc_split_sinkhorn_kernel", small=dict(b=2, s=5), production=dict(b=4, s=16384), rtol=1e-4, atol=1e-5)  # fmt: skip
def doubly_stochastic(file, device, b, s):
    x, scale = tm.normal(b, s, 24, device=device), torch.rand(3).to(device)
    base = tm.normal(24, device=device, scale=0.1)

    def want():
        y, c = x.double(), base.double()
        pre = torch.sigmoid(y[..., :4] * scale[0].double() + c[:4]) + 1e-6
        post = 2 * torch.sigmoid(y[..., 4:8] * scale[1].double() + c[4:8])
        m = (y[..., 8:] * scale[2].double() + c[8:]).unflatten(-1, (4, 4)).softmax(-1) + 1e-6
        m = m / (m.sum(-2, keepdim=True) + 1e-6)
        for _ in range(19):
            m = m / (m.sum(-1, keepdim=True) + 1e-6)
            m = m / (m.sum(-2, keepdim=True) + 1e-6)
        return pre, post, m

    return lambda: file.ModelNew()(x, scale, base), want


# It is made for one shape.
for _name in ("_decoder_splade_max_kernel", "_decoder_splade_all_segments_kernel", "_splade_max_pool_kernel"):  # fmt: skip

    @repository.case(FOLDER + "task04_splade_sparse_pooler/solution.py", f"_gelu_layer_norm_kernel, {_name}", small=dict(), production=dict(), name=_name.removeprefix("_").removesuffix("_kernel"), rtol=2e-2, atol=2e-2)  # fmt: skip
    def pooled(file, device, name=_name):
        with torch.no_grad():
            model = file.ModelNew().to(device).requires_grad_(False)
        model.direct_decoder_pool = name != "_splade_max_pool_kernel"
        model.direct_all_segments = "all" in name
        x = tm.normal(83, 768, device=device)

        def want():
            y = torch.nn.functional.gelu(x.double() @ model.dense.weight.double().T + model.dense.bias.double())  # fmt: skip
            y = tm.layer_norm(y, model.layer_norm.weight, model.layer_norm.bias, 1e-12)
            logits = y @ model.decoder.weight.double().T + model.decoder.bias.double()
            return [torch.log1p(part.amax(0).relu()) for part in logits.split(LENGTHS)]

        return lambda: model(x, None), want
