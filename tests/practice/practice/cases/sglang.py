"""SGLang, the fork bytedance-iaas/sglang: norms, activations, routing, caches, sampling, diffusion."""

from __future__ import annotations

from types import SimpleNamespace

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "bytedance-iaas/sglang",
    "6ed5780c4fd3075edd8a76fe6f09af51e4e900a6",
    packages={"sglang": "python"},
    stand_ins={
        "sglang.srt.utils": {
            "is_hip": lambda: False,
            "is_cpu": lambda: False,
            "get_device_capability": lambda *_: (9, 0),
        },
        "sglang.srt.utils.custom_op": {"register_custom_op": lambda **_: lambda function: function},
        "sglang.srt.layers.dp_attention": {"is_dp_attention_enabled": lambda: False},
        "sglang.srt.runtime_context": {
            "get_parallel": lambda: SimpleNamespace(
                dcp_enabled=False, attn_dcp_rank=0, attn_dcp_size=1
            ),
        },
        "sglang.kernels.jit.utils": {
            "is_arch_support_pdl": lambda: True,
            "cache_once": lambda function: function,
        },
        "sglang.kernels.ops.kvcache.set_mla_kv_buffer": {
            "can_use_set_mla_kv_buffer": lambda *_: False,
        },
        "sglang.kernel_api_logging": {"debug_kernel_api": lambda function: function},
        "sglang.kernels.ops.moe.moe_route_radix": {},
        "sglang.multimodal_gen.runtime.platforms": {
            "current_platform": SimpleNamespace(
                is_cuda=lambda: True,
                is_npu=lambda: False,
                is_mps=lambda: False,
                is_musa=lambda: False,
                is_cpu=lambda: False,
            ),
        },
    },
)
BF16 = torch.bfloat16
OPS = "python/sglang/kernels/ops/"
ROWS = dict(small=dict(m=7, n=1500), production=dict(m=8192, n=8192))
HALF = dict(rtol=1e-2, atol=1e-2)
EXACT = dict(rtol=0, atol=0)


# --- rows ---------------------------------------------------------------------------------------


@repository.case(OPS + "activation/softcap.py", "softcap_out_kernel", **ROWS)
def softcap(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16, scale=30)
    return lambda: file.softcap_out(x, 20.0), lambda: 20 * torch.tanh(x.double() / 20)


@repository.case(OPS + "activation/softcap.py", "softcap_out_kernel", **ROWS)
def softcap_tuned(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16, scale=30)
    return (
        lambda: file.softcap_out(x, 20.0, autotune=True),
        lambda: 20 * torch.tanh(x.double() / 20),
    )


@repository.case(OPS + "activation/softcap.py", "softcap_inplace_logits_kernel", **ROWS)
def softcap_in_place(file, device, m, n):
    x = tm.normal(m, n + 8, device=device, scale=30)
    return (
        lambda: file.softcap_inplace_logits(x.clone()[:, :n], 20.0),
        lambda: 20 * torch.tanh(x[:, :n].double() / 20),
    )


NORM = OPS + "elementwise/elementwise.py"


@repository.case(NORM, "fused_dual_residual_rmsnorm_kernel", **ROWS)
def two_norms(file, device, m, n):
    x, r = (tm.normal(m, n, device=device) for _ in range(2))
    w, u = (tm.normal(n, device=device) for _ in range(2))

    def want():
        middle = r.double() + tm.rms_norm(x, w, 1e-6)
        return tm.rms_norm(middle, u, 1e-6), middle

    return lambda: file.fused_dual_residual_rmsnorm(x, r, w, u, 1e-6), want


