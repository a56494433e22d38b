"""TurboQuant for Intel's GPUs: the attention of one query to pages of keys in classes or in fp8 and
of values in few bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("bryanvine/turboquant-xpu", "0ffb360b5b6abf5e177eb35bff3ab393e6bac6dd", packages={"turboquant_xpu": "src"})  # fmt: skip
KERNELS = "_tq_decode_stage1, _fwd_kernel_stage2"
SMALL = dict(b=2, heads=4, kv_heads=2, d=64, most=150)
PRODUCTION = dict(b=4, heads=32, kv_heads=8, d=128, most=4096)


def _packed(ids, bits):
    """The lowest bit of each element comes first."""
    flags = (ids[..., None] >> torch.arange(bits)) & 1
    return (flags.view(*ids.shape[:-1], -1, 8) << torch.arange(8)).sum(-1).to(torch.uint8)


def _case(file, device, b, heads, kv_heads, d, most, key_bits, value_bits):
    """``key_bits`` of 0: keys are in fp8, and not turned."""
    q = tm.normal(b, heads, d, device=device, dtype=torch.float16)
    turn = torch.linalg.qr(torch.randn(d, d))[0].contiguous().to(device)
    pages = -(-most // 16)
    shape = b * pages, 16, kv_heads
    if key_bits:
        centroids = torch.linspace(-2.5, 2.5, 1 << key_bits) / d**0.5
        ids, norms = torch.randint(1 << key_bits, (*shape, d)), torch.rand(*shape, 1).half() * 8
        k = centroids.double()[ids] * norms.double()
        parts = [_packed(ids, key_bits), norms.view(torch.uint8)]
    else:
        centroids = torch.zeros(1)
        keys = torch.randn(*shape, d).to(tm.FP8)
        k, parts = keys.float().double(), [keys.view(torch.uint8)]
    key_bytes = sum(x.shape[-1] for x in parts)
    ids = torch.randint(1 << value_bits, (*shape, d))
    scale, zero = (torch.randn(*shape, 1).half() for _ in range(2))
    v = ids * scale.double() + zero.double()
    parts += [_packed(ids, value_bits), scale.view(torch.uint8), zero.view(torch.uint8)]
    cache = torch.cat(parts, -1).contiguous().to(device)
    tables = torch.randperm(b * pages).view(b, pages)
    lengths = tm.lengths(b, most)
    sizes = torch.tensor(lengths, dtype=torch.int32, device=device)
    places, centroids = tables.to(torch.int32).to(device), centroids.to(device)

    def run():
        return file.triton_turboquant_decode_attention(
            q, cache, places, sizes, turn, centroids, d**-0.5, key_bits, key_bytes, value_bits,
            key_fp8=not key_bits,
        )  # fmt: skip

    def want():
        out = []
        for i, n in enumerate(lengths):
            rows = [x[tables[i]].flatten(0, 1)[:n].transpose(0, 1).to(device) for x in (k, v)]
            y = q[i].double() @ turn.double().T if key_bits else q[i]
            out.append(tm.attention(y[:, None], *rows)[0][:, 0])
        return torch.stack(out)

    return run, want


@repository.case("src/turboquant_xpu/kernels/triton_decode.py", KERNELS, small=SMALL, production=PRODUCTION, rtol=1e-2, atol=2e-3)  # fmt: skip
def attention_4_bits(file, device, b, heads, kv_heads, d, most):
    return _case(file, device, b, heads, kv_heads, d, most, 4, 4)


@repository.case("src/turboquant_xpu/kernels/triton_decode.py", KERNELS, small=SMALL, production=PRODUCTION, rtol=1e-2, atol=2e-3)  # fmt: skip
def attention_3_bits(file, device, b, heads, kv_heads, d, most):
    return _case(file, device, b, heads, kv_heads, d, most, 3, 3)


@repository.case("src/turboquant_xpu/kernels/triton_decode.py", KERNELS, small=SMALL, production=PRODUCTION, rtol=1e-2, atol=2e-3)  # fmt: skip
def attention_fp8(file, device, b, heads, kv_heads, d, most):
    return _case(file, device, b, heads, kv_heads, d, most, 0, 4)
