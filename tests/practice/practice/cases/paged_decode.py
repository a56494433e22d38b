"""paged-attention-decode: one token's attention to pages, in one part or in several."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Kare0638/paged-attention-decode", "b7dcc93abb3d84a5c56194ca149a9004da0e2e03"
)


def _decode(name, file, function, kernels, **options):
    def build(module, device, b, hq, hk, n, d, size):
        q = tm.normal(b, hq, d, device=device, dtype=torch.float16)
        pages = -(-n // size)
        k, v = (tm.normal(b * pages, size, hk, d, device=device, dtype=torch.float16) for _ in range(2))  # fmt: skip
        table = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
        lengths = torch.tensor(tm.lengths(b, n)).to(torch.int32).to(device)

        def want():
            keys, values = (x[table.long()].flatten(1, 2).transpose(1, 2) for x in (k, v))
            hidden = torch.arange(keys.shape[2], device=device) >= lengths[:, None, None, None]
            bias = torch.zeros(b, 1, 1, keys.shape[2], device=device).masked_fill(hidden, -torch.inf)  # fmt: skip
            return tm.attention(q[:, :, None], keys, values, bias=bias)[0][:, :, 0]

        return lambda: getattr(module, function)(q, k, v, table, lengths, **options), want

    repository.case(file, kernels, name=name, rtol=1e-2, atol=1e-2, small=dict(b=3, hq=12, hk=2, n=150, d=64, size=16), production=dict(b=32, hq=28, hk=4, n=4096, d=128, size=16))(build)  # fmt: skip


_decode("one_part", "src/kernel_v1_naive.py", "paged_attention_decode_v1", "_paged_attn_decode_v1_kernel")  # fmt: skip
_decode("parts", "src/kernel_v4_split_k.py", "paged_attention_decode_v4", "_paged_attn_decode_v4_phase1_kernel, _paged_attn_decode_v4_phase2_kernel", num_splits=6)  # fmt: skip
