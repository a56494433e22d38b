"""vLLM, the fork jinhuang12/vllm: attention over pages, and what fills them."""

from __future__ import annotations

import torch
import triton

from practice import torch_math as tm
from practice.vllm import vllm

repository = vllm()
BF16 = torch.bfloat16
ATTENTION, LAYERS = "vllm/v1/attention/ops/", "vllm/model_executor/layers/"
HALF = dict(rtol=2e-2, atol=2e-2)


# --- attention ----------------------------------------------------------------------------------


class _Paged:
    """Keys and values in pages: (pages, page, heads, d), with the pages of each sequence."""

    def __init__(self, lengths, page, hk, d, device, dtype, dv=None):
        self.lengths, self.dv = lengths, dv or d
        most = -(-max(lengths) // page)
        count = most * len(lengths) + 1
        self.table = torch.randperm(count)[: most * len(lengths)].to(torch.int32)
        self.table = self.table.view(len(lengths), most).to(device)
        self.k, self.v = (tm.normal(count, page, hk, x, device=device, dtype=dtype) for x in (d, self.dv))  # fmt: skip
        self.sizes = torch.tensor(lengths, dtype=torch.int32).to(device)

    def of(self, i):
        """Keys and values of a sequence: (heads, length, d)."""
        pages = self.table[i].long()
        return (x[pages].flatten(0, 1)[: self.lengths[i]].transpose(0, 1) for x in (self.k, self.v))


def _attended(q, starts, paged, **options):
    """Causal attention of the last tokens of each sequence; q is (tokens, heads, d)."""
    out, lse = [], []
    for i, (a, b) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        o, s = tm.attention(q[a:b].transpose(0, 1), *paged.of(i), causal=True, **options)
        out.append(o.transpose(0, 1))
        lse.append(s)
    return torch.cat(out), lse


def _unified(file, device, b, most, h, hk, d, queries, page, splits=0, **options):
    lengths = tm.lengths(b, most, least=queries)
    counts = [min(length, queries) for length in lengths]
    paged = _Paged(lengths, page, hk, d, device, BF16)
    starts = tm.starts(counts, device)
    q = tm.normal(sum(counts), h, d, device=device, dtype=BF16)
    window, softcap = options.get("window"), options.get("softcap", 0.0)
    parts = {}
    if splits:
        shape, size = (sum(counts), h, splits), triton.next_power_of_2(d)
        parts = dict(
            seq_threshold_3D=1 << 20,
            num_par_softmax_segments=splits,
            softmax_segm_output=torch.empty(*shape, size, device=device),
            softmax_segm_max=torch.empty(shape, device=device),
            softmax_segm_expsum=torch.empty(shape, device=device),
        )

    def run():
        out = torch.empty_like(q)
        file.unified_attention(
            q, paged.k, paged.v, out, starts, max(counts), paged.sizes, max(lengths), d**-0.5,
            True, (window - 1, 0) if window else (-1, -1), paged.table, softcap, None, None, None,
            sinks=options.get("sink"), **parts,
        )  # fmt: skip
        return out

    return run, lambda: _attended(q, starts.tolist(), paged, **options)[0]


UNIFIED = ATTENTION + "triton_unified_attention.py"


@repository.case(UNIFIED, "kernel_unified_attention_2d", small=dict(b=3, most=90, h=4, hk=2, d=32, queries=20, page=16), production=dict(b=16, most=4096, h=32, hk=8, d=128, queries=512, page=16), **HALF)  # fmt: skip
def unified_prefill(file, device, **size):
    return _unified(file, device, **size)


@repository.case(UNIFIED, "kernel_unified_attention_2d", small=dict(b=3, most=90, h=4, hk=2, d=40, queries=20, page=16), production=dict(b=16, most=4096, h=64, hk=8, d=64, queries=512, page=16), **HALF)  # fmt: skip
def unified_window_sink_softcap(file, device, h, **size):
    sink = tm.normal(h, device=device, dtype=BF16)
    return _unified(file, device, h=h, window=24, softcap=5.0, sink=sink, **size)


@repository.case(UNIFIED, "kernel_unified_attention_3d, reduce_segments", small=dict(b=3, most=90, h=4, hk=2, d=32, queries=1, page=16, splits=4), production=dict(b=64, most=8192, h=32, hk=8, d=128, queries=1, page=16, splits=16), **HALF)  # fmt: skip
def unified_decode(file, device, **size):
    return _unified(file, device, **size)


def _decode(file, device, b, most, h, hk, d, dv, page):
    paged = _Paged(tm.lengths(b, most), page, hk, d, device, BF16, dv)
    q = tm.normal(b, h, d, device=device, dtype=BF16)

    def run():
        out = torch.empty(b, h, dv, device=device, dtype=BF16)
        lse = torch.empty(b, h, device=device)
        middle = torch.empty(b, h, 4, dv + 1, device=device)
        file.decode_attention_fwd(
            q, paged.k, paged.v, out, lse, paged.table, paged.sizes, middle, 4, d**-0.5, page
        )
        return out, lse

    def want():
        out, lse = _attended(q, list(range(b + 1)), paged)
        return out, torch.stack(lse)[..., 0]

    return run, want


DECODE = ATTENTION + "triton_decode_attention.py"


@repository.case(DECODE, "_fwd_kernel_stage1, _fwd_kernel_stage2", small=dict(b=3, most=90, h=2, hk=2, d=40, dv=24, page=4), production=dict(b=64, most=8192, h=32, hk=32, d=128, dv=128, page=16), **HALF)  # fmt: skip
def decode(file, device, **size):
    return _decode(file, device, **size)


@repository.case(DECODE, "_fwd_grouped_kernel_stage1, _fwd_kernel_stage2", small=dict(b=3, most=90, h=6, hk=2, d=32, dv=32, page=4), production=dict(b=64, most=8192, h=32, hk=8, d=128, dv=128, page=16), **HALF)  # fmt: skip
def decode_grouped(file, device, **size):
    return _decode(file, device, **size)


@repository.case(DECODE, "_fwd_grouped_kernel_stage1, _fwd_kernel_stage2", small=dict(b=2, most=40, h=16, hk=1, d=576, dv=512, page=1), production=dict(b=64, most=8192, h=16, hk=1, d=576, dv=512, page=1), **HALF)  # fmt: skip
def decode_latent(file, device, **size):
    """Heads of 512 + 64 elements, as in multi-head latent attention."""
    return _decode(file, device, **size)


@repository.case(ATTENTION + "triton_prefill_attention.py", "_fwd_kernel", small=dict(b=2, most=150, h=4, hk=2, d=40), production=dict(b=16, most=2048, h=32, hk=8, d=128), **HALF)  # fmt: skip
def prefill(file, device, b, most, h, hk, d):
    lengths = tm.lengths(b, most)
    starts = tm.starts(lengths, device)
    sizes = torch.tensor(lengths, dtype=torch.int32).to(device)
    q, k, v = (tm.normal(sum(lengths), x, d, device=device, dtype=BF16) for x in (h, hk, hk))

    def run():
        out = torch.empty_like(q)
        file.context_attention_fwd(q, k, v, out, starts[:-1], sizes, most)
        return out

    def want():
        ends = starts.tolist()
        rows = [slice(x, y) for x, y in zip(ends[:-1], ends[1:], strict=True)]
        return torch.cat([
            tm.attention(*(x[r].transpose(0, 1) for x in (q, k, v)), causal=True)[0].transpose(0, 1)
            for r in rows
        ])  # fmt: skip

    return run, want


def _page_layout(paged, x=8):
    """Keys as (pages, heads, d/x, page, x), values as (pages, heads, d, page)."""
    k = paged.k.permute(0, 2, 3, 1).unflatten(2, (-1, x)).transpose(3, 4).contiguous()
    return k, paged.v.permute(0, 2, 3, 1).contiguous()


def _context(file, device, b, most, h, hk, d, queries, alibi=False):
    """New tokens see their context in pages, and one another as tensors."""
    lengths = tm.lengths(b, most, least=queries + 1)
    counts = [queries - i for i in range(b)]
    paged = _Paged(lengths, 16, hk, d, device, BF16)
    kc, vc = _page_layout(paged)
    starts = tm.starts(counts, device)
    q = tm.normal(sum(counts), h, d, device=device, dtype=BF16)
    new = [torch.cat([list(paged.of(i))[j][:, -c:].transpose(0, 1) for i, c in enumerate(counts)]).contiguous() for j in range(2)]  # fmt: skip
    one = torch.ones(1, device=device)
    slopes = (2.0 ** -torch.arange(1.0, h + 1)).to(device) if alibi else None

    def run():
        out = torch.empty_like(q)
        file.context_attention_fwd(
            q, *new, out, "auto", kc, vc, paged.table, starts, paged.sizes, most, queries, one,
            one, alibi_slopes=slopes,
        )  # fmt: skip
        return out

    def want():
        if not alibi:
            return _attended(q, starts.tolist(), paged)[0]
        out, ends = [], starts.tolist()
        for i, (x, y) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            n = lengths[i]
            away = torch.arange(n, device=device) - torch.arange(n - (y - x), n, device=device)[:, None]  # fmt: skip
            bias = slopes.double()[:, None, None] * away
            o, _ = tm.attention(q[x:y].transpose(0, 1), *paged.of(i), causal=True, bias=bias)
            out.append(o.transpose(0, 1))
        return torch.cat(out)

    return run, want


PREFIX = dict(
    small=dict(b=2, most=70, h=4, hk=2, d=32, queries=20),
    production=dict(b=16, most=4096, h=32, hk=8, d=128, queries=512),
    **HALF,
)


@repository.case(ATTENTION + "prefix_prefill.py", "_fwd_kernel", **PREFIX)
def context(file, device, **size):
    return _context(file, device, **size)


@repository.case(ATTENTION + "prefix_prefill.py", "_fwd_kernel_alibi", **PREFIX)
def context_alibi(file, device, **size):
    return _context(file, device, alibi=True, **size)


@repository.case(ATTENTION + "chunked_prefill_paged_decode.py", "kernel_paged_attention_2d", small=dict(b=3, most=70, h=4, hk=2, d=32), production=dict(b=64, most=4096, h=32, hk=8, d=128), **HALF)  # fmt: skip
def paged(file, device, b, most, h, hk, d):
    pages = _Paged(tm.lengths(b, most), 16, hk, d, device, BF16)
    k, v = _page_layout(pages)
    q, one = tm.normal(b, h, d, device=device, dtype=BF16), torch.ones(1, device=device)
    starts = torch.arange(b + 1, dtype=torch.int32).to(device)

    def run():
        out = torch.empty_like(q)
        # The wrapper asks for a part of ROCm.
        file.kernel_paged_attention_2d[(b, hk)](
            output_ptr=out, query_ptr=q, key_cache_ptr=k, value_cache_ptr=v, sink_ptr=None,
            block_tables_ptr=pages.table, seq_lens_ptr=pages.sizes, alibi_slopes_ptr=None,
            scale=d**-0.5, k_scale=one, v_scale=one, out_scale_inv=1.0, num_query_heads=h,
            num_queries_per_kv=h // hk, num_queries_per_kv_padded=16,
            block_table_stride=pages.table.stride(0), query_stride_0=q.stride(0),
            query_stride_1=q.stride(1), output_stride_0=out.stride(0),
            output_stride_1=out.stride(1), BLOCK_SIZE=16, PHYSICAL_BLOCK_SIZE=16, HEAD_SIZE=d,
            HEAD_SIZE_PADDED=triton.next_power_of_2(d), USE_ALIBI_SLOPES=False, SLIDING_WINDOW=0,
            x=k.shape[4], stride_k_cache_0=k.stride(0), stride_k_cache_1=k.stride(1),
            stride_k_cache_2=k.stride(2), stride_k_cache_3=k.stride(3),
            stride_k_cache_4=k.stride(4), stride_v_cache_0=v.stride(0),
            stride_v_cache_1=v.stride(1), stride_v_cache_2=v.stride(2),
            stride_v_cache_3=v.stride(3), filter_by_query_len=True, query_start_len_ptr=starts,
            USE_SINKS=False, USE_FP8=False,
        )  # fmt: skip
        return out

    return run, lambda: _attended(q, starts.tolist(), pages)[0]


def _states(device, m, h, d):
    """Two attentions over parts of the keys."""
    outs = [tm.normal(m, h, d, device=device) for _ in range(2)]
    lses = [tm.normal(h, m, device=device) for _ in range(2)]
    return outs, lses


@repository.case(ATTENTION + "triton_merge_attn_states.py", "merge_attn_states_kernel", small=dict(m=9, h=3, d=40), production=dict(m=8192, h=32, d=128))  # fmt: skip
def merged_states(file, device, m, h, d):
    outs, lses = _states(device, m, h, d)
    lses[0][0, 0] = float("inf")  # a part without keys

    def run():
        out, lse = torch.empty_like(outs[0]), torch.empty_like(lses[0])
        file.merge_attn_states(out, outs[0], lses[0], outs[1], lses[1], lse)
        return out, lse

    def want():
        both = torch.stack(lses).double()
        both = both.masked_fill(both == float("inf"), float("-inf"))
        share = both.softmax(0).transpose(1, 2)[..., None]
        return (torch.stack(outs).double() * share).sum(0), both.logsumexp(0)

    return run, want


@repository.case(ATTENTION + "common.py", "_correct_attn_cp_out_kernel", small=dict(b=5, h=3, d=32, n=4), production=dict(b=512, h=16, d=512, n=8))  # fmt: skip
def corrected_part(file, device, b, h, d, n):
    x, lses = tm.normal(b, h, d, device=device), tm.normal(n, b, h, device=device)

    def run():
        return file.correct_attn_out(x.clone(), lses, 1, None)

    def want():
        lse = lses.double().logsumexp(0)
        return x.double() * (lses[1].double() - lse).exp()[..., None], lse

    return run, want


@repository.case(ATTENTION + "dcp_alltoall.py", "_dcp_lse_combine_kernel", small=dict(n=4, b=5, h=3, d=32), production=dict(n=8, b=512, h=16, d=512))  # fmt: skip
def combined_ranks(file, device, n, b, h, d):
    x, lses = tm.normal(n, b, h, d, device=device), tm.normal(n, b, h, device=device)

    def want():
        share = lses.double().softmax(0)[..., None]
        return (x.double() * share).sum(0), lses.double().logsumexp(0)

    return lambda: file.dcp_lse_combine_triton(x, lses, return_lse=True), want


@repository.case(ATTENTION + "common.py", "_pack_seq_kernel, _unpack_seq_triton_kernel", small=dict(b=3, most=90, d=70), production=dict(b=64, most=2048, d=1024), rtol=0, atol=0)  # fmt: skip
def packed_and_back(file, device, b, most, d):
    sizes = tm.lengths(b, most)
    x, lengths = tm.normal(sum(sizes), d, device=device), torch.tensor(sizes).to(device)

    def run():
        packed = file.pack_seq_triton(x, lengths)
        return packed, file.unpack_seq_triton(packed, lengths)

    def want():
        padded = torch.nn.utils.rnn.pad_sequence(
            x.split(sizes), batch_first=True, padding_value=float("-inf")
        )
        return padded, x

    return run, want


STORE = dict(small=dict(m=9, h=2, d=24), production=dict(m=8192, h=8, d=128), rtol=0, atol=0)


@repository.case(ATTENTION + "triton_reshape_and_cache_flash.py", "reshape_and_cache_kernel_flash", **STORE)  # fmt: skip
def stored_in_pages(file, device, m, h, d):
    k, v = (tm.normal(m, h, d, device=device, dtype=BF16) for _ in range(2))
    slots = torch.randperm(2 * m)[:m].to(device)
    slots[0] = -1
    one = torch.ones(1, device=device)

    def run():
        made = [torch.zeros(-(-2 * m // 16), 16, h, d, device=device, dtype=BF16) for _ in range(2)]
        file.triton_reshape_and_cache_flash(k, v, *made, slots, "auto", one, one)
        return made

    def want():
        made = []
        for x in (k, v):
            y = torch.zeros(-(-2 * m // 16) * 16, h, d, device=device, dtype=BF16)
            y[slots[1:]] = x[1:]
            made.append(y.unflatten(0, (-1, 16)))
        return made

    return run, want


@repository.case(ATTENTION + "triton_reshape_and_cache_flash.py", "reshape_and_cache_kernel_flash", small=dict(m=9, h=2, d=24), production=dict(m=8192, h=8, d=128), rtol=0.07, atol=1e-2)  # fmt: skip
def stored_in_pages_fp8(file, device, m, h, d):
    k, v = (tm.normal(m, h, d, device=device, dtype=BF16) for _ in range(2))
    slots, scale = torch.randperm(2 * m)[:m].to(device), torch.full((1,), 0.5, device=device)

    def run():
        made = [torch.zeros(-(-2 * m // 16), 16, h, d, device=device, dtype=torch.uint8) for _ in range(2)]  # fmt: skip
        file.triton_reshape_and_cache_flash(k, v, *made, slots, "fp8", scale, scale)
        return [x.view(torch.float8_e4m3fn).flatten(0, 1)[slots].float() for x in made]

    return run, lambda: [x.double() / 0.5 for x in (k, v)]


@repository.case(ATTENTION + "triton_reshape_and_cache_flash.py", "reshape_and_cache_kernel_flash_diffkv", **STORE)  # fmt: skip
def stored_in_one(file, device, m, h, d):
    k, v = (tm.normal(m, h, x, device=device, dtype=BF16) for x in (d, d // 2))
    slots, one = torch.randperm(2 * m)[:m].to(device), torch.ones(1, device=device)

    def run():
        made = torch.zeros(-(-2 * m // 16), 16, h, d + d // 2, device=device, dtype=BF16)
        file.triton_reshape_and_cache_flash_diffkv(k, v, made, slots, "auto", one, one)
        return made.flatten(0, 1)[slots]

    return run, lambda: torch.cat([k, v], -1)


@repository.case("vllm/v1/attention/backends/mla/sparse_utils.py", "_convert_req_index_to_global_index_kernel", small=dict(m=9, b=3, n=256), production=dict(m=4096, b=64, n=2048), rtol=0, atol=0)  # fmt: skip
def indices_of_slots(file, device, m, b, n):
    request = tm.integers(0, b, m, device=device, dtype=torch.int32)
    table = tm.integers(0, 1000, b, 20, device=device, dtype=torch.int32)
    tokens = tm.integers(-30, 20 * 64 + 60, m, n, device=device, dtype=torch.int32)

    def run():
        return file.triton_convert_req_index_to_global_index(
            request, table, tokens, NUM_TOPK_TOKENS=n, return_valid_counts=True
        )

    def want():
        block = tokens.div(64, rounding_mode="floor")
        right = (tokens >= 0) & (block < 20)
        slot = table[request.long()].gather(1, block.clamp(0, 19).long()) * 64 + tokens % 64
        return slot.masked_fill(~right, -1), right.sum(-1)

    return run, want