@repository.case(NORM, "fused_rmsnorm_kernel", **ROWS)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.fused_rmsnorm(x, w, 1e-6), lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(NORM, "gelu_and_mul_kernel", **ROWS)
def gelu_mul(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        gate, up = x.double().chunk(2, -1)
        return F.gelu(gate) * up

    return lambda: file.gelu_and_mul_triton(x)[0], want


@repository.case(NORM, "silu_and_mul_kernel", **ROWS)
def silu_mul(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.silu_and_mul_triton(x)[0], lambda: tm.silu_mul(x)


GATES = OPS + "moe/triton_sigmoid_gate_mul.py"


@repository.case(GATES, "_sigmoid_gate_mul_kernel", **ROWS)
def sigmoid_mul(file, device, m, n):
    x, g = (tm.normal(m, n, device=device) for _ in range(2))
    return lambda: file.sigmoid_gate_mul(x, g), lambda: x.double() * g.double().sigmoid()


@repository.case(GATES, "_sigmoid_gate_mul_broadcast_kernel", **ROWS)
def sigmoid_mul_rows(file, device, m, n):
    x, g = tm.normal(m, n, device=device), tm.normal(m, 1, device=device)
    return lambda: file.sigmoid_gate_mul_broadcast(x, g), lambda: x.double() * g.double().sigmoid()


@repository.case(OPS + "attention/log_scaling_tau.py", "_apply_log_scaling_tau_kernel", **ROWS)
def scaled_rows(file, device, m, n):
    x, tau = tm.normal(m, n, device=device), torch.rand(m, 1).to(device)
    return lambda: file.apply_log_scaling_tau(x, tau), lambda: x.double() * tau.double()


# --- attention ----------------------------------------------------------------------------------


@repository.case(OPS + "attention/merge_state.py", "merge_state_kernel", small=dict(m=9, h=3, d=40), production=dict(m=8192, h=32, d=128))  # fmt: skip
def merged_states(file, device, m, h, d):
    outs = [tm.normal(m, h, d, device=device) for _ in range(2)]
    lses = [tm.normal(m, h, device=device) for _ in range(2)]

    def want():
        both = torch.stack(lses).double()
        share = both.softmax(0)[..., None]
        return (torch.stack(outs).double() * share).sum(0), both.logsumexp(0)

    return lambda: file.merge_state_triton(outs[0], lses[0], outs[1], lses[1]), want


PAD = OPS + "attention/pad.py"
RAGGED = dict(small=dict(b=3, most=9, h=3, d=70), production=dict(b=64, most=512, h=16, d=128))


@repository.case(PAD, "pad_sequence_with_mask_kernel", small=dict(b=3, most=20, d=70), production=dict(b=64, most=32, d=256), **EXACT)  # fmt: skip
def padded_sequences(file, device, b, most, d):
    lengths = tm.lengths(b, most)
    x, starts = tm.normal(sum(lengths), d, device=device), tm.starts(lengths, device)
    sizes = torch.tensor(lengths).to(device)

    def want():
        y = torch.nn.utils.rnn.pad_sequence(x.split(lengths), batch_first=True)
        return b, y, (torch.arange(most, device=device) < sizes[:, None]).flatten()

    return (
        lambda: file.pad_sequence_with_mask(x, starts[:-1], sizes, most)[1:],
        lambda: want()[1:],
    )


@repository.case(PAD, "pad_draft_extend_query_kernel, unpad_draft_extend_output_kernel", **RAGGED, **EXACT)  # fmt: skip
def padded_queries_and_back(file, device, b, most, h, d):
    lengths = tm.lengths(b, most)
    x, starts = tm.normal(sum(lengths), h, d, device=device), tm.starts(lengths, device)
    sizes = torch.tensor(lengths, dtype=torch.int32).to(device)

    def run():
        padded = torch.zeros(b, most, h, d, device=device)
        file.pad_draft_extend_query(x, padded, sizes, starts)
        return padded, file.unpad_draft_extend_output(padded, starts, sizes, sum(lengths))

    return run, lambda: (torch.nn.utils.rnn.pad_sequence(x.split(lengths), batch_first=True), x)


@repository.case(PAD, "seqlens_expand_kernel", small=dict(b=5, most=20), production=dict(b=512, most=512), **EXACT)  # fmt: skip
def lengths_of_queries(file, device, b, most):
    counts = tm.lengths(b, most)
    totals = [c + 7 * i for i, c in enumerate(counts)]
    q, kv = (torch.tensor(x, dtype=torch.int32).to(device) for x in (counts, totals))
    return (
        lambda: file.seqlens_expand_triton(q, kv, sum(counts), most),
        lambda: torch.cat(
            [torch.arange(t - c + 1, t + 1) for c, t in zip(counts, totals, strict=True)]
        ),  # fmt: skip
    )


@repository.case(OPS + "attention/position.py", "compute_position_kernel", small=dict(b=5, most=700), production=dict(b=256, most=8192), **EXACT)  # fmt: skip
def positions(file, device, b, most):
    counts = tm.lengths(b, most)
    before = tm.integers(0, 100, b, device=device, dtype=torch.int32)
    q = torch.tensor(counts, dtype=torch.int32).to(device)

    def want():
        rows = zip(before.tolist(), counts, strict=True)
        return torch.cat([torch.arange(p, p + c) for p, c in rows]), tm.starts(counts, device)[:-1]

    return lambda: file.compute_position_triton(before, q, sum(counts)), want


# --- caches -------------------------------------------------------------------------------------


@repository.case(OPS + "kvcache/kv_indices.py", "create_flashinfer_kv_indices_triton", small=dict(b=4, most=900), production=dict(b=256, most=8192), **EXACT)  # fmt: skip
def indices_of_tokens(file, device, b, most):
    lengths = tm.lengths(b, most)
    table = tm.integers(0, 1 << 20, b + 2, most, device=device, dtype=torch.int32)
    rows, starts = torch.randperm(b + 2)[:b].to(device), tm.starts(lengths, device)
    sizes = torch.tensor(lengths, dtype=torch.int32).to(device)

    def run():
        out = torch.empty(sum(lengths), device=device, dtype=torch.int32)
        file.create_flashinfer_kv_indices_triton[(b,)](
            table, rows, sizes, starts, None, out, table.stride(0)
        )
        return out

    def want():
        return torch.cat([table[r, :n] for r, n in zip(rows.tolist(), lengths, strict=True)])

    return run, want


@repository.case(OPS + "kvcache/kv_indices.py", "create_flashmla_kv_indices_triton", small=dict(b=4, most=5000), production=dict(b=256, most=16384), **EXACT)  # fmt: skip
def indices_of_pages(file, device, b, most):
    lengths = tm.lengths(b, most)
    pages = -(-most // 64)
    owner = tm.integers(0, 1 << 14, b, pages, device=device, dtype=torch.int32)
    table = (owner[..., None] * 64 + torch.arange(64, device=device)).flatten(1).to(torch.int32)
    rows, sizes = torch.randperm(b).to(device), torch.tensor(lengths, dtype=torch.int32).to(device)
    wide = file.get_num_kv_index_blocks_flashmla(pages, 64)

    def run():
        out = torch.full((b, wide * 64), -1, device=device, dtype=torch.int32)
        file.create_flashmla_kv_indices_triton[(b, wide)](
            table, rows, sizes, None, out, table.stride(0), out.stride(0)
        )
        return out

    def want():
        out = torch.full((b, wide * 64), -1, dtype=torch.int32)
        for i, (r, n) in enumerate(zip(rows.tolist(), lengths, strict=True)):
            out[i, : -(-n // 64)] = owner[r, : -(-n // 64)]
        return out

    return run, want


@repository.case(OPS + "kvcache/cache_move.py", "copy_all_layer_kv_cache_tiled", small=dict(layers=3, m=30, d=50, count=7), production=dict(layers=64, m=1024, d=1024, count=64), **EXACT)  # fmt: skip
def moved_in_all_layers(file, device, layers, m, d, count):
    """Addresses of tensors, read from memory and made pointers."""
    x = [tm.normal(m, d, device=device, dtype=BF16) for _ in range(layers)]
    places = torch.randperm(m)[: 2 * count].to(device)
    source, target = places[:count], places[count:]

    def run():
        y = [t.clone() for t in x]
        addresses = torch.tensor([t.data_ptr() for t in y], dtype=torch.uint64).to(device)
        strides = torch.tensor([d * 2] * layers).to(device)
        config = dict(byte_tiles=-(-d * 2 // 128), bytes_per_tile=128, num_warps=4)
        file.copy_all_layer_kv_cache_func(
            addresses, strides, target, source, count, 1 << (count - 1).bit_length(), config
        )
        return y

    def want():
        y = [t.clone() for t in x]
        for t in y:
            t[target] = t[source]
        return y

    return run, want


@repository.case(OPS + "kvcache/cache_move.py", "store_cache_4d_kernel", small=dict(m=9, h=2, d=24), production=dict(m=8192, h=8, d=128), **EXACT)  # fmt: skip
def stored_in_pages(file, device, m, h, d):
    k, v = (tm.normal(m, h, x, device=device, dtype=BF16) for x in (d, d // 2))
    slots, pages = torch.randperm(2 * m)[:m].to(device), -(-2 * m // 16)

    def run():
        made = [torch.zeros(pages * 16, h, x, device=device, dtype=BF16) for x in (d, d // 2)]
        file.store_cache_4d(*(x.view(pages * 16, 1, h, -1) for x in made), k, v, slots, 1)
        return [x[slots] for x in made]

    return run, lambda: [k, v]


@repository.case(OPS + "kvcache/mla_buffer.py", "set_mla_kv_buffer_kernel, get_mla_kv_buffer_kernel", small=dict(m=9, d=64, r=16), production=dict(m=700, d=512, r=64), **EXACT)  # fmt: skip
def latent_stored_and_back(file, device, m, d, r):
    """With programmatic dependent launch."""
    k, rope = (tm.normal(m, 1, x, device=device, dtype=BF16) for x in (d, r))
    slots = torch.randperm(2 * m)[:m].to(device)

    def run():
        made = torch.zeros(2 * m, 1, d + r, device=device, dtype=BF16)
        file.set_mla_kv_buffer_triton(made, slots, k, rope)
        back = torch.empty_like(k), torch.empty_like(rope)
        file.get_mla_kv_buffer_triton(made, slots, *back)
        return back

    return run, lambda: (k, rope)


# --- hashes and sampling -------------------------------------------------------------------------

WORD = 0xFFFFFFFF


def _mixed(x):
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = ((x ^ (x >> shift)) * factor) & WORD
    return x ^ (x >> 16)


@repository.case(OPS + "memory/gpu_tensor_hash.py", "hash_tiles32_kernel_blocked, add_tree_reduce_u64_kernel", small=dict(n=20000), production=dict(n=1 << 24), **EXACT)  # fmt: skip
def hash_of_a_tensor(file, device, n):
    x = tm.integers(-(1 << 31), 1 << 31, n, device=device, dtype=torch.int32)
    seeds = 0x243F6A88, (0x243F6A88 * 2654435761 ^ 0xDEADBEEF) & WORD

    def turned(x, r):
        return ((x << r) | (x >> (32 - r))) & WORD

    def want():
        total = 0
        for start in range(0, n, 8192):
            v = (x[start : start + 8192].long() & WORD).tolist()
            halves = []
            for seed, factor, turn in zip(seeds, (0x27D4EB2D, 0x165667B1), (15, 13), strict=True):
                s = 0
                for i, word in enumerate(v, start):
                    place = ((i * factor + seed) & WORD) ^ turned(i, turn)
                    s += _mixed(word ^ place)
                halves.append(_mixed((s & WORD) ^ (n * 4 & WORD)))
            total += halves[0] << 32 | halves[1]
        return torch.tensor([file._final_splitmix64(total) >> 1])

    return lambda: torch.tensor([file.gpu_tensor_hash(x) >> 1]), want


@repository.case(OPS + "sampling/murmur_hash.py", "murmur_hash32_kernel, murmur3_mix, fmix32, rotl32", small=dict(m=3, n=700), production=dict(m=256, n=151936), **EXACT)  # fmt: skip
def murmur(file, device, m, n):
    seeds = tm.integers(0, 1 << 62, m, device=device)
    places = tm.integers(0, 1 << 20, m, device=device)
    columns = torch.arange(n).to(device)

    def mix(h, k):
        k = (k * 0xCC9E2D51) & WORD
        k = ((k << 15) | (k >> 17)) & WORD
        h ^= (k * 0x1B873593) & WORD
        h = ((h << 13) | (h >> 19)) & WORD
        return (h * 5 + 0xE6546B64) & WORD

    def want():
        rows = []
        for seed, place in zip(seeds.tolist(), places.tolist(), strict=True):
            h = mix(mix(mix(0, seed & WORD), seed >> 32), place)
            rows.append([_mixed(mix(h, c) ^ 16) for c in range(n)])
        return torch.tensor(rows)

    return lambda: file.murmur_hash32(seeds, places, columns).long(), want


RENORM = OPS + "sampling/renorm_triton.py"
VOCABULARY = dict(small=dict(m=5, n=3000), production=dict(m=256, n=151936))


@repository.case(RENORM, "_mask_and_partial_sum_kernel, _normalize_kernel", **VOCABULARY)
def top_k_renormalised(file, device, m, n):
    p = tm.normal(m, n, device=device, scale=3).softmax(-1)

    def want():
        kept = p.double() * (p >= p.topk(50, -1).values[:, -1:])
        return kept / kept.sum(-1, keepdim=True)

    return lambda: file.top_k_renorm_probs_triton(p, 50), want


# --- mixture of experts --------------------------------------------------------------------------


def _routed(x, w, t, cap):
    logits = cap * torch.tanh(x.double() @ w.double().T / cap)
    values, ids = logits.softmax(-1).topk(t, -1)
    return values, ids


@repository.case(OPS + "moe/router.py", "fused_moe_router_cudacore_kernel", small=dict(m=7, n=300, e=8, t=3), production=dict(m=256, n=4096, e=8, t=4), rtol=1e-3, atol=1e-4)  # fmt: skip
def router(file, device, m, n, e, t):
    x, w = tm.normal(m, n, device=device), tm.normal(e, n, device=device)
    return lambda: file.fused_moe_router_cudacore(x, w, t, 30.0), lambda: _routed(x, w, t, 30.0)


@repository.case(OPS + "moe/router.py", "fused_moe_router_tensorcore_kernel", small=dict(m=40, n=512, e=16), production=dict(m=4096, n=4096, e=16), rtol=1e-2, atol=1e-2)  # fmt: skip
def router_by_dots(file, device, m, n, e):
    x = tm.normal(m, n, device=device, dtype=BF16)
    w = tm.normal(e, n, device=device, dtype=BF16)
    return lambda: file.fused_moe_router_shim(30.0, x, w, 2, False), lambda: _routed(x, w, 2, 30.0)


@repository.case(OPS + "moe/moe_fused_mul_sum.py", "moe_fused_mul_sum_kernel", small=dict(m=9, t=3, n=300), production=dict(m=8192, t=8, n=4096), **HALF)  # fmt: skip
def sum_of_experts(file, device, m, t, n):
    x, share = tm.normal(m, t, n, device=device, dtype=BF16), torch.rand(m, t).to(device)

    def want():
        return (x.double() * share.double()[..., None]).sum(1) * 2.5

    return lambda: file.moe_fused_mul_sum(x, share, routed_scaling_factor=2.5), want


@repository.case(OPS + "moe/pack_topk_ids.py", "_pack_topk_ids_triton_kernel", small=dict(n=300), production=dict(n=1 << 20), **EXACT)  # fmt: skip
def packed_ids(file, device, n):
    ids, w = tm.integers(0, 300, n, device=device, dtype=torch.int32), torch.rand(n).to(device)

    def run():
        out = torch.empty_like(ids)
        file._pack_topk_ids_triton_kernel[(-(-n // 128),)](ids, w, out, n, 128, True)
        return out

    return run, lambda: ids << 16 | (w.to(BF16).view(torch.int16).int() & 0xFFFF)


@repository.case(OPS + "moe/triton_hash_topk.py", "_hash_topk_triton_kernel", small=dict(m=9, e=20, t=6), production=dict(m=8192, e=256, t=6))  # fmt: skip
def routed_by_table(file, device, m, e, t):
    logits, tokens = tm.normal(m, e, device=device), tm.integers(0, 50, m, device=device)
    table = torch.stack([torch.randperm(e)[:t] for _ in range(50)]).to(torch.int32).to(device)

    def want():
        ids = table[tokens].long()
        w = F.softplus(logits.double().gather(1, ids)).sqrt()
        return (
            F.pad(w / w.sum(-1, keepdim=True), (0, 1), value=0.4),
            F.pad(ids, (0, 1), value=e),
        )

    return lambda: file.hash_topk_triton(logits, tokens, table, 1, 2.5, "sqrtsoftplus"), want


@repository.case(OPS + "moe/fill_padded_rows.py", "_fill_padded_rows_kernel", small=dict(m=9, n=6), production=dict(m=8192, n=8), **EXACT)  # fmt: skip
def filled_rows(file, device, m, n):
    x, count = tm.integers(0, 99, m, n, device=device), torch.tensor([m // 2]).to(device)

    def run():
        y = x.clone()
        file._fill_padded_rows(y, count, -1)
        return y

    def want():
        y = x.clone()
        y[m // 2 :] = -1
        return y

    return run, want


@repository.case(OPS + "moe/gate_topk.py", "_streaming_topk_kernel, fpval_to_key, key_to_fpval, indx_to_key, key_to_indx, get_topmask_and_fullmask", small=dict(m=40, n=100, k=6), production=dict(m=8192, n=256, k=8), **EXACT)  # fmt: skip
def top_k(file, device, m, n, k):
    x = torch.stack([torch.randperm(n) for _ in range(m)]).sub(n // 2).float().to(device)

    def want():
        values, ids = x.topk(k, -1)
        return values, ids

    return lambda: file.gate_topk(x, k), want


# --- diffusion ----------------------------------------------------------------------------------

DIFFUSION = OPS + "diffusion/triton/"


@repository.case(DIFFUSION + "causal_conv3d_pad.py", "_fused_cat_pad_5d_kernel", small=dict(c=3, t=4, h=5, w=6), production=dict(c=96, t=8, h=120, w=160), **EXACT)  # fmt: skip
def padded_video(file, device, c, t, h, w):
    x, before = tm.normal(2, c, t, h, w, device=device), tm.normal(2, c, 2, h, w, device=device)

    def want():
        return F.pad(torch.cat([before, x], 2), (1, 1, 2, 2, 1, 0))

    return lambda: file.fused_causal_conv3d_cat_pad(x, before, (1, 1, 2, 2, 3, 0)), want


GROUP_NORM = DIFFUSION + "group_norm_silu.py"


@repository.case(GROUP_NORM, "_group_norm_silu_contiguous_kernel", small=dict(c=8, s=300), production=dict(c=512, s=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def group_norm(file, device, c, s):
    x, w, b = (tm.normal(*z, device=device) for z in ((2, c, s), (c,), (c,)))
    return (
        lambda: file._launch_one_pass(x, w, b, 4, 1e-5),
        lambda: F.silu(F.group_norm(x.double(), 4, w.double(), b.double(), 1e-5)),
    )


@repository.case(GROUP_NORM, "_group_norm_stats_kernel, _group_norm_finalize_stats_kernel, _group_norm_apply_kernel", small=dict(c=8, s=5000), production=dict(c=512, s=1 << 16), rtol=1e-4, atol=1e-4)  # fmt: skip
def group_norm_in_chunks(file, device, c, s):
    x, w, b = (tm.normal(*z, device=device) for z in ((2, c, s), (c,), (c,)))
    return (
        lambda: file._launch_chunked(x, w, b, 4, 1e-5),
        lambda: F.silu(F.group_norm(x.double(), 4, w.double(), b.double(), 1e-5)),
    )


@repository.case(DIFFUSION + "indexed_modulation.py", "_indexed_scale_shift_bf16_kernel, _indexed_gate_bf16_kernel, _round_bf16_to_fp32", small=dict(m=9, n=300), production=dict(m=8192, n=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def modulated_by_index(file, device, m, n):
    x, y = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    shift, scale, gate = (tm.normal(4, n, device=device, dtype=BF16) for _ in range(3))
    ids = tm.integers(0, 4, m, device=device)

    def run():
        return (
            file.indexed_scale_shift_bf16_(x.clone(), shift, scale, ids),
            file.indexed_gate_bf16_(x.clone(), gate, y, ids),
        )

    def want():
        a = x.double() * (1 + scale.double()[ids]) + shift.double()[ids]
        return a, x.double() + gate.double()[ids] * y.double()

    return run, want


@repository.case(DIFFUSION + "scale_shift.py", "_fused_scaled_residual_add_exact_kernel, _fp32_mul_add_rn", small=dict(m=9, n=300), production=dict(m=8192, n=4096), **EXACT)  # fmt: skip
def scaled_residual_in_two_roundings(file, device, m, n):
    """Inline assembly with a register of its own: the product is rounded before it is added."""
    r, s = tm.normal(m, n, device=device), tm.normal(n, device=device)
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        out = torch.empty_like(r)
        file._fused_scaled_residual_add_exact_kernel[(-(-m * n // 1024),)](
            out, r, x, s, numel=m * n, width=n, BLOCK_SIZE=1024
        )
        return out

    return run, lambda: r + x.float() * s


@repository.case(DIFFUSION + "varlen_pack_pad.py", "_fused_pack_qkv_kernel, _fused_scatter_to_padded_kernel", small=dict(b=2, m=9, h=3, d=20), production=dict(b=2, m=4096, h=24, d=128), **EXACT)  # fmt: skip
def packed_tokens(file, device, b, m, h, d):
    q, k, v = (tm.normal(b, m, h, d, device=device, dtype=BF16) for _ in range(3))
    ids = torch.randperm(b * m)[: b * m // 2].sort().values.to(device)

    def run():
        made = file.fused_pack_qkv(q, k, v, ids)
        back = file.fused_scatter_to_padded(made[0], file.build_inv_indices(ids, b * m), b, m)
        return (*made, back)

    def want():
        back = torch.zeros_like(q).flatten(0, 1)
        back[ids] = q.flatten(0, 1)[ids]
        return (*(x.flatten(0, 1)[ids] for x in (q, k, v)), back.unflatten(0, (b, m)))

    return run, want
