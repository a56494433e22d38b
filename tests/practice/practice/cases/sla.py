"""SLA: attention to the blocks of keys of a table, with gradients by a map of blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-ml/SLA", "d973e55ea5b5b5fd0bc5141959e8410f0d366336", packages={"sparse_linear_attention": ""})  # fmt: skip
BF16 = torch.bfloat16


def _attention(q, k, v, seen):
    s = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~seen, -torch.inf)
    return s.softmax(-1) @ v


for _block, _d in ((64, 64), (128, 128)):

    @repository.case("sparse_linear_attention/kernel.py", "_attn_fwd, _attn_bwd_preprocess, _attn_bwd_dq, _attn_bwd_dkdv", small=dict(b=1, h=2, n=300), production=dict(b=1, h=12, n=16000), rtol=2e-2, atol=2e-2, name=f"attention_{_d}")  # fmt: skip
    def attention(file, device, b, h, n, block=_block, d=_d):
        q, k, v, up = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(4))
        blocks, keys = -(-n // block), -(-n // 64)
        topk = max(2, keys // 5)
        table = torch.rand(b, h, blocks, keys).topk(topk, -1).indices.to(device)
        map_of = torch.zeros(b, h, blocks, keys, dtype=torch.int8, device=device).scatter_(-1, table, 1)  # fmt: skip

        def want():
            seen = map_of.bool().repeat_interleave(block, 2).repeat_interleave(64, 3)[:, :, :n, :n]
            return tm.with_gradients(lambda *x: _attention(*x, seen), up, q, k, v, exact=True)

        def run():
            return tm.with_gradients(
                lambda *x: file._attention.apply(*x, map_of, table, topk, block, 64), up, q, k, v
            )

        return run, want


@repository.case("sparse_linear_attention/utils.py", "compress_kernel", small=dict(b=1, h=2, n=300, d=64), production=dict(b=1, h=12, n=16000, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def means_of_blocks(file, device, b, h, n, d):
    x = tm.normal(b, h, n, d, device=device, dtype=BF16)
    return lambda: file.mean_pool(x, 64), lambda: torch.stack([part.double().mean(2) for part in x.split(64, 2)], 2)  # fmt: skip
