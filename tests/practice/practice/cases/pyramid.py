"""Pyramid-Sparse-Attention: attention to blocks of keys, each as it is or averaged over 2, 4 or 8."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

CAUSAL = "qwen2.5-vl-example/src/attention/PSA_casual/kernels/"
repository = Repository(
    "ziplab/Pyramid-Sparse-Attention",
    "be122cfb7f32010682b1d70534670e5ef150a93d",
    packages={"psa_triton": "src"},
)
KERNELS = "src/psa_triton/kernels/"
FP16 = torch.float16
SIZES = dict(small=dict(b=1, h=2, n=384, d=64), production=dict(b=1, h=32, n=4096, d=128))


def _levels(device, b, h, blocks):
    """0, 1, 2, 4 or 8 for each block of keys of a block of queries; the first is never 0."""
    levels = torch.tensor([0, 1, 2, 4, 8])[torch.randint(5, (b, h, blocks, blocks))]
    levels[..., 0] = 1
    return levels.to(torch.int32).to(device)


def _pooled(q, k, v, levels, causal=False):
    q, k, v = (x.double() for x in (q, k, v))
    wide = levels.repeat_interleave(128, 2).repeat_interleave(128, 3)
    means = {n: [x.unflatten(2, (-1, n)).mean(3).repeat_interleave(n, 2) for x in (k, v)] for n in (1, 2, 4, 8)}  # fmt: skip
    s = torch.full_like(wide, float("-inf"), dtype=torch.float64)
    for n, (keys, _) in means.items():
        s = torch.where(wide == n, q @ keys.mT * q.shape[-1] ** -0.5, s)
    p = s.softmax(-1)
    return sum((p * (wide == n)) @ values for n, (_, values) in means.items())


LEGACY = KERNELS + "psa_kernel_legacy.py"


@repository.case(LEGACY, "_fwd_kernel, _fwd_kernel_inner, _fwd_kernel_inner_4, _fwd_kernel_inner_8", **SIZES, rtol=1e-2, atol=1e-2)  # fmt: skip
def attention_by_mask(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(3))
    levels = _levels(device, b, h, n // 128)
    return lambda: file.sparse_attention_factory()(q, k, v, levels), lambda: _pooled(
        q, k, v, levels
    )


@repository.case(LEGACY, "_fwd_kernel, _attn_bwd_preprocess, _attn_bwd_dq_01mask_oldmask, _attn_bwd_dkdv_01mask_oldmask", small=dict(b=1, h=1, n=256, d=64), production=dict(b=1, h=16, n=4096, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def attention_by_mask_gradients(file, device, b, h, n, d):
    *qkv, g = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(4))
    levels = _levels(device, b, h, n // 128)
    return (
        lambda: tm.with_gradients(lambda *x: file.sparse_attention_factory()(*x, levels), g, *qkv),
        lambda: tm.with_gradients(lambda *x: _pooled(*x, levels), g, *qkv, exact=True),
    )


@repository.case(KERNELS + "psa_kernel.py", "_fwd_kernel, _fwd_kernel_inner", **SIZES, rtol=1e-2, atol=1e-2)  # fmt: skip
def attention_by_lists(file, device, b, h, n, d):
    """The blocks of each level in a row, with -1 after each; those of level 4 in pairs."""
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(3))
    blocks = n // 128
    levels = torch.zeros(b, h, blocks, blocks, dtype=torch.int32)
    lists = torch.full((b, h, blocks, blocks + 5), -1, dtype=torch.int32)
    for row, level in zip(lists.view(-1, blocks + 5), levels.view(-1, blocks), strict=True):
        order = torch.randperm(blocks).int()
        ends = [0, 1 + blocks // 8, 1 + blocks // 4, 1 + blocks // 4 + 2 * (blocks // 8)]
        if blocks < 8:
            ends = [0, 1, 1, 3]
        for i, value in enumerate((1, 2, 4)):
            part = order[ends[i] : ends[i + 1]]
            row[ends[i] + i : ends[i + 1] + i] = part
            level[part.long()] = value
    lists, levels = lists.to(device), levels.to(device)
    function = file.sparse_attention_factory(BLOCK_M=128, BLOCK_N=64)
    return lambda: function(q, k, v, lists), lambda: _pooled(q, k, v, levels)


@repository.case(KERNELS + "calc_ksim_kernel.py", "_calc_k_similarity_split_kernel", small=dict(b=1, h=2, n=256, d=32), production=dict(b=1, h=16, n=32768, d=128), share=1e-2)  # fmt: skip
def similarity(file, device, b, h, n, d):
    k = torch.randn(b, h, n // 32, 1, d) * torch.rand(b, h, n // 32, 1, 1) * 2
    k = (k + torch.randn(b, h, n // 32, 32, d)).flatten(2, 3).to(device)
    limits = SimpleNamespace(sim_2x_threshold=0.3, sim_4x_threshold=0.4, sim_8x_threshold=0.5)

    def want():
        rows = torch.nn.functional.normalize(k.double().unflatten(2, (-1, 32)), dim=-1)
        out = torch.ones(b, h, n // 32, device=device)
        for step, limit in ((2, 0.3), (4, 0.4), (8, 0.5)):
            near = (rows[..., ::step, :] * rows[..., step - 1 :: step, :]).sum(-1).mean(-1)
            out = torch.where(near > limit, step, out)
        return out

    return lambda: file.calc_k_similarity_triton(k, 32, limits), want


@repository.case(KERNELS + "attn_pooling_kernel.py", "_attn_fwd_optimized, _attn_fwd_inner_optimized", **SIZES, rtol=2e-2, atol=1e-3)  # fmt: skip
def attention_of_blocks(file, device, b, h, n, d):
    """The most that a row of a block of queries gives to a block of keys, as a share."""
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(3))

    def want():
        s = q.double() @ k.double().mT * d**-0.5
        rows = s.unflatten(-1, (-1, 64)).amax(-1)
        p = (rows - rows.amax(-1, keepdim=True)).exp().unflatten(2, (-1, 64)).amax(3)
        return p / p.sum(-1, keepdim=True)

    return lambda: file.attn_with_pooling_optimized(q, k, v, False, d**-0.5, 64, 64)[1], want


def _sums(causal, kernel):
    @repository.case(CAUSAL + "block_importance_kernels.py", kernel, small=dict(b=1, h=2, n=128), production=dict(b=1, h=28, n=4096), rtol=1e-2, atol=1e-3, name=kernel)  # fmt: skip
    def build(file, device, b, h, n):
        x = tm.normal(b, h, n, n, device=device, dtype=torch.bfloat16)
        block = 16 if n < 1024 else 64

        def want():
            rows = torch.arange(n, device=device)
            s = x.double() * 1.25
            if causal:
                s = s.masked_fill(rows > rows[:, None], -1e6)
            most = s.amax(-1, keepdim=True)
            p = (s - most).exp2()
            first = (s[..., : 4 * block].amax(-1, keepdim=True) - most).exp2() * 0
            p = p / (p.sum(-1, keepdim=True) + first)
            return p.unflatten(-1, (-1, block)).unflatten(2, (-1, block)).sum((3, 5))

        return (
            lambda: file.softmax_fuse_block_sum(x, block, 4 * block, 0, n, n, 1.25, causal),
            want,
        )


_sums(True, "softmax_fuse_block_sum_kernel_causal")
_sums(False, "softmax_fuse_block_sum_kernel_non_causal")


@repository.case(CAUSAL + "block_importance_kernels.py", "flat_group_gemm_kernel", small=dict(b=1, h=2, n=256, d=64), production=dict(b=1, h=28, n=4096, d=128), rtol=1e-2, atol=5e-2)  # fmt: skip
def products(file, device, b, h, n, d):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=torch.bfloat16) for _ in range(2))

    def seen(s):
        blocks = torch.arange(n, device=device) // 128
        return torch.where(blocks <= blocks[:, None], s, 0)

    return lambda: seen(file.flat_group_gemm(q, k, 0, n)), lambda: seen(q.double() @ k.double().mT)
