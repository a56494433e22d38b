"""TileLang's examples in Triton: decoding of the blocks of keys that a mask names."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("tile-ai/tilelang", "a35008a42531c62b976ae4cec3855d4383db0f3c", folders=("examples/blocksparse_attention",), stand_ins={"einops": {}})  # fmt: skip
FOLDER = "examples/blocksparse_attention/example_triton_sparse_gqa_decode_varlen_"
KERNELS = "_split_kernel, _merge_kernel"
SMALL = dict(b=2, n=200, h=8, hk=2, d=64)
LARGE = dict(b=16, n=8192, h=32, hk=8, d=128)


@repository.case(FOLDER + "mask.py", KERNELS, small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2)
def masked_blocks(file, device, b, n, h, hk, d):
    q = tm.normal(b, h, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(b, n, hk, d, device=device, dtype=torch.float16) for _ in range(2))
    blocks = -(-n // 32)
    seen = torch.rand(b, hk, blocks) < 0.3
    seen[..., 0] = True
    lens, seen = torch.tensor(tm.lengths(b, n), dtype=torch.int32).to(device), seen.to(device)

    def want():
        s = torch.einsum("bhgd,bnhd->bhgn", q.double().unflatten(1, (hk, -1)), k.double()) * d**-0.5
        some = seen.repeat_interleave(32, -1)[..., :n]
        some = some & (torch.arange(n, device=device) < lens[:, None, None])
        p = s.masked_fill(~some[:, :, None], -torch.inf).softmax(-1)
        return torch.einsum("bhgn,bnhd->bhgd", p, v.double()).flatten(1, 2)

    def run():
        return file.block_sparse_flash_decode_gqa_mask_triton(q, k, v, lens, n, seen, 32)

    return run, want
