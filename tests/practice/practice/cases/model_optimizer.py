"""Model-Optimizer: NVFP4 fake quantisation, attention with quantised or sparse weights."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository


def _scaled(x, amax):
    """Rounds to multiples of what makes amax the greatest number of fp8."""
    scale = tm.FP8_MAX / amax
    return (x * scale).clamp(max=tm.FP8_MAX).to(tm.FP8).float() / scale


repository = Repository(
    "NVIDIA/Model-Optimizer",
    "a2fbac7bad8ab446d3f8783dadb0c3366eb0ad73",
    packages={"modelopt": "."},
    stand_ins={
        "modelopt.torch.quantization.utils": {},
        "modelopt.torch.quantization.utils.numeric_utils": {"E4M3_MAX": 448.0},
        "modelopt.torch.quantization.tensor_quant": {"scaled_e4m3_impl": _scaled},
    },
)
GEMM = "modelopt/torch/kernels/quantization/gemm/"
ATTENTION = "modelopt/torch/kernels/common/attention/"
BF16 = torch.bfloat16
LEVELS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)


def _fp4(x):
    """The nearest numbers of fp4; in the middle the even code."""
    levels = LEVELS.to(x.device)
    middle = (levels[1:] + levels[:-1]) / 2
    code = torch.bucketize(x.abs(), middle)
    code += (code < 7) & (x.abs() == middle[code.clamp(max=6)]) & (code % 2 == 1)
    return levels[code] * x.sign()


def _fp8_scales(amax, whole):
    return (amax / 6 / whole).clamp(max=448).float().to(tm.FP8).double() * whole


def _nvfp4(x, whole, size=16):
    """Blocks of the last axis, their scales in fp8 times ``whole``."""
    blocks = x.float().unflatten(-1, (-1, size))
    scales = _fp8_scales(blocks.abs().amax(-1, keepdim=True), whole)
    scales = torch.where(scales >= 1e-5, scales, 1.0)
    return (_fp4(blocks.double() / scales) * scales).flatten(-2)


@repository.case(GEMM + "fp4_kernel.py", "static_blockwise_fp4_fake_quant_kernel", small=dict(m=40, n=64), production=dict(m=4096, n=512), rtol=1e-2, atol=1e-3, share=1e-3)  # fmt: skip
def fake_quant_static(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    amax = x.float().unflatten(-1, (-1, 16)).abs().amax(-1)

    def want():
        scales = amax.double()[..., None] / 6
        return (_fp4(x.double().unflatten(-1, (-1, 16)) / scales) * scales).flatten(-2)

    return (
        lambda: file.static_blockwise_fp4_fake_quant(x, amax, quantize_block_scales=False),
        want,
    )


@repository.case(GEMM + "fp4_kernel_hopper.py", "fp4_fake_quant_kernel, fp8_quantize_scale, fp4_round_magnitude", small=dict(m=40, n=80), production=dict(m=8192, n=8192), rtol=1e-2, atol=1e-3, share=1e-3)  # fmt: skip
def fake_quant(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    amax = x.float().abs().amax()
    return (
        lambda: file.fp4_fake_quant_block(x, amax),
        lambda: _nvfp4(x, (amax / (6 * 448)).double()),
    )


@repository.case(GEMM + "gptq_fused_kernel.py", "_gptq_scalar_kernel, nvfp4_scalar_qdq", small=dict(m=9, n=32), production=dict(m=4096, n=128), rtol=1e-3, atol=1e-3, share=2e-2)  # fmt: skip
def gptq(file, device, m, n):
    w = tm.normal(m, n, device=device)
    amax = w.unflatten(-1, (-1, 16)).abs().amax(-1)
    h = (torch.eye(n) + 0.05 * torch.randn(n, n)).triu().to(device)
    whole = float(amax.max()) / (6 * 448)

    def want():
        left, q, errors = w.double(), torch.empty_like(w).double(), torch.empty_like(w).double()
        scales = _fp8_scales(amax, whole).repeat_interleave(16, -1)
        for j in range(n):
            q[:, j] = _fp4(left[:, j] / scales[:, j]) * scales[:, j]
            errors[:, j] = (left[:, j] - q[:, j]) / h[j, j].double()
            left = left - errors[:, j : j + 1] * h[j].double()
        return q, errors

    return lambda: file.gptq_fused_block_scalar(w, amax, whole, h, 16, 0), want


def _sweep_losses(x, scales):
    """Of each block of x, for each scale: what is off."""
    x = x.double()[:, None]
    return _fp4(x / scales[:, None]) * scales[:, None] - x


@repository.case(GEMM + "nvfp4_fp8_sweep.py", "_fp8_scale_sweep_kernel", small=dict(n=70), production=dict(n=1 << 18), rtol=1e-3)  # fmt: skip
def sweep(file, device, n):
    """Compares the losses of the scales that were chosen, since two may be equally good."""
    x = tm.normal(n, 16, device=device, dtype=BF16)
    amax = x.float().abs().amax()

    def loss(best):
        scales = best.double()[:, None] / 6
        return (_fp4(x.double() / scales) * scales - x.double()).square().sum(-1)

    def want():
        candidates = file.fp8_scale_candidates(device).double() * amax.double()
        return torch.stack([loss(c.expand(n)) for c in candidates]).amin(0)

    return lambda: loss(file.nvfp4_fp8_scale_sweep(x, amax)), want


@repository.case(GEMM + "nvfp4_fp8_sweep.py", "_fp8_scale_sweep_hessian_kernel", small=dict(m=40, n=2), production=dict(m=4096, n=64), rtol=1e-3)  # fmt: skip
def sweep_hessian(file, device, m, n):
    x = tm.normal(m, n, 16, device=device)
    amax = x.abs().amax()
    root = torch.randn(n, 16, 16)
    h = (root @ root.mT).to(device)

    def loss(best):
        scales = _scaled(best.view(m, n, 1) / 6, amax / 6).double()
        off = _fp4(x.double() / scales) * scales - x.double()
        return torch.einsum("mni,nij,mnj->mn", off, h.double(), off)

    def run():
        return loss(file.nvfp4_fp8_scale_sweep_hessian(x.view(-1, 16), amax, h))

    def want():
        candidates = file.fp8_scale_candidates(device) * amax
        return torch.stack([loss(c.expand(m, n)) for c in candidates]).amin(0)

    return run, want


def _lengths(count, n):
    return [n - i * n // (2 * count) for i in range(count)]


def _sequences(device, b, n, hq, hk, d):
    lengths = _lengths(b, n)
    q, k, v = (tm.normal(sum(lengths), h, d, device=device, dtype=BF16) for h in (hq, hk, hk))
    ints = [
        torch.tensor(x, dtype=torch.int32, device=device) for x in (lengths, [0, *lengths[:-1]])
    ]
    return lengths, (q, k, v), (ints[1].cumsum(0).int(), ints[0], n)


def _each(function, lengths, *tensors):
    """The results of a function of (heads, length, d), sequence by sequence."""
    parts = zip(*(x.split(lengths) for x in tensors), strict=True)
    return torch.cat([function(*(x.transpose(0, 1) for x in p)).transpose(0, 1) for p in parts])


SMALL, LARGE = dict(b=2, n=70, hq=4, hk=2, d=32), dict(b=4, n=4096, hq=32, hk=8, d=128)


def _attention(name, kernels, function=None, share=0.0, **options):
    """function: of q, k, v of one sequence."""

    @repository.case(ATTENTION + "triton_fa.py", kernels, small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2, share=share, name=name)  # fmt: skip
    def build(file, device, b, n, hq, hk, d):
        lengths, qkv, places = _sequences(device, b, n, hq, hk, d)
        right = function or (lambda q, k, v: tm.attention(q, k, v, causal=True)[0])
        return lambda: file.attention(*qkv, *places, **options), lambda: _each(right, lengths, *qkv)

    return build


_attention("attention", "_attn_fwd, _apply_mask")


@repository.case(ATTENTION + "triton_fa.py", "_attn_fwd, _attn_bwd_preprocess, _attn_bwd_dq, _attn_bwd_dkdv", small=SMALL, production=dict(LARGE, n=2048), rtol=3e-2, atol=5e-2)  # fmt: skip
def attention_gradients(file, device, b, n, hq, hk, d):
    lengths, qkv, places = _sequences(device, b, n, hq, hk, d)
    g = tm.normal(*qkv[0].shape, device=device, dtype=BF16)

    def right(q, k, v):
        return _each(lambda *x: tm.attention(*x, causal=True)[0], lengths, q, k, v)

    return (
        lambda: tm.with_gradients(lambda *x: file.attention(*x, *places), g, *qkv),
        lambda: tm.with_gradients(right, g, *qkv, exact=True),
    )


def _sparse(kept, of):
    """Of so many keys in a row the best few, but for the first 4 and the nearest 16."""

    def right(q, k, v):
        q, k, v = (
            q.double(),
            *(x.double().repeat_interleave(q.shape[0] // k.shape[0], 0) for x in (k, v)),
        )
        n = q.shape[1]
        rows, columns = torch.arange(n, device=q.device)[:, None], torch.arange(n, device=q.device)
        s = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(columns > rows, float("-inf"))
        groups = torch.nn.functional.pad(s, (0, -n % of), value=float("-inf")).unflatten(
            -1, (-1, of)
        )
        least = groups.topk(kept, -1)[0][..., -1:]
        keep = (groups >= least).flatten(-2)[..., :n] | (columns < 4) | (rows - columns < 16)
        return s.masked_fill(~keep, float("-inf")).softmax(-1) @ v

    return right


DENSE = dict(dense_sink_tokens=4, dense_recent_tokens=16)
_attention("attention_2_of_4", "_attn_fwd, _apply_sparse_nm_to_qk_tile, _sparse_nm_masks_m4", _sparse(2, 4), sparsity_n=2, **DENSE)  # fmt: skip
_attention("attention_4_of_8", "_attn_fwd, _apply_sparse_nm_to_qk_tile", _sparse(4, 8), sparsity_n=4, sparsity_m=8, **DENSE)  # fmt: skip
_attention("attention_skipping", "_attn_fwd, _skip_softmax_decision", skip_softmax_threshold=1e-4)
_attention("attention_fp8_weights", "_attn_fwd, fp8_scalar_qdq", share=5e-3, p_qdq="fp8")


def _pages(device, b, n, hk, d, size=16):
    """Caches of k and v, the pages of each sequence, lengths, and k and v of each sequence."""
    lengths = tm.lengths(b, n)
    pages = -(-n // size)
    k, v = (tm.normal(b * pages, size, hk, d, device=device, dtype=BF16) for _ in range(2))
    table = torch.randperm(b * pages).view(b, pages).int().to(device)

    def of(i):
        return [x[table[i].long()].flatten(0, 1)[: lengths[i]].transpose(0, 1) for x in (k, v)]

    return k, v, table, torch.tensor(lengths, dtype=torch.int32, device=device), of


@repository.case(ATTENTION + "triton_fa.py", "_attn_fwd, _load_paged_k_tile, _load_paged_v_tile", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2)  # fmt: skip
def attention_paged(file, device, b, n, hq, hk, d):
    """The last queries of each sequence."""
    k, v, table, counts, of = _pages(device, b, n, hk, d)
    few = counts // 2
    start = torch.cat([few[:1] * 0, few.cumsum(0)[:-1]]).int()
    q = tm.normal(int(few.sum()), hq, d, device=device, dtype=BF16)
    nothing = q.new_empty(0, hk, d)

    def run():
        return file.attention(
            q, nothing, nothing, start, few, int(few.max()), b_seq_len_k=counts, b_start_loc_k=None,
            max_input_len_k=n, k_cache=k, v_cache=v, block_table=table,
        )  # fmt: skip

    def want():
        parts = q.split(few.tolist())
        rows = [
            tm.attention(x.transpose(0, 1), *of(i), causal=True)[0] for i, x in enumerate(parts)
        ]
        return torch.cat([x.transpose(0, 1) for x in rows])

    return run, want


def _decode(name, kernels, rtol, **options):
    @repository.case(ATTENTION + "decode_attention.py", kernels, small=dict(b=2, n=70, hq=4, hk=2, d=32), production=dict(b=32, n=8192, hq=32, hk=8, d=128), rtol=rtol, atol=rtol, name=name)  # fmt: skip
    def build(file, device, b, n, hq, hk, d):
        k, v, table, counts, of = _pages(device, b, n, hk, d)
        q = tm.normal(b, hq, d, device=device, dtype=BF16)

        def want():
            rows = []
            for i in range(b):
                keys, values = of(i)
                if "v_qdq" in options:
                    values = torch.nn.functional.pad(values, (0, 0, 0, -values.shape[1] % 16))
                    values = _nvfp4(values.mT, 1.0).mT[:, : keys.shape[1]]
                rows.append(tm.attention(q[i, :, None], keys, values)[0][:, 0])
            return torch.stack(rows)

        return lambda: file.attention_decode(q, k, v, table, counts, **options), want


_decode("decode", "_decode_split_kernel, _decode_combine_kernel, _load_paged_k_tile", 1e-2)
_decode("decode_nvfp4_values", "_decode_split_kernel, _v_qdq_nvfp4, _decode_combine_kernel", 3e-2, v_qdq="nvfp4")  # fmt: skip


@repository.case("modelopt/torch/kernels/quantization/attention/bmm2_qdq.py", "_fake_quant_v_onwrite_kernel, _v_qdq_nvfp4", small=dict(b=2, n=64, h=2, d=32), production=dict(b=32, n=4096, h=8, d=128), rtol=1e-2, atol=1e-3, share=1e-3)  # fmt: skip
def quantise_cache(file, device, b, n, h, d):
    _, v, table, counts, _ = _pages(device, b, n, h, d)
    ends = counts // 16 * 16

    def run():
        cache = v.clone()
        file.fake_quant_v_onwrite(cache, table, ends * 0, ends, max_new_tokens=n)
        return cache

    def want():
        cache, done = v.double(), torch.zeros(len(v), dtype=torch.bool, device=device)
        for i in range(b):
            done[table[i, : int(ends[i]) // 16].long()] = True
        return torch.where(
            done[:, None, None, None], _nvfp4(cache.transpose(1, 3), 1.0).transpose(1, 3), cache
        )

    return run, want


@repository.case("modelopt/torch/kernels/sparsity/attention/calibrate.py", "_attn_fwd_calibrate", small=dict(SMALL, n=300), production=dict(LARGE, b=1), rtol=2e-2, atol=2e-2)  # fmt: skip
def calibrate(file, device, b, n, hq, hk, d):
    q, k, v = (tm.normal(b * n, h, d, device=device, dtype=BF16) for h in (hq, hk, hk))
    start = torch.arange(b, device=device, dtype=torch.int32) * n
    count = torch.full_like(start, n)

    def run():
        out, counts = file.attention_calibrate(
            q, k, v, start, count, n, threshold_trials=[1e-9, 1e9]
        )
        return out, counts

    def want():
        heads = [x.double().unflatten(0, (b, n)).transpose(1, 2) for x in (q, k, v)]
        tiles = b * hq * sum(range(1, -(-n // 128) + 1))
        first = b * hq * -(-n // 128)
        counts = torch.tensor([[tiles, 0], [tiles, tiles - first]], device=device)
        return tm.attention(*heads, causal=True)[0].transpose(1, 2).flatten(0, 1), counts

    return run, want
