"""fastkernels: routing by a sort of keys, ternary weights, small fused operators of layers."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Snowflake-AI-Research/fastkernels", "21f84ee41ca5f495fa4b26cb74e756490a98d4fe", packages={"fastkernels": "."})  # fmt: skip
L1, L2 = "fastkernels/tasks/baseline/L1/", "fastkernels/tasks/baseline/L2/"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case(L1 + "squared_relu_and_mul.py", "_squared_relu_and_mul_kernel", small=dict(m=5, n=300), production=dict(m=8192, n=6912), **HALF)  # fmt: skip
def squared_relu(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16)

    def want():
        gate, up = x.double().chunk(2, -1)
        return gate.relu().square() * up

    return lambda: file.SquaredReluAndMul.forward_cuda(x), want


@repository.case(L1 + "gemma4_routing.py", "_gemma4_routing_kernel", small=dict(m=7, e=60, topk=4), production=dict(m=16384, e=128, topk=8), rtol=1e-4)  # fmt: skip
def routing(file, device, m, e, topk):
    x, scale = tm.normal(m, e, device=device), torch.rand(e).to(device)

    def want():
        values, ids = x.double().softmax(-1).topk(topk)
        return values / values.sum(-1, keepdim=True) * scale.double()[ids], ids

    return lambda: file.Gemma4Routing().forward(x, topk, scale), want


@repository.case(L1 + "bitnet_int8xint2_linear.py", "_activation_quant_int8_kernel, _bitnet_int8xint2_gemm_kernel", small=dict(m=20, n=100, k=256), production=dict(m=4096, n=6912, k=2560), **HALF)  # fmt: skip
def ternary_weights(file, device, m, n, k):
    x, s = tm.normal(m, k, device=device, dtype=BF16), torch.rand(n).to(BF16).to(device)
    w = torch.randint(-1, 2, (n, k))
    packed = sum((w[:, i::4] + 1) << (2 * i) for i in range(4)).to(torch.uint8).to(device)

    def run():  # its operators are of CUDA tensors only
        q, scales = torch.empty_like(x, dtype=torch.int8), torch.empty(m, dtype=BF16, device=device)
        file._act_quant_impl(x, q, scales)
        y = torch.empty(m, n, dtype=BF16, device=device)
        file._bitnet_gemm_impl(q, scales, packed, s, None, y)
        return y, q

    def want():
        top = x.double().abs().amax(-1, keepdim=True).clamp(min=1e-5)
        q = (x.float() * (127.0 / top).float()).round().clamp(-128, 127).double()
        return q @ w.to(device).double().T * s.double() / (127 / top).to(BF16).double(), q

    return run, want


@repository.case(L1 + "silu_mul_quant_fp8.py", "_silu_mul_per_token_group_quant_fp8_colmajor", small=dict(m=128, n=256), production=dict(m=8192, n=2048), rtol=0.13, atol=1e-3)  # fmt: skip
def swiglu_to_fp8(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16)

    def run():
        y, scales = file.SiluMulQuantFp8().forward(x)
        return tm.dequantised_blocks(y, scales, 128), scales

    def want():
        gate, up = x.chunk(2, -1)
        y = (torch.nn.functional.silu(gate.float()).to(BF16) * up).double()
        top = y.unflatten(-1, (-1, 128)).abs().amax(-1) / 448
        return y, torch.exp2(torch.ceil(torch.log2(top)))

    return run, want


@repository.case(L1 + "cat_quant_fp8.py", "_cat_quant_fp8_kernel", small=dict(m=5, h=4, a=96, b=16), production=dict(m=4096, h=64, a=512, b=64), rtol=0.07, atol=2e-3)  # fmt: skip
def concatenated_to_fp8(file, device, m, h, a, b):
    x = tm.normal(h, m, a, device=device, dtype=BF16).transpose(0, 1)
    y = tm.normal(m, h, 2 * b, device=device, dtype=BF16)[..., b:]
    scale = torch.tensor([0.01], device=device)

    def want():
        return (torch.cat([x, y], -1).double() / scale.double()).clamp(-448, 448)

    return lambda: file.CatQuantFP8().forward(x, y, scale), want


@repository.case(L1 + "moe_shared_gate_add.py", "_shared_gate_add_kernel", small=dict(m=5, n=300), production=dict(m=8192, n=2048), **HALF)  # fmt: skip
def gated_sum(file, device, m, n):
    a, b, x = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(3))
    w = tm.normal(n, device=device, dtype=BF16, scale=n**-0.5)

    def want():
        return a.double() + b.double() * torch.sigmoid(x.double() @ w.double())[:, None]

    return lambda: file.moe_shared_gate_add(a, b, hidden_states=x, gate_weight=w), want


@repository.case(L2 + "fused_qk_norm_rope.py", "_fused_qk_rmsnorm_rope_gate_kernel", small=dict(m=5, h=4, hk=2, d=64, r=16), production=dict(m=8192, h=32, hk=4, d=256, r=64), **HALF)  # fmt: skip
def norm_rope_and_gate(file, device, m, h, hk, d, r):
    q, k = (tm.normal(m, n * d, device=device, dtype=BF16) for n in (2 * h, hk))
    w, v = (tm.normal(d, device=device, dtype=BF16) for _ in range(2))
    angles = torch.rand(2 * m, r // 2) * 6
    cache = torch.cat([angles.cos(), angles.sin()], -1).to(device)
    at = torch.randperm(2 * m)[:m].to(device)

    def want():
        pairs, keys = q.view(m, h, 2 * d), k.view(m, hk, d)
        parts = []
        for x, weight in ((pairs[..., :d], w), (keys, v)):
            y = tm.rms_norm(x, weight, 1e-6)
            cos, sin = cache[at][:, None].chunk(2, -1)
            parts.append(torch.cat([tm.rotated(y[..., :r], cos, sin), y[..., r:]], -1).flatten(1))
        return (*parts, pairs[..., d:].flatten(1))

    return lambda: file.fused_qk_rmsnorm_rope_gate(q, k, w, v, cache, at, 1e-6, h, hk, d, r), want
