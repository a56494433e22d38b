"""xkernels: sparse and paged attention, experts of 4 bits, hyper connections, sampling, fp8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ResearchComputer/xkernels", "a009678068e05f0bec470f8530aded8aa794a4d5", packages={"xkernels": "src"})  # fmt: skip
OPS = "src/xkernels/ops/"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


@repository.case(OPS + "activation/triton/xielu_kernel.py", "xielu_kernel", small=dict(n=1000), production=dict(n=1 << 26), **HALF)  # fmt: skip
def xielu(file, device, n):
    x = tm.normal(n, device=device, dtype=BF16)
    p, m = (torch.tensor([v], device=device) for v in (166.0, 0.7))

    def want():
        ap, am = (torch.nn.functional.softplus(v.double()) for v in (p, m))
        y = x.double()
        below = (torch.expm1(y.clamp(max=-1e-6)) - y) * (0.5 + am)
        return torch.where(y > 0, ap * y * y, below) + 0.5 * y

    return lambda: file.xielu_triton(x, p, m), want


def _index_scores(q, k, w, starts, lengths):
    scores = (torch.einsum("thd,kd->thk", q.double(), k.double()).relu() * w.double()[..., None]).sum(1)  # fmt: skip
    at = torch.arange(len(k), device=k.device)
    seen = (at >= starts[:, None]) & (at < (starts + lengths)[:, None])
    return scores.masked_fill(~seen, -torch.inf)


def _index_inputs(t, n, h, d, device):
    q, k = tm.normal(t, h, d, device=device, dtype=BF16), tm.normal(n, d, device=device, dtype=BF16)
    w = torch.rand(t, h).to(device)
    starts = tm.integers(0, n // 4, t, device=device)
    return q, k, w, starts, tm.integers(n // 4, n // 2, t, device=device)


@repository.case(OPS + "attention/triton/dsa_indexer_kernel.py", "dsa_indexer_logits_kernel", small=dict(t=5, n=150, h=16, d=32), production=dict(t=512, n=4096, h=64, d=128), rtol=1e-2, atol=0.5)  # fmt: skip
def index_scores(file, device, t, n, h, d):
    q, k, w, starts, lengths = _index_inputs(t, n, h, d, device)
    return (
        lambda: file.dsa_indexer_logits_triton(q, k, w, lengths=lengths, row_starts=starts),
        lambda: _index_scores(q, k, w, starts, lengths),
    )


# A program stores its scores and loads them again in another order, with no barrier between.
@repository.case(OPS + "attention/triton/dsa_indexer_kernel.py", "dsa_indexer_topk_kernel", small=dict(t=5, n=150, h=16, d=32), production=dict(t=512, n=4096, h=64, d=128), rtol=1e-2, atol=0.5, finds="race-warp-order")  # fmt: skip
def index_topk(file, device, t, n, h, d):
    q, k, w, starts, lengths = _index_inputs(t, n, h, d, device)

    def run():
        ids = file.dsa_indexer_topk_triton(q, k, w, topk=8, lengths=lengths, row_starts=starts)
        return _index_scores(q, k, w, starts, lengths).gather(1, ids.long())

    return run, lambda: _index_scores(q, k, w, starts, lengths).topk(8).values


def _pages(b, n, hk, d, size, device):
    pages = -(-n // size)
    table = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
    return [tm.normal(b * pages, size, hk, d, device=device, dtype=BF16) for _ in range(2)], table


@repository.case(OPS + "attention/triton/paged_attention_kernel.py", "paged_attention_decode_kernel", small=dict(b=3, n=150, h=4, hk=2, d=64), production=dict(b=64, n=2048, h=32, hk=8, d=128), **HALF)  # fmt: skip
def paged_decode(file, device, b, n, h, hk, d):
    (k, v), table = _pages(b, n, hk, d, 16, device)
    q = tm.normal(b, h, d, device=device, dtype=BF16)
    lengths = tm.lengths(b, n)
    lens = torch.tensor(lengths, dtype=torch.int32, device=device)

    def want():
        rows = []
        for i, length in enumerate(lengths):
            a, c = (x[table[i].long()].flatten(0, 1)[:length].transpose(0, 1) for x in (k, v))
            rows.append(tm.attention(q[i][:, None], a, c)[0][:, 0])
        return torch.stack(rows)

    return lambda: file.paged_attention_triton(q, k, v, table, lens, scale=d**-0.5), want


@repository.case(OPS + "attention/triton/sparse_mla_kernel.py", "sparse_mla_kernel", small=dict(t=3, h=2, n=100, d=96, dv=64, topk=40), production=dict(t=64, h=64, n=8192, d=576, dv=512, topk=512), **HALF)  # fmt: skip
def sparse_mla(file, device, t, h, n, d, dv, topk):
    q, kv = (tm.normal(*s, device=device, dtype=BF16) for s in ((t, h, d), (n, d)))
    ids = torch.stack([torch.randperm(n)[:topk] for _ in range(t)]).to(torch.int32)
    ids[:, -3:] = -1
    ids, sink = ids.to(device), tm.normal(h, device=device)
    lens = tm.integers(topk // 2, topk, t, device=device, dtype=torch.int32)

    def want():
        keys = kv[ids.clamp(min=0).long()].double()
        s = torch.einsum("thd,tkd->thk", q.double(), keys) * d**-0.5
        seen = (ids >= 0) & (torch.arange(topk, device=device) < lens[:, None])
        s = s.masked_fill(~seen[:, None], -torch.inf)
        whole = torch.cat([s, sink.double()[None, :, None].expand(t, h, 1)], -1)
        return torch.einsum("thk,tkd->thd", whole.softmax(-1)[..., :-1], keys[..., :dv]), whole.logsumexp(-1)  # fmt: skip

    def run():
        return file.sparse_mla_attention_triton(q, kv, ids, sm_scale=d**-0.5, topk_length=lens, attn_sink=sink, d_v=dv)[:2]  # fmt: skip

    return run, want


def _hyper(t, m, n, device):
    x = tm.normal(t, m, n, device=device, dtype=BF16)
    w = tm.normal(2 * m + m * m, m * n, device=device, scale=(m * n) ** -0.5)
    return x, w, torch.rand(3).to(device), tm.normal(2 * m + m * m, device=device)


@repository.case(OPS + "mhc/triton/pre_post_kernel.py", "mhc_pre_kernel", small=dict(t=3, m=3, n=80), production=dict(t=4096, m=4, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def hyper_connections_before(file, device, t, m, n):
    x, w, scale, base = _hyper(t, m, n, device)

    def want():
        flat = x.double().flatten(1)
        y = flat @ w.double().T * torch.rsqrt(flat.square().mean(-1, keepdim=True) + 1e-6)
        pre, post, comb = y.split([m, m, m * m], -1)
        b0, b1, b2 = base.double().split([m, m, m * m])
        pre = torch.sigmoid(pre * scale[0] + b0) + 1e-6
        post = 2 * torch.sigmoid(post * scale[1] + b1)
        comb = (comb * scale[2] + b2).view(-1, m, m).softmax(-1) + 1e-6
        comb = comb / (comb.sum(1, keepdim=True) + 1e-6)
        for _ in range(3):
            comb = comb / (comb.sum(2, keepdim=True) + 1e-6)
            comb = comb / (comb.sum(1, keepdim=True) + 1e-6)
        return (pre[..., None] * x.double()).sum(1), post[..., None], comb

    return lambda: file.mhc_pre_triton(x, w, scale, base, 1e-6, 1e-6, 4), want


@repository.case(OPS + "mhc/triton/pre_post_kernel.py", "mhc_post_kernel", small=dict(t=3, m=3, n=80), production=dict(t=8192, m=4, n=4096), **HALF)  # fmt: skip
def hyper_connections_after(file, device, t, m, n):
    h, x = (tm.normal(*s, device=device, dtype=BF16) for s in ((t, n), (t, m, n)))
    post, comb = torch.rand(t, m, 1).to(device), torch.rand(t, m, m).to(device)

    def want():
        mixed = torch.einsum("tnm,tnh->tmh", comb.double(), x.double())
        return mixed + post.double() * h.double()[:, None]

    return lambda: file.mhc_post_triton(h, x, post, comb), want


@repository.case(OPS + "mhc/triton/prenorm_gemm_kernel.py", "hc_prenorm_gemm_kernel", small=dict(t=70, k=300, n=24, parts=3), production=dict(t=4096, k=16384, n=24, parts=8), rtol=1e-2, atol=0.1)  # fmt: skip
def hyper_product_in_parts(file, device, t, k, n, parts):
    x = tm.normal(t, k, device=device, dtype=BF16)
    w = tm.normal(n, k, device=device)

    def run():
        product, squares = file.hc_prenorm_gemm_triton(x, w, n_splits=parts)
        return product.sum(0), squares.sum(0)

    return run, lambda: (x.double() @ w.double().T, x.double().square().sum(-1))


def _drawn(p, u):
    """The first place where the sum of whole numbers is more than u of all."""
    sums = (p.float() * (1 << 30)).long().cumsum(-1)
    above = sums > (u * (1 << 30)).long()[:, None]
    return torch.where(above.any(-1), above.int().argmax(-1), p.shape[-1] - 1)


@repository.case(OPS + "sampling/triton/sampling_kernel.py", "sampling_kernel", small=dict(b=7, n=300), production=dict(b=8192, n=4000), rtol=0, atol=0)  # fmt: skip
def sampling(file, device, b, n):
    p, u = torch.randn(b, n).softmax(-1).to(device), torch.rand(b).to(device)
    return lambda: file.sampling_from_probs_triton(p, u), lambda: _drawn(p, u)


@repository.case(OPS + "sampling/triton/sampling_kernel.py", "top_k_sampling_kernel", small=dict(b=7, n=300, topk=4), production=dict(b=8192, n=4000, topk=16), rtol=0, atol=0, share=0.01)  # fmt: skip
def sampling_of_topk(file, device, b, n, topk):
    p, u = torch.randn(b, n).softmax(-1).to(device), torch.rand(b).to(device)

    def want():
        values, ids = p.topk(topk)
        kept = torch.zeros_like(p).scatter(1, ids, values)
        return _drawn(kept / kept.sum(-1, keepdim=True), u)

    return lambda: file.top_k_sampling_from_probs_triton(p, u, topk), want


@repository.case(OPS + "moe/triton/topk_softmax_kernel.py", "topk_softmax_kernel", small=dict(m=7, e=60, topk=4), production=dict(m=16384, e=256, topk=8), rtol=1e-4)  # fmt: skip
def experts_of_tokens(file, device, m, e, topk):
    x = tm.normal(m, e, device=device)

    def want():
        values, ids = x.double().softmax(-1).topk(topk)
        return values / values.sum(-1, keepdim=True), ids

    return lambda: file.topk_softmax_triton(x, topk), want


def _routing(file, m, e, topk, block, device):
    """Slots of tokens by expert in whole blocks, made by torch."""
    weights, ids = tm.topk_ids(m, e, topk, device)
    order = file.moe_align_block_size_ref(ids.to(torch.int32), block, e)
    return weights, ids, order


@repository.case(OPS + "moe/triton/align_kernel.py", "_align_stage1_count, _align_stage2_cumsum, _align_stage3_pad, _align_expert_ids, _align_stage4_scatter", small=dict(m=30, e=6, topk=2), production=dict(m=4096, e=256, topk=8), rtol=0, atol=0)  # fmt: skip
def slots_by_expert(file, device, m, e, topk):
    ids = tm.topk_ids(m, e, topk, device)[1].to(torch.int32)

    def want():
        counts = torch.bincount(ids.flatten().long(), minlength=e)
        padded = -(-counts // 16) * 16
        slots = torch.full((m * topk + (e + 1) * 15,), m * topk, device=device)
        order = ids.flatten().argsort(stable=True)
        begin = torch.repeat_interleave(padded.cumsum(0) - padded - counts.cumsum(0) + counts, counts)  # fmt: skip
        slots[begin + torch.arange(m * topk, device=device)] = order
        experts = torch.repeat_interleave(torch.arange(e, device=device), padded // 16)
        blocks = torch.zeros(-(-len(slots) // 16), device=device)
        blocks[: len(experts)] = experts
        return slots, blocks, padded.sum().view(1)

    return lambda: file.moe_align_block_size_triton(ids, 16, e, truncate=False), want


CONFIG = dict(BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=8, num_warps=4, num_stages=2)  # fmt: skip


@repository.case(OPS + "moe/triton/moe_int4_kernel.py", "_fused_moe_int4_kernel", small=dict(m=20, e=4, topk=2, n=96, k=128), production=dict(m=1024, e=32, topk=4, n=4096, k=2048), **HALF)  # fmt: skip
def experts_of_int4(file, device, m, e, topk, n, k):
    from xkernels.ops.moe import w4a16

    x = tm.normal(m, k, device=device, dtype=BF16, scale=0.3)
    codes, scales = torch.randint(0, 16, (e, n, k)), torch.rand(e, n, k // 32).to(BF16) / 8
    packed = tm.packed_int4(codes).to(device)
    given = scales.to(device)
    weights, ids, order = _routing(w4a16, m, e, topk, 64, device)

    def run():
        c = torch.empty(m * topk, n, dtype=BF16, device=device)
        file.int4_w4a16_moe_gemm(
            x, packed, given, c, weights.flatten(), *order, top_k=topk, group_size=32,
            mul_routed_weight=True, filter_expert=False, config=CONFIG,
        )  # fmt: skip
        return c.view(m, topk, n)

    def want():
        w = tm.dequantised_blocks(codes - 8, scales, 32).to(device)
        return tm.moe(x, w, ids) * weights.double()[..., None]

    return run, want


def _mxfp4(*shape):
    """Packed numbers, the exponents of their groups of 32, and what they are."""
    codes = torch.randint(0, 16, shape)
    exponents = torch.randint(124, 128, (*shape[:-1], shape[-1] // 32))
    packed = (codes[..., ::2] | codes[..., 1::2] << 4).to(torch.uint8)
    exact = tm.dequantised_blocks(E2M1[codes], torch.exp2(exponents.double() - 127), 32)
    return packed, exponents.to(torch.uint8), exact


@repository.case(OPS + "moe/triton/moe_mxfp4_kernel.py", "_e2m1_decode, _mxfp4_moe_gemm_kernel", small=dict(m=20, e=4, topk=2, n=96, k=128), production=dict(m=1024, e=32, topk=4, n=1024, k=2048), rtol=3e-2, atol=1e-1)  # fmt: skip
def experts_of_mxfp4(file, device, m, e, topk, n, k):
    from xkernels.ops.moe import w4a16

    x = tm.normal(m, k, device=device, dtype=BF16, scale=0.05)
    (w13, s13, exact13), (w2, s2, exact2) = (
        [a.to(device) for a in _mxfp4(e, *s)] for s in ((2 * n, k), (k, n))
    )
    weights, ids, order = _routing(w4a16, m, e, topk, 64, device)

    def run():
        return file.mxfp4_moe_gemm(
            x, w13, s13, w2, s2, weights.flatten(), *order, M=m, top_k=topk, ispp=n, hidden=k,
            group_size=32, filter_expert=False, config=CONFIG,
        )  # fmt: skip

    def want():
        gate, up = tm.moe(x, exact13, ids).chunk(2, -1)
        h = torch.nn.functional.silu(gate.clamp(max=10)) * up.clamp(-10, 10)
        y = tm.moe(h.flatten(0, 1), exact2, ids.reshape(-1, 1)).view(m, topk, k)
        return (y * weights.double()[..., None]).sum(1)

    return run, want


@repository.case(OPS + "gather/triton/paged_gather_kernel.py", "_decode_e2m1, paged_gather_kernel", small=dict(b=3, n=64, topk=10, d=64), production=dict(b=64, n=4096, topk=2048, d=512), rtol=1e-2)  # fmt: skip
def gathered_mxfp4(file, device, b, n, topk, d):
    packed, exponents, exact = _mxfp4(b * n // 16, 16, d)
    table = torch.randperm(b * n // 16).view(b, -1).to(torch.int32)
    at = torch.randint(-2, n, (b, topk)).to(torch.int32)

    def want():
        pages = table.gather(1, (at.clamp(min=0) // 16).long()).long()
        rows = exact[pages, at.clamp(min=0).long() % 16]
        return (rows * (at >= 0)[..., None]).to(device)

    given = [x.to(device) for x in (packed, exponents, table, at)]
    return lambda: file.mxfp4_paged_gather_triton(*given, block_size=16), want


@repository.case(OPS + "gemm/triton/mm_fp8_blockscale_mfma_kernel.py", "mm_fp8_blockscale_mfma_kernel", small=dict(m=70, n=200, k=384), production=dict(m=4096, n=7168, k=4096), rtol=2e-2, atol=2e-1)  # fmt: skip
def product_of_fp8(file, device, m, n, k):
    a, b = (tm.fp8(*s, device=device) for s in ((m, k), (n, k)))
    s, t = torch.rand(m, k // 128).to(device), torch.rand(-(-n // 128), k // 128).to(device)

    def want():
        return tm.dequantised_blocks(a, s, 128) @ tm.dequantised_blocks(b, t, 128, 128).T

    return lambda: file.mm_fp8_blockscale_mfma_triton(a, s, b, t), want


@repository.case(OPS + "norm/triton/dual_rmsnorm_kernel.py", "dual_rmsnorm_kernel", small=dict(t=7, n=96, m=40), production=dict(t=16384, n=1536, m=512), **HALF)  # fmt: skip
def two_rms_norms(file, device, t, n, m):
    (x, w), (y, v) = ([tm.normal(*s, device=device, dtype=BF16) for s in ((t, d), (d,))] for d in (n, m))  # fmt: skip
    return (
        lambda: file.dual_rmsnorm_triton(x, w, y, v),
        lambda: (tm.rms_norm(x, w, 1e-6), tm.rms_norm(y, v, 1e-6)),
    )
