"""triton-kernels of bassrehab: a mixture of experts from its router on, and int8 weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "bassrehab/triton-kernels",
    "7f19abd04e526076e2917defa67e6a67cb04c629",
    packages={"triton_kernels": "."},
)
F16 = torch.float16


def _router(gating, kernel):
    def build(file, device, m, k, experts, topk):
        x = tm.normal(m, k, device=device, dtype=F16)
        w = tm.normal(experts, k, device=device, dtype=F16, scale=k**-0.5)

        def want():
            logits = (x.double() @ w.double().T).to(F16).double()
            if gating == "softmax":
                return logits.softmax(-1).topk(topk).values
            values = logits.sigmoid().topk(topk).values
            return values / (values.sum(-1, keepdim=True) + 1e-6)

        return lambda: file.moe_router(x, w, topk, gating)[1], want

    repository.case("triton_kernels/moe/router.py", kernel, rtol=2e-2, atol=1e-3, name=f"router_{gating}", small=dict(m=9, k=32, experts=24, topk=4), production=dict(m=65536, k=128, experts=256, topk=8))(build)  # fmt: skip


_router("softmax", "_softmax_topk_kernel")
_router("sigmoid", "_sigmoid_topk_kernel")


@repository.case("triton_kernels/moe/fused_moe.py", "_permute_kernel, _fused_gate_up_kernel, _grouped_gemm_kernel, _unpermute_kernel", rtol=2e-2, atol=2e-2, small=dict(m=40, k=48, n=72, experts=3, topk=2), production=dict(m=4096, k=2048, n=3584, experts=8, topk=2))  # fmt: skip
def experts(file, device, m, k, n, experts, topk):
    x = tm.normal(m, k, device=device, dtype=F16)
    gate, up = (tm.normal(experts, n, k, device=device, dtype=F16, scale=k**-0.5) for _ in range(2))
    down = tm.normal(experts, k, n, device=device, dtype=F16, scale=n**-0.5)
    weights, ids = tm.topk_ids(m, experts, topk, device)

    def run():
        tokens, offsets, order, _ = file.permute_tokens(x, ids, experts)
        return file.fused_expert_ffn(tokens, gate, up, down, offsets, experts, weights, order, m, topk)  # fmt: skip

    def want():
        hidden = F.silu(tm.moe(x, gate, ids)) * tm.moe(x, up, ids)
        flat = tm.moe(hidden.flatten(0, 1), down, ids.reshape(-1, 1))
        return (flat.view(m, topk, k) * weights.double()[..., None]).sum(1)

    return run, want


@repository.case("triton_kernels/quantized_matmul.py", "_int8_gemm_kernel", rtol=2e-2, atol=2e-2, small=dict(m=50, n=70, k=90), production=dict(m=2048, n=11008, k=4096))  # fmt: skip
def int8_weights(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=F16, scale=k**-0.5)
    w = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scale = torch.rand(n).to(device) * 0.02
    return lambda: file.int8_gemm(x, w, scale), lambda: x.double() @ w.double().T * scale.double()
