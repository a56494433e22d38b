"""flashattention2-custom-mask: attention under any mask, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "alexzhang13/flashattention2-custom-mask",
    "817091628883aab3d43c176218805fe16832aa04",
    packages={"fa2_custom_mask": "."},
)


def _attention(masked):
    def build(file, device, b, h, n, d):
        q, k, v, out = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(4))
        mask = torch.tril(torch.rand(b, h, n, n) < 0.7) | torch.eye(n, dtype=torch.bool)
        bias = torch.where(mask, 0.0, float("-inf")).to(device)
        mask = mask.to(device) if masked else None

        def run(q, k, v):
            return file.flash_attention_custom_mask(q, k, v, mask, d**-0.5)

        def right(q, k, v):
            return tm.attention(q, k, v, bias=bias if masked else None)[0]

        return (
            lambda: tm.with_gradients(run, out, q, k, v),
            lambda: tm.with_gradients(right, out, q, k, v, exact=True),
        )

    return build


for _name, _masked in (("masked", True), ("full", False)):
    repository.case("fa2_custom_mask/fa2_custom_mask.py", "_attn_fwd, _attn_bwd_preprocess, _attn_bwd", small=dict(b=1, h=2, n=128, d=32), production=dict(b=4, h=16, n=2048, d=64), rtol=2e-2, atol=2e-2, name=_name)(_attention(_masked))  # fmt: skip
