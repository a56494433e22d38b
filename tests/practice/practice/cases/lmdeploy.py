"""LMDeploy: attention over a paged cache, mixture of experts, quantised GEMM, routing, sampling."""

from __future__ import annotations

import enum

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "InternLM/lmdeploy",
    "1263d5cd889b7ad500e85b8eb20401327a4516ab",
    packages={"lmdeploy": "."},
    stand_ins={
        "lmdeploy.utils": {},
        "lmdeploy.messages": {
            "QuantPolicy": enum.IntEnum(
                "QuantPolicy",
                {"NONE": 0, "INT4": 4, "INT8": 8, "FP8": 16, "FP8_E5M2": 17, "TURBO_QUANT": 42},
            )
        },
    },
)
FOLDER = "lmdeploy/pytorch/kernels/cuda/"
HALF = torch.float16


@repository.case(FOLDER + "rms_norm.py", "add_rms_norm_kernel", small=dict(b=2, m=5, n=300), production=dict(b=1, m=8192, n=5120), rtol=1e-2, atol=1e-3)  # fmt: skip
def rms_norm(file, device, b, m, n):
    x, w = tm.normal(b, m, n, device=device, dtype=HALF), tm.normal(n, device=device, dtype=HALF)
    return lambda: file.rms_norm(x, w), lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(FOLDER + "rms_norm.py", "add_rms_norm_kernel", small=dict(b=2, m=5, n=300), production=dict(b=1, m=8192, n=5120), rtol=1e-2, atol=5e-3)  # fmt: skip
def add_rms_norm(file, device, b, m, n):
    x, r = (tm.normal(b, m, n, device=device, dtype=HALF) for _ in range(2))
    w = tm.normal(n, device=device, dtype=HALF)

    def want():
        total = x.double() + r.double()
        return tm.rms_norm(total, w, 1e-6), total

    return lambda: file.rms_norm(x, w, residual=r), want


@repository.case(FOLDER + "activation.py", "_silu_and_mul_kernel", small=dict(m=5, n=300), production=dict(m=8192, n=14336), rtol=1e-2, atol=1e-3)  # fmt: skip
def silu_and_mul(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=HALF)
    return lambda: file.silu_and_mul(x), lambda: tm.silu_mul(x)


@repository.case(FOLDER + "activation.py", "_silu_and_mul_moe_ep_kernel", small=dict(e=4, m=9, n=300), production=dict(e=64, m=512, n=2048), rtol=1e-2, atol=1e-3)  # fmt: skip
def silu_and_mul_experts(file, device, e, m, n):
    """Rows past an expert's count stay as they are."""
    x = tm.normal(e, m, 2 * n, device=device, dtype=HALF)
    counts = tm.integers(0, m + 1, e, device=device, dtype=torch.int32)

    def run():
        out = torch.full((e, m, n), -7.0, device=device, dtype=HALF)
        return file.silu_and_mul_moe_ep(x, counts, out)

    def want():
        on = torch.arange(m, device=device)[None] < counts[:, None]
        return torch.where(on[..., None], tm.silu_mul(x), -7.0)

    return run, want


