"""vLLM, the fork jinhuang12/vllm: attention over pages, mixture of experts, quantization, LoRA,
operators that do not depend on the batch."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

CORES = 4
_PLATFORM = SimpleNamespace(
    fp8_dtype=lambda: torch.float8_e4m3fn,
    is_cuda=lambda: False,  # so that wrappers take their Triton kernels
    is_cuda_alike=lambda: True,
    is_rocm=lambda: False,
    is_xpu=lambda: False,
    is_cpu=lambda: False,
    is_fp8_fnuz=lambda: False,
    has_device_capability=lambda *_: True,
    get_device_capability=lambda *_, **__: SimpleNamespace(to_int=lambda: 90),
    get_device_name=lambda *_: "NVIDIA H100",
    simple_compile_backend="eager",
)
_MOE = "vllm.model_executor.layers.fused_moe."
_QUANT = "vllm.model_executor.layers.quantization."
repository = Repository(
    "jinhuang12/vllm",
    "22f8d28697322f81fd8bf47790cce714e84ce859",
    packages={"vllm": "."},
    stand_ins={
        "vllm.triton_utils": {"tl": tl, "triton": triton, "HAS_TRITON": True},
        "vllm.utils.math_utils": {
            "next_power_of_2": triton.next_power_of_2,
            "cdiv": triton.cdiv,
            "round_up": lambda x, y: -(-x // y) * y,
            "RCP_LN2": 1 / math.log(2),
        },
        "vllm.utils.platform_utils": {"num_compute_units": lambda *_: CORES},
        "vllm.platforms": {"current_platform": _PLATFORM},
        "vllm.envs": {"VLLM_BATCH_INVARIANT": False, "VLLM_TUNED_CONFIG_FOLDER": None},
        "vllm.utils.deep_gemm": {
            "is_deep_gemm_e8m0_used": lambda: False,
            "get_tma_aligned_size": lambda m, _: -(-m // 4) * 4,
            "get_mk_alignment_for_contiguous_layout": lambda: (128, 128),
            "DeepGemmQuantScaleFMT": SimpleNamespace(FLOAT32=0, FLOAT32_CEIL_UE8M0=1, UE8M0=2),
        },
        _QUANT + "utils.quant_utils": {"get_fp8_min_max": lambda: (-448.0, 448.0)},
        **dict.fromkeys(
            (
                "vllm._aiter_ops",
                "vllm._custom_ops",
                "vllm.config",
                "vllm.distributed",
                "vllm.distributed.parallel_state",
                "vllm.forward_context",
                "vllm.logger",
                "vllm.model_executor.custom_op",
                "vllm.model_executor.parameter",
                "vllm.model_executor.utils",
                _MOE + "activation",
                _MOE + "config",
                _MOE + "modular_kernel",
                _MOE + "moe_align_block_size",
                _MOE + "topk_weight_and_reduce",
                _QUANT + "input_quant_fp8",
                _QUANT + "utils.mxfp4_utils",
                _QUANT + "utils.mxfp6_utils",
                _QUANT + "utils.mxfp8_utils",
                _QUANT + "utils.w8a8_utils",
                "vllm.utils.collection_utils",
                "vllm.utils.flashinfer",
                "vllm.utils.torch_utils",
                "vllm.v1.attention.backends.registry",
                "vllm.v1.attention.backends.utils",
                "vllm.model_executor.layers.rotary_embedding.base",
                "vllm.model_executor.layers.rotary_embedding.yarn_scaling_rope",
            ),
            {},
        ),
    },
)
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


# --- operators that do not depend on the batch ---------------------------------------------------

INVARIANT = LAYERS + "batch_invariant.py"
GEMM = dict(
    small=dict(m=100, n=200, k=150), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=5e-2
)


@repository.case(INVARIANT, "matmul_kernel_persistent, _compute_pid", **GEMM)
def matmul(file, device, m, n, k):
    x, y, b = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (k, n), (n,)))
    return (
        lambda: file.matmul_persistent(x, y, b),
        lambda: x.double() @ y.double() + b.double(),
    )


@repository.case(INVARIANT, "bmm_kernel", small=dict(b=2, m=100, n=200, k=150), production=dict(b=8, m=2048, n=2048, k=2048), rtol=1e-2, atol=5e-2)  # fmt: skip
def batched_matmul(file, device, b, m, n, k):
    x, y = (tm.normal(b, *s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    return lambda: file.bmm_batch_invariant(x, y), lambda: x.double() @ y.double()


ROWS = dict(small=dict(m=7, n=1500), production=dict(m=8192, n=8192))


@repository.case(INVARIANT, "_log_softmax_kernel", **ROWS)
def log_softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.log_softmax(x), lambda: x.double().log_softmax(-1)


@repository.case(INVARIANT, "mean_kernel", small=dict(a=3, b=70, c=50), production=dict(a=64, b=4096, c=512))  # fmt: skip
def mean(file, device, a, b, c):
    x = tm.normal(a, b, c, device=device)
    return lambda: file.mean_dim(x, 1), lambda: x.double().mean(1)


@repository.case(INVARIANT, "_rms_norm_kernel", **ROWS)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.rms_norm(x, w), lambda: tm.rms_norm(x, w, 1e-6)


# --- quantization -------------------------------------------------------------------------------

FP8_UTILS, INT8_UTILS = (LAYERS + f"quantization/utils/{x}_utils.py" for x in ("fp8", "int8"))
GROUPS = dict(small=dict(m=8, n=512), production=dict(m=8192, n=8192), rtol=1e-4, atol=1e-6)


def _by_group(x, most):
    groups = x.double().unflatten(-1, (-1, 128))
    scales = groups.abs().amax(-1) / most
    return (groups / scales[..., None]).flatten(-2), scales


def _fp8_groups(file, device, m, n, **options):
    """Its results times their scales; fp8 is within a sixteenth."""
    x = tm.normal(m, n, device=device)

    def run():
        q, s = file.per_token_group_quant_fp8(x, 128, **options)
        return q.float() * s.repeat_interleave(128, -1), s

    return run, lambda: (x, _by_group(x, 448.0)[1])


@repository.case(FP8_UTILS, "_per_token_group_quant_fp8", small=dict(m=8, n=512), production=dict(m=8192, n=8192), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_by_groups(file, device, **size):
    return _fp8_groups(file, device, **size)


@repository.case(FP8_UTILS, "_per_token_group_quant_fp8_colmajor", small=dict(m=7, n=512), production=dict(m=8192, n=8192), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_by_groups_columns(file, device, **size):
    return _fp8_groups(file, device, column_major_scales=True, tma_aligned_scales=True, **size)


@repository.case(FP8_UTILS, "_silu_mul_per_token_group_quant_fp8_colmajor", small=dict(m=128, n=512), production=dict(m=8192, n=8192), rtol=0.08, atol=2e-2)  # fmt: skip
def silu_mul_fp8(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        q, s = file.silu_mul_per_token_group_quant_fp8_colmajor(x)
        return q.float() * s.repeat_interleave(128, -1)

    return run, lambda: tm.silu_mul(x)


@repository.case(FP8_UTILS, "_w8a8_triton_block_scaled_mm", small=dict(m=70, n=200, k=256), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def fp8_blocks(file, device, m, n, k):
    x, w = (tm.fp8(*s, device=device) for s in ((m, k), (n, k)))
    xs, ws = (torch.rand(*s).to(device) for s in ((m, k // 128), (-(-n // 128), k // 128)))

    def want():
        a, b = tm.dequantised_blocks(x, xs, 1, 128), tm.dequantised_blocks(w, ws, 128, 128)
        return a @ b.T

    return lambda: file.w8a8_triton_block_scaled_mm(x, w, xs, ws, [128, 128], torch.float32), want


@repository.case(INT8_UTILS, "_per_token_quant_int8, round_int8", small=dict(m=7, n=500), production=dict(m=8192, n=8192), rtol=0, atol=1.0)  # fmt: skip
def int8_by_rows(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        scale = x.double().abs().amax(-1, keepdim=True) / 127
        return (x.double() / scale).round(), scale

    return lambda: file.per_token_quant_int8(x), want


@repository.case(INT8_UTILS, "_per_token_group_quant_int8", small=dict(m=7, n=512), production=dict(m=8192, n=8192), rtol=0, atol=1.0)  # fmt: skip
def int8_by_groups(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.per_token_group_quant_int8(x, 128), lambda: _by_group(x, 127)


@repository.case(INT8_UTILS, "_w8a8_block_int8_matmul", small=dict(m=70, n=200, k=256), production=dict(m=4096, n=4096, k=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def int8_blocks(file, device, m, n, k):
    x, w = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    xs, ws = (torch.rand(*s).to(device) / 127 for s in ((m, k // 128), (-(-n // 128), k // 128)))

    def want():
        a, b = tm.dequantised_blocks(x, xs, 1, 128), tm.dequantised_blocks(w, ws, 128, 128)
        return a @ b.T

    return lambda: file.w8a8_block_int8_matmul(x, w, xs, ws, [128, 128], torch.float32), want


# The end of K is loaded with a mask and no other value, and summed.
@repository.case(LAYERS + "quantization/compressed_tensors/triton_scaled_mm.py", "scaled_mm_kernel", small=dict(m=33, n=100, k=150), production=dict(m=512, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def scaled_int8(file, device, m, n, k):
    x, w = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    xs, ws, bias = torch.rand(m, 1).to(device) / 99, torch.rand(n, 1).to(device) / 99, tm.normal(n, device=device, dtype=BF16)  # fmt: skip
    return (
        lambda: file.triton_scaled_mm(x, w.T, xs, ws, BF16, bias),
        lambda: x.double() @ w.double().T * xs.double() * ws.double().T + bias.double(),
    )


def _awq(k, n, group, device):
    """Numbers of 4 bits in the order of AWQ, and what they stand for."""
    values, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // group, n))
    scales = (torch.rand(k // group, n) * 0.1).to(torch.float16)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    packed = [tm.packed_int4(x, tuple(order)).to(device) for x in (values, zeros)]
    full = (values - zeros.repeat_interleave(group, 0)).double() * scales.double().repeat_interleave(group, 0)  # fmt: skip
    return packed, scales.to(device), full.to(device)


@repository.case(LAYERS + "quantization/awq_triton.py", "awq_dequantize_kernel", small=dict(k=128, n=96), production=dict(k=4096, n=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def awq_dequantised(file, device, k, n):
    (values, zeros), scales, full = _awq(k, n, 64, device)
    return lambda: file.awq_dequantize_triton(values, scales, zeros), lambda: full


@repository.case(LAYERS + "quantization/awq_triton.py", "awq_gemm_kernel", small=dict(m=20, k=256, n=96), production=dict(m=64, k=4096, n=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def awq_gemm(file, device, m, k, n):
    (values, zeros), scales, full = _awq(k, n, 64, device)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.awq_gemm_triton(x, values, scales, zeros, 2), lambda: x.double() @ full


@repository.case(LAYERS + "quantization/qutlass_utils.py", "triton_scale_swizzle", small=dict(m=150, n=10), production=dict(m=8192, n=512), rtol=0, atol=0)  # fmt: skip
def swizzled_scales(file, device, m, n):
    x = tm.integers(0, 256, m, n, device=device, dtype=torch.uint8)

    def want():
        y = F.pad(x, (0, -n % 4, 0, -m % 128))
        y = y.unflatten(0, (-1, 128)).unflatten(2, (-1, 4)).transpose(1, 2)
        return y.unflatten(2, (4, 32)).transpose(2, 3).reshape(-1)

    return lambda: file.triton_mx_block_rearrange(x).flatten(), want


@repository.case(LAYERS + "activation.py", "_swiglustep_and_mul_kernel", small=dict(m=7, n=3000), production=dict(m=8192, n=16384))  # fmt: skip
def swiglu_step(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=4)

    def run():
        out = torch.empty(m, n // 2, device=device)
        file.swiglustep_and_mul_triton(out, x, 3.0)
        return out

    def want():
        gate, up = x.double().chunk(2, -1)
        return F.silu(gate).clamp(max=3) * up.clamp(-3, 3)

    return run, want


# --- mixture of experts --------------------------------------------------------------------------

MOE = LAYERS + "fused_moe/"


@repository.case(MOE + "fused_moe.py", "fused_moe_kernel, write_zeros_to_output", small=dict(m=20, e=4, k=100, n=70, t=2), production=dict(m=2048, e=64, k=4096, n=2048, t=4), rtol=1e-2, atol=2e-2)  # fmt: skip
def experts(file, device, m, e, k, n, t):
    """The last expert lies on another machine: its rows are zeros."""
    block = 16
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (e, n, k)))
    bias = tm.normal(e, n, device=device, dtype=BF16)
    share, ids = tm.topk_ids(m, e, t, device)
    order, owner = [], []
    for expert in range(e):
        mine = (ids.flatten() == expert).nonzero()[:, 0].tolist()
        mine += [m * t] * (-len(mine) % block)
        order += mine
        owner += [expert if expert < e - 1 else -1] * (len(mine) // block)
    order, owner, count = (torch.tensor(v, dtype=torch.int32).to(device) for v in (order, owner, [len(order)]))  # fmt: skip
    config = dict(BLOCK_SIZE_M=block, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=4)

    def run():
        out = torch.full((m, t, n), 7.0, device=device, dtype=BF16)
        file.invoke_fused_moe_triton_kernel(
            x, w, out, None, None, share, order, owner, count, True, t, config, tl.bfloat16,
            False, False, False, False, False, B_bias=bias,
        )  # fmt: skip
        return out

    def want():
        y = (tm.moe(x, w, ids) + bias.double()[ids]) * share.double()[..., None]
        return y.masked_fill((ids == e - 1)[..., None], 0)

    return run, want


@repository.case(MOE + "fused_batched_moe.py", "batched_triton_kernel, expert_triton_kernel, moe_mmk", small=dict(e=3, m=40, k=100, n=70), production=dict(e=64, m=512, k=4096, n=2048), rtol=1e-2, atol=2e-2)  # fmt: skip
def batched_experts(file, device, e, m, k, n):
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((e, m, k), (e, n, k)))
    counts = torch.tensor([0, *tm.lengths(e - 1, m)], dtype=torch.int32).to(device)
    config = dict(BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32)

    def run():
        out = torch.zeros(e, m, n, device=device, dtype=BF16)
        # The wrapper is the same call with scales brought into one shape.
        file.batched_triton_kernel[(e, triton.cdiv(m, 32) * triton.cdiv(n, 32))](
            x, w, out, counts, tl.bfloat16, m, k, n, None, None, None, *x.stride(), w.stride(0),
            w.stride(2), w.stride(1), *out.stride(), 0, 0, 0, 0, 0, 0, 0, 0, False, False, False,
            BLOCK_M=config["BLOCK_SIZE_M"], BLOCK_N=config["BLOCK_SIZE_N"],
            BLOCK_K=config["BLOCK_SIZE_K"],
        )  # fmt: skip
        return out

    def want():
        y = x.double() @ w.double().transpose(1, 2)
        return y.masked_fill((torch.arange(m, device=device) >= counts[:, None])[..., None], 0)

    return run, want


@repository.case(MOE + "batched_deep_gemm_moe.py", "_silu_mul_fp8_quant_deep_gemm", small=dict(e=3, m=9, n=256), production=dict(e=64, m=512, n=4096), rtol=0.08, atol=2e-2)  # fmt: skip
def silu_mul_fp8_experts(file, device, e, m, n):
    x = tm.normal(e, m, 2 * n, device=device, dtype=BF16)
    counts = torch.tensor([0, *tm.lengths(e - 1, m)], dtype=torch.int32).to(device)
    used = torch.arange(m, device=device) < counts[:, None]

    def run():
        q, s = file.persistent_masked_m_silu_mul_quant(x, counts)
        return q[used].float() * s[used].repeat_interleave(128, -1)

    return run, lambda: tm.silu_mul(x)[used]


@repository.case(MOE + "deep_gemm_utils.py", "_fwd_kernel_ep_scatter_1, _fwd_kernel_ep_scatter_2, _fwd_kernel_ep_gather, round_up_128, apply_expert_map, _count_expert_num_tokens", small=dict(m=30, n=256, e=4, t=2), production=dict(m=4096, n=4096, e=64, t=8), rtol=1e-2, atol=1e-2)  # fmt: skip
def scattered_and_gathered(file, device, m, n, e, t):
    """Rows go to their experts and come back with weights; half of the experts are elsewhere."""
    x, scales = tm.normal(m, n, device=device), torch.rand(m, n // 128).to(device)
    share, ids = tm.topk_ids(m, e, t, device)
    mapping = torch.arange(e, dtype=torch.int32).masked_fill(torch.arange(e) % 2 == 1, -1)
    mapping = torch.where(mapping >= 0, mapping // 2, mapping).to(device)

    def run():
        y, s, owner, places = file.deepgemm_moe_permute(x, scales, ids, e // 2, mapping, None)
        out, full, rows = torch.empty_like(x), torch.zeros_like(y), places[ids % 2 == 0].long()
        full[rows] = y[rows] * s[rows].repeat_interleave(128, -1)
        file.deepgemm_unpermute_and_reduce(full, ids, share, places, mapping, out)
        return out, torch.bincount(owner + 1, minlength=e // 2 + 1)[1:]

    def want():
        mine = ids % 2 == 0
        y = tm.dequantised_blocks(x, scales, 128)
        count = torch.bincount(ids[mine] // 2, minlength=e // 2)
        return y * share.double().masked_fill(~mine, 0).sum(-1, keepdim=True), count

    return run, want


@repository.case(MOE + "fused_moe.py", "compute_identity_kernel", small=dict(m=9, n=512, t=3), production=dict(m=8192, n=4096, t=8))  # fmt: skip
def experts_of_identity(file, device, m, n, t):
    x, (share, ids) = tm.normal(m, n, device=device), tm.topk_ids(m, 8, t, device)

    def run():
        return file.zero_experts_compute_triton(ids.clone(), share.clone(), 5, "identity", x)

    return run, lambda: x.double() * share.double().masked_fill(ids < 5, 0).sum(-1, keepdim=True)


# --- LoRA and RoPE -------------------------------------------------------------------------------

LORA = "vllm/lora/ops/triton_ops/"


def _adapters(m, count, device):
    """The adapter of each token, -1 for none, and the tables that the kernels take."""
    adapter = tm.integers(-1, count, m, device=device, dtype=torch.int32)
    order = adapter.argsort(stable=True).to(torch.int32)
    ids, counts = adapter.unique(return_counts=True)
    pad = count + 1 - len(ids)
    ids, counts = F.pad(ids, (0, pad), value=-1), F.pad(counts, (0, pad)).to(torch.int32)
    starts = F.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
    no = torch.tensor([False])
    return adapter, (adapter, order, counts, starts, ids.to(torch.int32), no, torch.tensor([count + 1 - pad]))  # fmt: skip


@repository.case(LORA + "lora_shrink_op.py", "_lora_shrink_kernel, do_shrink_kernel, mm_k", small=dict(m=20, k=300, r=8, count=3), production=dict(m=4096, k=4096, r=16, count=16), rtol=1e-2, atol=2e-2)  # fmt: skip
def lora_shrink(file, device, m, k, r, count):
    adapter, tables = _adapters(m, count, device)
    x = tm.normal(m, k, device=device, dtype=BF16)
    w = [tm.normal(count, 1, r, k, device=device, dtype=BF16) for _ in range(2)]

    def run():
        out = torch.empty(2, m, r, device=device)
        file._lora_shrink(x, w, out, *tables, 0.5)
        return out

    def want():
        mine = [0.5 * (y[:, 0][adapter.long()].double() @ x.double()[..., None])[..., 0] for y in w]
        return torch.stack(mine).masked_fill((adapter < 0)[:, None], 0)

    return run, want


@repository.case(LORA + "lora_expand_op.py", "_lora_expand_kernel, do_expand_kernel, mm_k", small=dict(m=20, n=100, r=16, count=3), production=dict(m=4096, n=4096, r=16, count=16), rtol=1e-2, atol=2e-2)  # fmt: skip
def lora_expand(file, device, m, n, r, count):
    """Two slices of different widths, added to what is there."""
    adapter, tables = _adapters(m, count, device)
    x = tm.normal(2, m, r, device=device)
    w = [tm.normal(count, 1, width, r, device=device, dtype=BF16) for width in (n, n // 2)]
    before = tm.normal(m, n + n // 2, device=device, dtype=BF16)

    def run():
        out = before.clone()
        file._lora_expand(x, w, out, *tables, add_inputs=True)
        return out

    def want():
        mine = [(y[:, 0][adapter.long()].double() @ z.double()[..., None])[..., 0] for y, z in zip(w, x, strict=True)]  # fmt: skip
        return before.double() + torch.cat(mine, -1).masked_fill((adapter < 0)[:, None], 0)

    return run, want


@repository.case(LAYERS + "rotary_embedding/mrope.py", "_triton_mrope_forward", small=dict(m=9, h=3, hk=2, d=32), production=dict(m=8192, h=28, hk=4, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rope_of_three(file, device, m, h, hk, d):
    """Positions in time, height and width, each for a part of the angles."""
    q, k = (tm.normal(m, x * d, device=device) for x in (h, hk))
    angles = torch.rand(3, m, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)
    parts = [d // 8, d // 8, d // 4]

    def run():
        return file.triton_mrope(q.clone(), k.clone(), cos, sin, parts, d, d, False)

    def want():
        c, s = (torch.cat([x.split(parts, -1)[i][i] for i in range(3)], -1) for x in (cos, sin))
        return tuple(
            tm.rotated(x.unflatten(-1, (-1, d)), c[:, None], s[:, None]).flatten(-2) for x in (q, k)
        )

    return run, want
