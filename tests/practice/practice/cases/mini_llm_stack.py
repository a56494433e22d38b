"""Mini LLM stack: products with weights of 8, 4 and 8 floating-point bits, rows that go to experts
and back, and attention to a paged cache."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("grenver/mini-llm-stack", "116ead4ca0b783ba4f31b205713ddefc77f3aae5", packages={"kernels": "."})  # fmt: skip
HALF = torch.float16


@repository.case("kernels/dequant_matmul.py", "_int4_matmul_kernel", small=dict(m=20, n=70, k=128, group=32), production=dict(m=64, n=8192, k=4096, group=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def times_4_bit_weights(file, device, m, n, k, group):
    x = tm.normal(m, k, device=device, dtype=HALF)
    values = tm.integers(0, 16, n, k, device=device, dtype=torch.uint8)
    packed = values[:, ::2] | (values[:, 1::2] << 4)
    scales = torch.rand(n, k // group).to(device) * 0.02

    def want():
        return x.double() @ tm.dequantised_blocks(values.to(torch.int8) - 8, scales, group).T

    return lambda: file.int4_matmul(x, packed, scales, group), want


@repository.case("kernels/dequant_matmul.py", "_int8_dgrad_kernel", small=dict(m=20, n=70, k=100), production=dict(m=1024, n=4096, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def gradient_through_8_bit_weights(file, device, m, n, k):
    upstream = tm.normal(m, n, device=device, dtype=HALF)
    values = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scales = torch.rand(n).to(device) * 1e-3

    def want():
        return (upstream.double() * scales.double()) @ values.double()

    return lambda: file.int8_dgrad(upstream, values, scales), want


@repository.case("kernels/fp8_matmul.py", "_fp8_matmul_kernel, _decode_e4m3", small=dict(m=40, n=70, k=100), production=dict(m=1024, n=2048, k=2048), rtol=5e-3, atol=5e-2)  # fmt: skip
def times_8_bit_floats(file, device, m, n, k):
    a, b = (tm.fp8(rows, k, device=device) for rows in (m, n))

    def run():
        return file.fp8_matmul(a.view(torch.uint8), b.view(torch.uint8), 0.5, 0.25)

    return run, lambda: a.float().double() @ b.float().double().T / 8


def _routes(tokens, experts, topk, device):
    weights, ids = tm.topk_ids(tokens, experts, topk, device)
    order = ids.flatten().argsort(stable=True)
    return weights, order.argsort().view(tokens, topk), order


@repository.case("kernels/moe_backward.py", "_scatter_add_rows_kernel, _combine_bwd_deo_kernel, _combine_bwd_dw_kernel", small=dict(tokens=30, d=100, experts=5, topk=2), production=dict(tokens=8192, d=2048, experts=64, topk=4), rtol=1e-4, atol=1e-3)  # fmt: skip
def gradients_of_routes(file, device, tokens, d, experts, topk):
    weights, places, order = _routes(tokens, experts, topk, device)
    upstream = tm.normal(tokens, d, device=device)
    rows = tm.normal(tokens * topk, d, device=device)

    def run():
        to_rows, to_weights = file.combine_backward(upstream, rows, weights, places)
        return to_rows, to_weights, file.scatter_add_rows(to_rows, order // topk, tokens)

    def want():
        each = weights.double()[..., None] * upstream.double()[:, None]
        to_rows = torch.empty_like(rows, dtype=torch.float64)
        to_rows[places.flatten()] = each.flatten(0, 1)
        to_weights = (upstream.double()[:, None] * rows.double()[places]).sum(-1)
        return to_rows, to_weights, each.sum(1)

    return run, want


@repository.case("kernels/paged_attention.py", "_paged_attn_kernel", small=dict(b=3, heads=2, most=50, d=40, size=16), production=dict(b=64, heads=32, most=2048, d=128, size=16), rtol=1e-2, atol=2e-3)  # fmt: skip
def paged_attention(file, device, b, heads, most, d, size):
    lengths = tm.lengths(b, most)
    most_blocks = -(-most // size)
    count = b * most_blocks
    q = tm.normal(b, heads, d, device=device, dtype=HALF)
    k, v = (tm.normal(count, heads, size, d, device=device, dtype=HALF) for _ in range(2))
    table = torch.randperm(count).view(b, most_blocks).to(torch.int32).to(device)
    ends = torch.tensor(lengths, dtype=torch.int32, device=device)

    def want():
        out = []
        for row, length, query in zip(table.long(), lengths, q, strict=True):
            keys, values = (x[row].transpose(0, 1).flatten(1, 2)[:, :length] for x in (k, v))
            out.append(tm.attention(query[:, None], keys, values)[0][:, 0])
        return torch.stack(out)

    return lambda: file.paged_attention_decode(q, k, v, table, ends), want
