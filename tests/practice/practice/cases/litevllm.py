"""litevLLM: norms before 4-bit products, products with blocks of GGUF, rows of a table."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "jiayingsong2023/litevLLM",
    "402ddf60e17c142ab6d01bbcd8853aa705f741c4",
    packages={"vllm": "."},
    stand_ins={
        "vllm.triton_utils": {"tl": tl, "triton": triton},
        "vllm.model_executor.models.deepseek_v4_flash.quant": {},
    },
)
FOLDER = "vllm/kernels/triton/"
F16 = torch.float16


@repository.case(FOLDER + "rms_norm.py", "_fused_add_rms_norm_kernel", rtol=1e-2, atol=1e-2, small=dict(m=20, n=300), production=dict(m=8192, n=8192))  # fmt: skip
def norm_of_sum(file, device, m, n):
    x, residual = (tm.normal(m, n, device=device, dtype=F16) for _ in range(2))
    weight = torch.rand(n).to(F16).to(device)

    def run():
        out, total = x.clone(), residual.clone()
        file.fused_add_rms_norm(out, total, weight, 1e-6)
        return out, total

    def want():
        total = x.double() + residual.double()
        return tm.rms_norm(total, weight, 1e-6), total

    return run, want


@repository.case(FOLDER + "rmsnorm_awq_fused.py", "rmsnorm_awq_fused_kernel", rtol=1e-2, atol=5e-2, small=dict(m=64, n=128, k=256, group=32), production=dict(m=512, n=11008, k=4096, group=128))  # fmt: skip
def norm_before_int4(file, device, m, n, k, group):
    x = tm.normal(m, k, device=device, dtype=F16)
    values, zeros = tm.integers(0, 16, n, k, device="cpu"), tm.integers(0, 16, n, k // group, device="cpu")  # fmt: skip
    packed, packed_zeros = (tm.packed_int4(v).to(device) for v in (values, zeros))
    scales = (torch.rand(n, k // group) * k**-0.5).to(F16).to(device)
    weight = torch.rand(k).to(F16).to(device)

    def want():
        w = tm.dequantised_blocks(torch.ones(n, k, device=device), scales, group) * (
            values.to(device) - zeros.to(device).repeat_interleave(group, 1)
        )
        return tm.rms_norm(x, weight, 1e-6) @ w.T

    return (
        lambda: file.rmsnorm_awq_fused_linear(x, packed, scales, packed_zeros, group, weight),
        want,
    )


def _gguf(rows, columns):
    """Blocks of 32 signed bytes with a scale in two more, and what they mean."""
    scales = (torch.rand(rows, columns // 32, 1) * 0.01).to(F16)
    values = torch.randint(-127, 128, (rows, columns // 32, 32), dtype=torch.int8)
    raw = torch.cat([scales.view(torch.uint8), values.view(torch.uint8)], -1)
    return raw.flatten(), values, scales


def _meaning(values, scales, device):
    return (values.to(device).double() * scales.to(device).double()).flatten(1)


GGUF = dict(small=dict(rows=40, columns=256), production=dict(rows=32768, columns=2048))


@repository.case(FOLDER + "deepseek_v4_flash/q8_linear.py", "_q8_0_raw_matvec_kernel", rtol=1e-4, atol=1e-3, **GGUF)  # fmt: skip
def q8_product(file, device, rows, columns):
    raw, *parts = _gguf(rows, columns)
    raw, x = raw.to(device), tm.normal(columns, device=device)
    return (
        lambda: file.q8_0_raw_linear(raw, x, rows=rows, columns=columns),
        lambda: _meaning(*parts, device) @ x.double(),
    )


@repository.case(FOLDER + "deepseek_v4_flash/q8_linear.py", "_q8_0_raw_gate_up_activation_kernel", rtol=1e-4, atol=1e-3, **GGUF)  # fmt: skip
def q8_gate(file, device, rows, columns):
    (gate, *gates), (up, *ups) = (_gguf(rows, columns) for _ in range(2))
    gate, up, x = gate.to(device), up.to(device), tm.normal(columns, device=device)

    def want():
        a, b = (_meaning(*parts, device) @ x.double() for parts in (gates, ups))
        return F.silu(a.clamp(max=10)) * b.clamp(-10, 10)

    return (
        lambda: file.q8_0_raw_gate_up_activation(gate, up, x, rows=rows, columns=columns),
        want,
    )


@repository.case(FOLDER + "embedding.py", "_embedding_kernel", rtol=0, atol=0, small=dict(n=50, vocab=90, d=100), production=dict(n=32768, vocab=65536, d=4096))  # fmt: skip
def embedding(file, device, n, vocab, d):
    ids = tm.integers(0, vocab, n, device=device)
    table = tm.normal(vocab, d, device=device, dtype=F16)
    return lambda: file.embedding(ids, table), lambda: table[ids]


@repository.case(FOLDER + "gemma4_moe_int4.py", "_gemma4_moe_gate_up_m1_kernel, _gemma4_moe_down_reduce_m1_kernel", rtol=1e-2, atol=1e-2, small=dict(experts=4, k=2, d=128, inner=96), production=dict(experts=128, k=8, d=2816, inner=704))  # fmt: skip
def int4_experts(file, device, experts, k, d, inner):
    x = tm.normal(1, d, device=device, dtype=F16)
    weights, ids = tm.topk_ids(1, experts, k, device)
    shapes = (2 * inner, d), (d, inner)
    packed = [
        tm.integers(-1 << 31, 1 << 31, experts, m, n // 8, device=device, dtype=torch.int32)
        for m, n in shapes
    ]
    scales = [
        (torch.rand(experts, m, n // 32) * 0.4 * n**-0.5).to(F16).to(device) for m, n in shapes
    ]

    def run():
        out, done, why = file.gemma4_moe_int4_decode(
            x, weights, ids, packed[0], scales[0], packed[1], scales[1],
            intermediate_dim=inner, activation="gelu",
        )  # fmt: skip
        assert done, why
        return out

    def want():
        shifts = torch.arange(0, 32, 4, device=device)
        first, second = (
            ((p[ids[0]][..., None] >> shifts & 15).flatten(-2).double() - 8)
            * s[ids[0]].double().repeat_interleave(32, -1)
            for p, s in zip(packed, scales, strict=True)
        )
        gate, up = (first @ x[0].double()).chunk(2, -1)
        activated = F.gelu(gate, approximate="tanh") * up * weights[0].double()[:, None]
        return torch.einsum("kdi,ki->d", second, activated)[None]

    return run, want
