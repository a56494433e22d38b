"""vllm-triton-backend: decoding with a cache in pages, the keys in parts of 16 bytes."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

LIB = "ibm-triton-lib"
repository = Repository(
    "foundation-model-stack/vllm-triton-backend",
    "bfdaac27348946349020e1caaa9671f0797fd57e",
    packages={"ibm_triton_lib": LIB},
)


def _decode(name, cache, **options):
    @repository.case(LIB + "/ibm_triton_lib/kernels/legacy/triton_paged_decode_attention_3d.py", "kernel_paged_attention_3d, reduce_segments", small=dict(b=2, n=150, h=4, hk=2, d=48), production=dict(b=32, n=8192, h=32, hk=8, d=128), rtol=2e-2, atol=2e-2, name=name)  # fmt: skip
    def build(file, device, b, n, h, hk, d):
        lengths, pages = tm.lengths(b, n), -(-n // 16)
        x = 16 // cache.itemsize
        k = tm.normal(b * pages, hk, d // x, 16, x, device=device).to(cache)
        v = tm.normal(b * pages, hk, d, 16, device=device).to(cache)
        q = tm.normal(b, h, d, device=device, dtype=torch.bfloat16)
        table = torch.randperm(b * pages).view(b, pages).int().to(device)
        counts = torch.tensor(lengths, dtype=torch.int32, device=device)
        slopes = (torch.rand(h) / 8).to(device) if options else None
        scale = torch.tensor([0.5], device=device)
        is_fp8 = cache.itemsize == 1

        def run():
            out = torch.empty_like(q)
            kept = [t.view(torch.uint8) if is_fp8 else t for t in (k, v)]
            file.paged_attention_triton_3d(
                out, q, *kept, d**-0.5, scale, scale, "fp8" if is_fp8 else "auto", table, counts,
                slopes, 16, b, h, h // hk, d,
            )  # fmt: skip
            return out

        def want():
            factor = 0.5 if is_fp8 else 1.0
            rows = []
            for i, length in enumerate(lengths):
                own = table[i].long()
                keys = k.float()[own].permute(1, 0, 3, 2, 4).flatten(3).flatten(1, 2)
                values = v.float()[own].permute(1, 0, 3, 2).flatten(1, 2)
                bias = None
                if slopes is not None:
                    away = torch.arange(length, device=device) - (length - 1)
                    bias = slopes[:, None, None] * away
                rows.append(tm.attention(q[i, :, None], keys[:, :length] * factor, values[:, :length] * factor, bias=bias)[0][:, 0])  # fmt: skip
            return torch.stack(rows)

        return run, want


_decode("decode", torch.bfloat16)
_decode("decode_fp8", torch.float8_e4m3fn)
_decode("decode_alibi", torch.bfloat16, alibi=True)
