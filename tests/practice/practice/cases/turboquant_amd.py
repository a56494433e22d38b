"""TurboQuant for AMD's GPUs: attention to keys in classes, to pages of 4 bits, and values in
classes."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("andyluo7/turboquant-amd", "6f9c257ab6ebd4fe9bb21f84ce65fe075b8e2986")
FOLDER = "turboquant/kernels/"
HALF = torch.float16


@repository.case(FOLDER + "fp4_pa_triton_v2.py", "_fp4_pa_v2_kernel", small=dict(b=3, heads=4, kv_heads=2, d=64, most=50), production=dict(b=64, heads=32, kv_heads=8, d=128, most=512), rtol=1e-2, atol=2e-2)  # fmt: skip
def paged_attention_4_bits(file, device, b, heads, kv_heads, d, most):
    """The halves of a row share its bytes: integers of -8 to 7."""
    q = tm.normal(b, heads, d, device=device, dtype=torch.bfloat16, scale=0.2)
    pages = -(-most // 16)
    shape = b * pages, 16, kv_heads, d
    k, v = (tm.integers(-8, 8, *shape, device=device) for _ in range(2))
    tables = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
    lengths = torch.tensor(tm.lengths(b, most), dtype=torch.int32).to(device)

    def packed(x):
        low, high = (x & 15).to(torch.uint8).chunk(2, -1)
        return (low | high << 4).contiguous()

    k_cache, v_cache = packed(k), packed(v)

    def want():
        out = []
        for i, n in enumerate(lengths.tolist()):
            rows = [x[tables[i].long()].flatten(0, 1)[:n].transpose(0, 1) for x in (k, v)]
            out.append(tm.attention(q[i, :, None], *rows)[0][:, 0])
        return torch.stack(out)

    return lambda: file.fp4_pa_v2(q, k_cache, v_cache, tables, lengths), want


def _parts(device, b, h, sq, sk):
    """Queries, their products with a matrix, keys, signs of what is left, norms of it, values."""
    q, turned = (tm.normal(b, h, sq, 128, device=device) for _ in range(2))
    k, v = (tm.normal(b, h, sk, 128, device=device, dtype=HALF) for _ in range(2))
    signs = (tm.integers(0, 2, b, h, sk, 128, device=device) * 2 - 1).to(torch.int8)
    rest = torch.rand(b, h, sk).to(HALF).to(device)

    def want():
        out = []
        for x, y, *others in zip(q, turned, k, signs, rest, v, strict=True):
            keys, bits, norms, values = (t.double() for t in others)
            more = y.double() @ bits.mT * norms[:, None] * math.sqrt(math.pi / 2) / 128
            scores = (x.double() @ keys.mT + more) / math.sqrt(128)
            out.append(scores.softmax(-1) @ values)
        return torch.stack(out)

    return (q, k, signs, rest, v, turned), want


@repository.case(FOLDER + "attention.py", "_splitk_v1_partial, _splitk_reduce", small=dict(b=1, h=2, sk=700), production=dict(b=2, h=16, sk=8192), rtol=1e-3, atol=1e-4)  # fmt: skip
def attention_of_one_query(file, device, b, h, sk):
    inputs, want = _parts(device, b, h, 1, sk)
    return lambda: file.FusedAsymmetricAttention().forward(*inputs), want


@repository.case(FOLDER + "attention.py", "_fused_general", small=dict(b=1, h=2, sq=40, sk=100), production=dict(b=2, h=16, sq=1024, sk=4096), rtol=1e-2, atol=3e-3)  # fmt: skip
def attention(file, device, b, h, sq, sk):
    """Its products are of fp16."""
    inputs, want = _parts(device, b, h, sq, sk)
    return lambda: file.FusedAsymmetricAttention().forward(*inputs), want


@repository.case(FOLDER + "compress_v.py", "_fused_v_compress, _v_post_rotation", small=dict(n=300, d=128), production=dict(n=1 << 18, d=128), rtol=1e-2, atol=1e-4, share=5e-3)  # fmt: skip
def values_in_classes(file, device, n, d):
    """Turned in one kernel, or before it. At the borders of classes the last bits decide."""
    x = tm.normal(n, d, device=device)
    turn = torch.linalg.qr(torch.randn(d, d))[0].contiguous().to(device)
    centroids = torch.tensor([-1.51, -0.4528, 0.4528, 1.51], device=device) / d**0.5
    borders = torch.tensor([-0.98, 0.0, 0.98], device=device) / d**0.5

    def run():
        return (
            file.v_compress_one_kernel(x, turn, centroids, borders),
            file.v_compress_two_kernel(x, turn, centroids, borders),
        )

    def want():
        norms = x.double().norm(dim=-1, keepdim=True)
        y = x.double() / norms @ turn.double()
        y = centroids.double()[torch.bucketize(y, borders.double(), right=True)] * norms
        return y, y

    return run, want