@repository.case(FOLDER + "apply_rotary_pos_emb.py", "apply_rotary_pos_emb_qk_kernel", small=dict(m=7, h=4, hk=2, d=64, pairs=False), production=dict(m=8192, h=32, hk=8, d=128, pairs=False), rtol=1e-2, atol=2e-3)  # fmt: skip
def rotary(file, device, m, h, hk, d, pairs):
    q, k = (tm.normal(m, n, d, device=device, dtype=HALF) for n in (h, hk))
    angles = torch.rand(m, d // 2) * 6
    cos, sin = (f(angles).half().to(device) for f in (torch.cos, torch.sin))
    tables = (cos, sin) if pairs else (torch.cat([x, x], -1) for x in (cos, sin))
    tables = list(tables)

    def want():
        return tuple(tm.rotated(x, cos[:, None], sin[:, None], pairs) for x in (q, k))

    return lambda: file.apply_rotary_pos_emb(q, k, *tables, complex_mode=pairs), want


@repository.case(FOLDER + "apply_rotary_pos_emb.py", "apply_rotary_pos_emb_qk_kernel", small=dict(m=7, h=4, hk=2, d=64), production=dict(m=8192, h=32, hk=8, d=128), rtol=1e-2, atol=2e-3)  # fmt: skip
def rotary_pairs(file, device, **size):
    return rotary(file, device, pairs=True, **size)


@repository.case(FOLDER + "multinomial_sampling.py", "_multinomial_sampling_kernel", small=dict(b=5, n=300), production=dict(b=256, n=128000), rtol=0, atol=0)  # fmt: skip
def multinomial_sampling(file, device, b, n):
    """Nearly one-hot rows: any random number gives the same token."""
    place = torch.randint(0, n, (b,))
    scores = F.one_hot(place, n).float().to(device)
    seeds, offsets = (tm.integers(0, 1000, b, device=device) for _ in range(2))
    ids = torch.stack([torch.randperm(n) for _ in range(b)]).to(device)

    def want():
        return ids.cpu()[torch.arange(b), place]

    return lambda: file.multinomial_sampling(scores, seeds, offsets, ids), want


@repository.case(FOLDER + "awq_kernels.py", "awq_linear_kernel, _dequant_s4_to_f16x2, _unpack_weight", small=dict(m=20, n=128, k=256), production=dict(m=16, n=11008, k=4096), rtol=1e-2, atol=0.1)  # fmt: skip
def awq_linear(file, device, m, n, k):
    """Unpacks by inline assembly."""
    w, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // 128, n))
    scales = (torch.rand(k // 128, n) * 0.1).half()
    real = (w - zeros.repeat_interleave(128, 0)).double() * scales.double().repeat_interleave(
        128, 0
    )
    packed = [tm.packed_int4(x, (0, 2, 4, 6, 1, 3, 5, 7)).to(device) for x in (w, zeros)]
    x = tm.normal(m, k, device=device, dtype=HALF)
    return (
        lambda: file.awq_linear(x, packed[0], scales.to(device), packed[1]),
        lambda: x.double() @ real.to(device),
    )


@repository.case(FOLDER + "bitonic_topk.py", "_bitonic_topk_kernel0, _bitonic_topk_kernel1", small=dict(b=5, n=1000, k=256), production=dict(b=64, n=65536, k=2048), rtol=0, atol=0)  # fmt: skip
def bitonic_topk(file, device, b, n, k):
    scores = tm.normal(b, n, device=device)
    lengths = tm.integers(k, n + 1, b, device=device, dtype=torch.int32)
    ones = torch.ones(b, device=device, dtype=torch.int32)

    def want():
        rows = scores.masked_fill(torch.arange(n, device=device) >= lengths[:, None], float("-inf"))
        return rows.topk(k).indices

    return lambda: file.bitonic_topk(scores, ones, lengths, k), want


def _moe_inputs(device, m, n, k, e, topk, dtype=HALF):
    x = tm.normal(m, k, device=device, dtype=dtype)
    w1 = tm.normal(e, 2 * n, k, device=device, dtype=dtype, scale=k**-0.5)
    w2 = tm.normal(e, k, n, device=device, dtype=dtype, scale=n**-0.5)
    return x, w1, w2, *tm.topk_ids(m, e, topk, device)


def _moe(x, w1, w2, weights, ids):
    hidden = tm.silu_mul(tm.moe(x, w1, ids)).flatten(0, 1)
    out = tm.moe(hidden, w2, ids.reshape(-1, 1)).view(*ids.shape, -1)
    return (out * weights[..., None].double()).sum(1)


SMALL_MOE = dict(m=33, n=64, k=128, e=4, topk=2)
MOE = dict(m=512, n=1536, k=4096, e=64, topk=8)


@repository.case(FOLDER + "fused_moe.py", "fused_moe_kernel, _sorted_idx_phase1_kernel, _sorted_idx_phase2_kernel, _moe_reduce_kernel", small=SMALL_MOE, production=MOE, rtol=2e-2, atol=2e-2)  # fmt: skip
def fused_moe(file, device, **size):
    inputs = _moe_inputs(device, **size)
    return lambda: file.fused_moe(*inputs, size["topk"]), lambda: _moe(*inputs)


@repository.case(FOLDER + "fused_moe.py", "_moe_reduce_kernel", small=dict(m=5, t=3, n=700), production=dict(m=8192, t=8, n=4096), rtol=1e-2, atol=5e-3)  # fmt: skip
def moe_reduce(file, device, m, t, n):
    x, w = tm.normal(m, t, n, device=device, dtype=HALF), torch.rand(m, t).to(device)
    return lambda: file.moe_reduce(x, w, True), lambda: (x.double() * w.double()[..., None]).sum(1)


@repository.case(FOLDER + "w8a8_fused_moe.py", "fused_moe_w8a8_kernel, _per_token_quant_int8", small=SMALL_MOE, production=MOE, rtol=5e-2, atol=5e-2)  # fmt: skip
def fused_moe_int8(file, device, **size):
    x, w1, w2, weights, ids = _moe_inputs(device, dtype=torch.float32, **size)

    def whole(x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        return (x / scale).round().to(torch.int8), scale

    xq, w1q, w2q = (whole(x) for x in (x, w1, w2))
    return (
        lambda: file.fused_moe_w8a8(*xq, *w1q, *w2q, weights, ids, size["topk"]),
        lambda: _moe(*(q.double() * s.double() for q, s in (xq, w1q, w2q)), weights, ids),
    )


@repository.case(FOLDER + "blocked_fp8_fused_moe.py", "fused_moe_blocked_fp8_kernel", small=dict(m=33, n=128, k=256, e=4, topk=2), production=dict(MOE, e=8, topk=4), rtol=7e-2, atol=7e-2)  # fmt: skip
def fused_moe_fp8_blocks(file, device, **size):
    x, w1, w2, weights, ids = _moe_inputs(device, dtype=torch.float32, **size)

    def quantised(x, *block):
        if len(block) == 1:
            top = x.unflatten(-1, (-1, block[0])).abs().amax(-1) / tm.FP8_MAX
        else:
            top = (
                x.unflatten(-1, (-1, block[1])).unflatten(-3, (-1, block[0])).abs().amax((-1, -3))
                / tm.FP8_MAX
            )
        scaled = x.double() / tm.dequantised_blocks(torch.ones_like(x), top, *block)
        return scaled.float().to(tm.FP8), top.contiguous()

    xq, w1q, w2q = quantised(x, 128), quantised(w1, 128, 128), quantised(w2, 128, 128)

    def want():
        real = [
            tm.dequantised_blocks(*q, *b)
            for q, b in ((xq, (128,)), (w1q, (128, 128)), (w2q, (128, 128)))
        ]
        return _moe(*real, weights, ids)

    return lambda: file.fused_moe_blocked_fp8(*xq, *w1q, *w2q, weights, ids, size["topk"]), want


@repository.case(FOLDER + "blocked_gemm_fp8.py", "_quant_fp8_kernel", small=dict(m=5, n=512, form=None), production=dict(m=8192, n=7168, form="ue8m0"), rtol=0.07, atol=1e-3)  # fmt: skip
def quant_fp8(file, device, m, n, form):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        top = x.double().unflatten(-1, (-1, 128)).abs().amax(-1) / tm.FP8_MAX
        scales = torch.exp2(torch.ceil(torch.log2(top))) if form else top
        return x.double() / scales.repeat_interleave(128, -1), scales

    return lambda: file.quant_fp8(x, 128, scale_fmt=form), want


@repository.case(FOLDER + "blocked_gemm_fp8.py", "_quant_fp8_kernel, fast_round_scale, fast_log2_ceil", small=dict(m=5, n=512), production=dict(m=64, n=7168), rtol=0.07, atol=1e-3)  # fmt: skip
def quant_fp8_power_of_2(file, device, m, n):
    return quant_fp8(file, device, m, n, "ue8m0")


@repository.case(FOLDER + "blocked_gemm_fp8.py", "_gemm_fp8_kernel", small=dict(m=20, n=256, k=512), production=dict(m=4096, n=4096, k=8192), rtol=1e-2, atol=1e-2)  # fmt: skip
def blocked_gemm_fp8(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    s, t = torch.rand(m, k // 128).to(device), torch.rand(n // 128, k // 128).to(device) / 16

    def want():
        return tm.dequantised_blocks(a, s, 128) @ tm.dequantised_blocks(b, t, 128, 128).T

    return lambda: file.blocked_gemm_fp8(a, s, b.T, t.T, torch.float32), want


class _Cache:
    """Sequences in pages: ``caches`` (pages, page, heads, d), the table of each one's pages, lengths."""

    def __init__(self, device, b, n, h, d, page, dtype=HALF):
        self.lengths = tm.lengths(b, n)
        each = -(-n // page)
        pages = b * each + 3
        self.table = torch.randperm(pages)[: b * each].view(b, each).to(torch.int32).to(device)
        self.k, self.v = (
            tm.normal(pages, page, h, d, device=device, dtype=dtype) for _ in range(2)
        )
        self.kv_lengths = torch.tensor(self.lengths, device=device, dtype=torch.int32)

    def of(self, cache, i):
        """(heads, length, d) of one sequence."""
        return cache[self.table[i].long()].flatten(0, 1)[: self.lengths[i]].transpose(0, 1)


SMALL_CACHE = dict(b=3, n=100, h=8, hk=2, d=64, page=16)
CACHE = dict(b=64, n=4096, h=32, hk=8, d=128, page=64)


@repository.case(FOLDER + "pagedattention.py", "_fwd_grouped_split_kernel, _reduce_split_kernel", small=SMALL_CACHE, production=CACHE, rtol=1e-2, atol=2e-3)  # fmt: skip
def paged_decode(file, device, b, n, h, hk, d, page, **options):
    cache = _Cache(device, b, n, hk, d, page)
    q = tm.normal(b, h, d, device=device, dtype=HALF)

    def want():
        rows = [
            tm.attention(
                q[i][:, None], cache.of(cache.k, i), cache.of(cache.v, i), causal=True, **options
            )[0]
            for i in range(b)
        ]
        return torch.stack([row[:, 0] for row in rows])

    names = {"window": "window_size", "sink": "sinks"}
    given = {names.get(name, name): value for name, value in options.items()}
    return (
        lambda: file.flash_attn_with_kvcache(
            q, cache.k, cache.v, cache.kv_lengths, cache.table, **given
        ),
        want,
    )


@repository.case(FOLDER + "pagedattention.py", "_fwd_grouped_split_kernel, _reduce_split_kernel", small=SMALL_CACHE, production=CACHE, rtol=1e-2, atol=2e-3)  # fmt: skip
def paged_decode_softcap_sinks(file, device, **size):
    return paged_decode(file, device, **size, softcap=5.0, sink=tm.normal(size["h"], device=device))


def _varlen(file, device, causal, b, n, h, hk, d, **options):
    lengths = tm.lengths(b, n)
    places = tm.starts(lengths, device)
    q, k, v = (tm.normal(sum(lengths), x, d, device=device, dtype=HALF) for x in (h, hk, hk))

    def want():
        parts = [
            tm.attention(*(x.transpose(0, 1) for x in qkv), causal=causal, **options)[0]
            for qkv in zip(*(x.split(lengths) for x in (q, k, v)), strict=True)
        ]
        return torch.cat([part.transpose(0, 1) for part in parts])

    def run():
        keys, values = (x.transpose(0, 1).contiguous() for x in (k, v))
        given = {"window_size": options["window"] - 1} if "window" in options else {}
        return file.flash_attn_varlen_func(
            q,
            keys,
            values,
            places,
            places,
            n,
            n,
            causal=causal,
            softcap=options.get("softcap", 0.0),
            **given,
        )

    return run, want


SMALL_PREFILL = dict(b=3, n=150, h=4, hk=2, d=64)
PREFILL = dict(b=4, n=4096, h=32, hk=8, d=128)


@repository.case(FOLDER + "flashattention.py", "_flash_prefill_fwd_kernel, _prefill_fwd_inner", small=SMALL_PREFILL, production=PREFILL, rtol=1e-2, atol=3e-3)  # fmt: skip
def prefill_causal(file, device, **size):
    return _varlen(file, device, True, **size)


@repository.case(FOLDER + "flashattention.py", "_flash_prefill_fwd_kernel, softcapping", small=SMALL_PREFILL, production=PREFILL, rtol=1e-2, atol=3e-3)  # fmt: skip
def prefill_window_softcap(file, device, **size):
    return _varlen(file, device, True, **size, window=70, softcap=5.0)


@repository.case(FOLDER + "fill_kv_cache.py", "_fill_kv_cache_kernel", small=SMALL_CACHE, production=dict(CACHE, b=8), rtol=0, atol=0)  # fmt: skip
def fill_kv_cache(file, device, b, n, h, hk, d, page):
    cache = _Cache(device, b, n, hk, d, page)
    added = [length // 2 + 1 for length in cache.lengths]
    places = tm.starts(added, device)
    k, v = (tm.normal(sum(added), hk, d, device=device, dtype=HALF) for _ in range(2))
    counts = torch.tensor(added, device=device, dtype=torch.int32)

    def run():
        caches = cache.k.clone(), cache.v.clone()
        file.fill_kv_cache(
            k, v, *caches, places[:-1], counts, cache.kv_lengths, max(added), cache.table
        )
        return caches

    def want():
        results = []
        for old, new in ((cache.k, k), (cache.v, v)):
            result = old.clone()
            for i, part in enumerate(new.split(added)):
                positions = torch.arange(
                    cache.lengths[i] - added[i], cache.lengths[i], device=device
                )
                result[cache.table[i, positions // page].long(), positions % page] = part
            results.append(result)
        return results

    return run, want


@repository.case(FOLDER + "flatten_kv_cache.py", "_flatten_kv_cache", small=SMALL_CACHE, production=dict(CACHE, b=8), rtol=0, atol=0)  # fmt: skip
def flatten_kv_cache(file, device, b, n, h, hk, d, page):
    cache = _Cache(device, b, n, hk, d, page)
    total = sum(cache.lengths)

    def run():
        keys, values = file.flatten_kv_cache(
            cache.k, cache.v, cache.kv_lengths, cache.table, out_size=total
        )
        return keys[:, :total], values[:, :total]

    def want():
        return tuple(torch.cat([cache.of(x, i) for i in range(b)], 1) for x in (cache.k, cache.v))

    return run, want


@repository.case(FOLDER + "fused_lora.py", "_fused_lora_kernel", small=dict(b=3, n=40, k=128, o=96), production=dict(b=16, n=512, k=4096, o=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def fused_lora(file, device, b, n, k, o):
    lengths, ranks = tm.lengths(b, n), [8, 16]
    x = tm.normal(sum(lengths), k, device=device, dtype=HALF)
    la = tm.normal(sum(ranks), k, device=device, dtype=HALF, scale=k**-0.5)
    lb = tm.normal(sum(ranks), o, device=device, dtype=HALF)
    numbers = [torch.tensor(x, device=device) for x in (ranks, [0, 8], [i % 2 for i in range(b)])]
    scaling = torch.tensor([1.0, 2.0], device=device)
    places = tm.starts(lengths, device, torch.int64)

    def want():
        parts = []
        for i, part in enumerate(x.double().split(lengths)):
            rows = slice(0, 8) if i % 2 == 0 else slice(8, 24)
            parts.append(part @ la[rows].double().T @ lb[rows].double() * (1 + i % 2))
        return torch.cat(parts)

    return (
        lambda: file.fused_lora(
            x, la, lb, scaling, numbers[1], numbers[0], places[:-1], torch.tensor(lengths, device=device),
            numbers[2], 16, n,
        ),
        want,
    )  # fmt: skip


@repository.case(FOLDER + "fused_moe_ep.py", "_fwd_kernel_ep_gather", small=dict(m=5, t=3, n=1024), production=dict(m=8192, t=8, n=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def expert_gather(file, device, m, t, n):
    x = tm.normal(m * t, n, device=device, dtype=torch.bfloat16)
    ids = tm.integers(-1, 8, m, t, device=device)
    weights, places = (
        torch.rand(m, t).to(device),
        torch.randperm(m * t).view(m, t).to(torch.int32).to(device),
    )

    def run():
        out = torch.empty(m, n, device=device, dtype=torch.bfloat16)
        file.ep_gather(x, ids, weights, places, out)
        return out

    def want():
        on = weights.double() * (ids >= 0)
        return (x.double()[places.long()] * on[..., None]).sum(1)

    return run, want


# Every program stores all starts, the same ones, and loads its own.
@repository.case(FOLDER + "fused_moe_ep.py", "_fwd_kernel_ep_scatter_step1, _fwd_kernel_ep_scatter_step2", small=dict(m=20, t=2, e=4, n=256), production=dict(m=4096, t=8, e=64, n=4096), rtol=0, atol=0, finds="race-read-write,race-same-value")  # fmt: skip
def expert_scatter(file, device, m, t, e, n):
    """Rows of an expert come in the order of atomics: read them back by the places given."""
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)
    _, ids = tm.topk_ids(m, e, t, device)
    counts = torch.bincount(ids.flatten(), minlength=e)
    padded = -(-counts // 128) * 128
    total = int(padded.sum())

    def run():
        out = torch.zeros(total, n, device=device, dtype=torch.bfloat16)
        owners = torch.full((total,), -1, device=device, dtype=torch.int32)
        places = torch.zeros(m, t, device=device, dtype=torch.int32)
        starts = torch.empty(e, device=device, dtype=torch.int32)
        file.ep_scatter(x, ids, padded.to(torch.int32), starts, out, owners, places)
        return out[places.long()], owners, owners[places.long()]

    def want():
        owners = torch.arange(e, device=device).repeat_interleave(padded)
        return x[:, None].expand(m, t, n), owners, ids

    return run, want


@repository.case(FOLDER + "fused_noaux_tc.py", "_fused_noaux_tc_kernel", small=dict(m=7), production=dict(m=8192), rtol=1e-4, atol=1e-5)  # fmt: skip
def grouped_routing(file, device, m):
    """The best 4 of 8 groups by the sum of their two best, then the best 8 of these."""
    logits, bias = tm.normal(m, 256, device=device), torch.rand(256).to(device)

    def want():
        scores = logits.double().sigmoid()
        choice = (scores + bias.double()).view(m, 8, 32)
        groups = choice.topk(2, -1).values.sum(-1).topk(4, -1).indices
        on = torch.zeros(m, 8, device=device, dtype=torch.bool).scatter(1, groups, True)
        ids = torch.where(on[..., None], choice, 0.0).flatten(1).topk(8, -1).indices
        weights = scores.gather(1, ids)
        return weights / weights.sum(-1, keepdim=True) * 2.5, ids

    return lambda: file.fused_noaux_tc_routing(logits, bias), want


@repository.case(FOLDER + "fused_single_group_router.py", "_single_group_topk_router_kernel", small=dict(m=7), production=dict(m=8192), rtol=1e-4, atol=1e-5)  # fmt: skip
def single_group_routing(file, device, m):
    scores, bias = torch.rand(m, 192).to(device), torch.rand(192).to(device)

    def want():
        ids = (scores.double() + bias.double()).topk(8, -1).indices
        weights = scores.double().gather(1, ids)
        return weights / weights.sum(-1, keepdim=True) * 2.5, ids

    return (
        lambda: file.fused_single_group_topk_router(scores, bias, num_experts=192, top_k=8, routed_scaling_factor=2.5),
        want,
    )  # fmt: skip


@repository.case(FOLDER + "copy_packed_cache.py", "_copy_packed_cache_kernel", small=dict(rows=3, pages=8, size=96), production=dict(rows=64, pages=512, size=16384), rtol=0, atol=0)  # fmt: skip
def copy_pages(file, device, rows, pages, size):
    cache = tm.integers(0, 256, rows, pages, size, device=device, dtype=torch.uint8)
    order = torch.randperm(pages // 2).to(device)
    count = pages // 4
    source, target = order[:count], order[count : 2 * count]

    def run():
        out = cache.clone()
        file.copy_packed_cache(out, source, target, 2)
        return out

    def want():
        out = cache.clone().view(rows, pages // 2, 2 * size)
        out[:, target] = out[:, source]
        return out.view_as(cache)

    return run, want


@repository.case(FOLDER + "v4_swiglu_quant.py", "_v4_swiglu_quant_fp8_kernel, fast_expf", small=dict(m=5, n=640), production=dict(m=4096, n=2048), rtol=0.07, atol=1e-3)  # fmt: skip
def swiglu_quant_fp8(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=torch.bfloat16, scale=3)

    def run():
        out, scales = file.v4_swiglu_and_quant_fp8(x, 4.0)
        return tm.dequantised_blocks(out, scales, 128), torch.log2(scales) % 1

    def want():
        gate, up = x.double().chunk(2, -1)
        y = F.silu(gate.clamp(max=4.0)) * up.clamp(-4.0, 4.0)
        return y, torch.zeros(m, n // 128)

    return run, want


@repository.case(FOLDER + "w8a8_triton_kernels.py", "_per_token_quant_int8", small=dict(m=5, n=300), production=dict(m=8192, n=8192), atol=1e-6, share=1e-2)  # fmt: skip
def per_token_quant(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=HALF)

    def want():
        scale = x.double().abs().amax(-1, keepdim=True) / 127
        return (x.double() / scale).round(), scale

    return lambda: file.per_token_quant_int8(x, 1e-7), want


def _w8a8(file, device, m, n, k, dtype, residual):
    if dtype == torch.int8:
        a, b = (
            tm.integers(-127, 128, m, k, device=device, dtype=dtype),
            tm.integers(-127, 128, n, k, device=device, dtype=dtype),
        )
    else:
        a, b = tm.fp8(m, k, device=device, scale=64), tm.fp8(n, k, device=device, scale=64)
    s, t = torch.rand(m, 1).to(device) / 100, torch.rand(n, 1).to(device) / 100
    r = tm.normal(m, n, device=device, dtype=HALF) if residual else None

    def want():
        c = a.double() @ b.double().T * s.double() * t.double().T
        return c if r is None else c + r.double()

    return lambda: file.matmul_kernel_dynamic_quant(a, b, s, t, residual=r), want


SMALL_GEMM, GEMM = dict(m=40, n=160, k=200), dict(m=4096, n=4096, k=4096)


@repository.case(FOLDER + "w8a8_triton_kernels.py", "_linear", small=SMALL_GEMM, production=GEMM, rtol=1e-2, atol=1e-2)  # fmt: skip
def linear_int8(file, device, **size):
    return _w8a8(file, device, **size, dtype=torch.int8, residual=False)


@repository.case(FOLDER + "w8a8_triton_kernels.py", "_linear_add", small=SMALL_GEMM, production=GEMM, rtol=1e-2, atol=1e-2)  # fmt: skip
def linear_int8_residual(file, device, **size):
    return _w8a8(file, device, **size, dtype=torch.int8, residual=True)


@repository.case(FOLDER + "w8a8_triton_kernels.py", "_linear", small=SMALL_GEMM, production=GEMM, rtol=1e-2, atol=1e-2)  # fmt: skip
def linear_fp8(file, device, **size):
    return _w8a8(file, device, **size, dtype=torch.float8_e4m3fn, residual=False)


@repository.case(FOLDER + "w8a8_triton_kernels.py", "rms_norm_quant_kernel", small=dict(m=5, n=300), production=dict(m=8192, n=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def rms_norm_quant(file, device, m, n):
    x, w = tm.normal(m, n, device=device, dtype=HALF), tm.normal(n, device=device, dtype=HALF)

    def run():
        y, scale = file.rms_norm_dynamic_quant(x, w, 1e-6)
        return y.float() * scale

    return run, lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(FOLDER + "ds_index.py", "_fp8_index_kernel", small=dict(b=3, n=100, h=16, d=64, page=32), production=dict(b=64, n=8192, h=64, d=128, page=64), rtol=1e-3, atol=1e-3)  # fmt: skip
def fp8_index(file, device, b, n, h, d, page):
    """Scores of a decoding step's keys: the weighted sum over heads of max(q k, 0)."""
    lengths = tm.lengths(b, n)
    each = -(-n // page)
    table = torch.randperm(b * each).view(b, each).to(torch.int32).to(device)
    q, k = tm.fp8(b, h, d, device=device), tm.fp8(b * each, page, d, device=device)
    s, t = torch.rand(b, h).to(device), torch.rand(b * each, page).to(device)
    places = tm.starts([1] * b, device)
    counts = torch.tensor(lengths, device=device, dtype=torch.int32)
    seen = torch.arange(each * page, device=device) < counts[:, None]

    def run():
        out = file.fp8_index(q, s, k, t, places, counts, table, max_k_seqlen=each * page)
        return torch.where(seen, out, 0.0)

    def want():
        keys = k[table.long()].flatten(1, 2).double()
        scores = (
            torch.einsum("bhd,bnd->bhn", q.double(), keys).relu() * s.double()[..., None]
        ).sum(1)
        return torch.where(seen, scores * t[table.long()].flatten(1).double(), 0.0)

    return run, want
