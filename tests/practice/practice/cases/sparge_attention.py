"""SpargeAttn: pooled blocks, tables of blocks, quantisation of Q and K."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository
from practice.cases.sageattention import LOG2E, _blocks_int8

repository = Repository(
    "thu-ml/SpargeAttn",
    "bfd980b781784c04ad6a53e7ee657c0645d99171",
    packages={"spas_sage_attn": "."},
    stand_ins={"einops": {}, "spas_sage_attn._qattn": {}, "spas_sage_attn._fused": {}},
)
SIZES = dict(small=dict(b=1, h=2, n=200, d=64), production=dict(b=2, h=32, n=8192, d=128))


@repository.case("spas_sage_attn/quant_per_block.py", "quant_per_block_int8_kernel", **SIZES, rtol=1e-5, atol=1e-6, share=2e-3)  # fmt: skip
def quantised_per_block(file, device, b, h, n, d):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(2))

    def run():
        q_, qs, k_, ks = file.per_block_int8(q, k)
        return q_, qs[..., 0], k_, ks[..., 0]

    return run, lambda: (*_blocks_int8(q, d**-0.5 * LOG2E, 128), *_blocks_int8(k, 1.0, 64))


@repository.case("spas_sage_attn/utils.py", "triton_block_map_to_lut_kernel", small=dict(b=1, h=2, q=5, k=37), production=dict(b=2, h=32, q=128, k=256), rtol=0, atol=0)  # fmt: skip
def block_map_to_table(file, device, b, h, q, k):
    on = tm.integers(0, 2, b, h, q, k, device=device, dtype=torch.bool)

    def want():
        table = torch.zeros(b, h, q, k, dtype=torch.int32)
        for place in torch.cartesian_prod(
            torch.arange(b), torch.arange(h), torch.arange(q)
        ).tolist():
            blocks = on[tuple(place)].cpu().nonzero()[:, 0]
            table[tuple(place)][: len(blocks)] = blocks.diff(
                prepend=torch.zeros(1, dtype=torch.int64)
            ).to(torch.int32)
        return table, on.sum(-1)

    return lambda: file.block_map_lut_triton(on), want


@repository.case("spas_sage_attn/utils.py", "triton_bmm_pool_sim_simmean", small=dict(b=1, h=2, n=256, d=64), production=dict(b=2, h=32, n=8192, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def pooled_blocks(file, device, b, h, n, d):
    """Means of blocks, and whether a block's rows are alike: half of the blocks here are."""
    x = tm.normal(b, h, n, d, device=device, dtype=torch.float16)
    blocks = x.view(b, h, -1, 64, d)
    blocks[:, :, ::2] = 1 + 0.1 * blocks[:, :, ::2]

    def run():
        return file.get_pool_sim_triton_simmean(x, 64, torch.full((h,), 0.5, device=device))

    def want():
        alike = torch.arange(n // 64, device=device) % 2 == 0
        return blocks.double().mean(-2), alike.expand(b, h, -1)

    return run, want
