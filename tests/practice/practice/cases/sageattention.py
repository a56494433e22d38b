"""SageAttention: attention with Q and K in int8, their quantisation."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "thu-ml/SageAttention",
    "d1a57a546c3d395b1ffcbeecc66d81db76f3b4b5",
    packages={"sageattention": "."},
)
FOLDER = "sageattention/triton/"
LOG2E = 1.44269504
SMALL = dict(b=1, h=4, groups=2, n=200, d=64)
BIG = dict(b=2, h=32, groups=4, n=4096, d=128)


def _inputs(device, b, h, groups, n, d):
    q = tm.normal(b, h, n, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(b, h // groups, n, d, device=device, dtype=torch.float16) for _ in range(2))
    return q, k, v


def _rounded(x):
    return torch.trunc(x + torch.where(x >= 0, 0.5, -0.5))


def _blocks_int8(x, scale, block):
    """Quantised per block of rows: the integers, and a scale for each block."""
    n = x.shape[-2]
    pad = -n % block
    rows = torch.nn.functional.pad(x.double() * scale, (0, 0, 0, pad)).unflatten(-2, (-1, block))
    scales = rows.abs().amax((-1, -2)) / 127
    whole = _rounded(rows / scales[..., None, None]).flatten(-3, -2)[..., :n, :]
    return whole, scales


@repository.case(FOLDER + "quant_per_block.py", "quant_per_block_int8_kernel", small=SMALL, production=BIG, rtol=1e-5, atol=1e-6, share=2e-3)  # fmt: skip
def quantised_per_block(file, device, **size):
    q, k, _ = _inputs(device, **size)

    def want():
        return *_blocks_int8(q, q.shape[-1] ** -0.5 * LOG2E, 128), *_blocks_int8(k, 1.0, 64)

    return lambda: file.per_block_int8(q, k), want


@repository.case(FOLDER + "quant_per_thread.py", "quant_query_per_thread_int8_kernel, quant_key_per_thread_int8_kernel", small=SMALL, production=BIG, rtol=1e-5, atol=1e-6, share=2e-3)  # fmt: skip
def quantised_per_thread(file, device, **size):
    q, k, _ = _inputs(device, **size)

    def want():
        b, h, n, d = q.shape

        # Rows of a warp's 32 with the same row modulo 8 share a scale; of keys, pairs of 64 do.
        def query(x):
            rows = torch.nn.functional.pad(x.double(), (0, 0, 0, -n % 128)).view(
                *x.shape[:2], -1, 4, 8, d
            )
            scales = rows.abs().amax((-3, -1), keepdim=True) / 127 + 1e-7
            return _rounded(rows / scales).flatten(2, 4)[:, :, :n], scales.flatten(2)

        def key(x):
            rows = torch.nn.functional.pad(x.double(), (0, 0, 0, -n % 64)).view(
                *x.shape[:2], -1, 8, 4, 2, d
            )
            scales = rows.abs().amax((-4, -2, -1), keepdim=True) / 127 + 1e-7
            return _rounded(rows / scales).flatten(2, 5)[:, :, :n], scales.flatten(2)

        return *query(q), *key(k)

    return lambda: file.per_thread_int8(q, k), want


@repository.case(FOLDER + "quant_per_thread.py", "quant_query_per_thread_int4_kernel, quant_key_per_thread_int4_kernel", small=dict(b=1, h=2, n=128, d=64), production=dict(b=2, h=32, n=4096, d=128), share=2e-3)  # fmt: skip
def quantised_per_thread_int4(file, device, b, h, n, d):
    x = tm.normal(b, h, n, d, device=device, dtype=torch.float16)

    def run():
        results = []
        for kernel, rows, parts in (
            (file.quant_query_per_thread_int4_kernel, 32, 8),
            (file.quant_key_per_thread_int4_kernel, 64, 4),
        ):
            out = torch.empty_like(x, dtype=torch.int8)
            scales = torch.empty(b, h, n // rows * parts, device=device)
            kernel[(n // rows * parts, h, b)](
                x,
                out,
                scales,
                n,
                *x.stride()[:3],
                *out.stride()[:3],
                *scales.stride()[:2],
                C=d,
                BLK=rows,
            )
            results += [out, scales]
        return results

    def want():
        q = x.double().view(b, h, -1, 4, 8, d)
        k = x.double().view(b, h, -1, 8, 4, 2, d)
        qs = q.abs().amax((-3, -1), keepdim=True) / 7 + 1e-7
        ks = k.abs().amax((-4, -2, -1), keepdim=True) / 7 + 1e-7
        return (
            _rounded(q / qs).flatten(2, 4), qs.flatten(2),
            _rounded(k / ks).flatten(2, 5), ks.flatten(2),
        )  # fmt: skip

    return run, want


def _attention(file, device, causal, size):
    q, k, v = _inputs(device, **size)
    qi, qs = _blocks_int8(q, q.shape[-1] ** -0.5 * LOG2E, 128)
    ki, ks = _blocks_int8(k, 1.0, 64)
    whole = [x.to(torch.int8).to(device) for x in (qi, ki)]
    scales = [x.float().contiguous().to(device) for x in (qs, ks)]

    def want():
        n = q.shape[-2]
        real = [
            i.double() * s.double().repeat_interleave(block, -1)[..., :n, None]
            for i, s, block in zip(whole, scales, (128, 64), strict=True)
        ]
        out, log = tm.attention(*real, v, 1 / LOG2E, causal)
        return out, log * LOG2E

    def run():
        return file.forward(*whole, v, *scales, return_lse=True)

    return run, want


@repository.case(FOLDER + "attn_qk_int8_per_block.py", "_attn_fwd, _attn_fwd_inner", small=SMALL, production=BIG, rtol=2e-2, atol=1e-2)  # fmt: skip
def attention_int8(file, device, **size):
    return _attention(file, device, False, size)


@repository.case(FOLDER + "attn_qk_int8_per_block_causal.py", "_attn_fwd, _attn_fwd_inner", small=SMALL, production=BIG, rtol=2e-2, atol=2e-2)  # fmt: skip
def attention_int8_causal(file, device, **size):
    return _attention(file, device, True, size)


def _varlen(file, device, causal, lengths, h, groups, d):
    n = max(lengths)
    total = sum(lengths)
    places = tm.starts(lengths, device)
    q = tm.normal(total, h, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(total, h // groups, d, device=device, dtype=torch.float16) for _ in range(2))
    qi, qs, ki, ks, q_places, k_places = _quantised_by_blocks(q, k, places, places, n, n)

    def want():
        parts = [
            tm.attention(*(x[s : s + length].transpose(0, 1) for x in (q, k, v)), None, causal)[0]
            for s, length in zip(places.tolist(), lengths, strict=False)
        ]
        return torch.cat([part.transpose(0, 1) for part in parts])

    def run():
        return file.forward(qi, ki, v, places, places, n, qs, ks, q_places, k_places)

    return run, want


def _quantised_by_blocks(q, k, q_places, k_places, n, _):
    """In torch: what the repository's quantisation per block gives for rows of several lengths."""
    results, offsets = [], []
    for x, places, block, scale in (
        (q, q_places, 128, q.shape[-1] ** -0.5 * LOG2E),
        (k, k_places, 64, 1.0),
    ):
        lengths = (places[1:] - places[:-1]).tolist()
        parts = [_blocks_int8(part.transpose(0, 1), scale, block) for part in x.split(lengths)]
        whole = torch.cat([i.transpose(0, 1) for i, _ in parts]).to(torch.int8)
        scales = torch.cat([s.T for _, s in parts]).float().contiguous()
        results += [whole.contiguous(), scales]
        offsets.append(tm.starts([-(-n // block) for n in lengths], q.device, torch.int64))
    return *results, *offsets


FEW = dict(lengths=[200, 133, 70], h=4, groups=2, d=64)
MANY = dict(lengths=[4096, 3000, 2000, 1000], h=32, groups=4, d=128)


@repository.case(FOLDER + "attn_qk_int8_block_varlen.py", "_attn_fwd, _attn_fwd_inner", small=FEW, production=MANY, rtol=3e-2, atol=3e-2)  # fmt: skip
def attention_int8_varlen(file, device, **size):
    return _varlen(file, device, False, **size)


@repository.case(FOLDER + "attn_qk_int8_per_block_causal_varlen.py", "_attn_fwd, _attn_fwd_inner", small=dict(FEW, lengths=[200, 133, 70, 250]), production=dict(MANY, lengths=[4096, 3000, 2000, 1024]), rtol=3e-2, atol=4e-2)  # fmt: skip
def attention_int8_causal_varlen(file, device, **size):
    return _varlen(file, device, True, **size)


# The last sequence has three scales of keys, and its second block of queries looks at four.
@repository.case(FOLDER + "attn_qk_int8_per_block_causal_varlen.py", "_attn_fwd, _attn_fwd_inner", small=dict(FEW, lengths=[200, 133]), production=MANY, finds="oob-load")  # fmt: skip
def attention_int8_causal_varlen_past_scales(file, device, **size):
    return _varlen(file, device, True, **size)


@repository.case(FOLDER + "quant_per_block_varlen.py", "quant_per_block_int8_kernel", small=SMALL, production=BIG, rtol=1e-5, atol=1e-6, share=2e-3)  # fmt: skip
def quantised_per_block_varlen(file, device, b, h, groups, n, d):
    lengths = tm.lengths(b + 1, n)
    places = tm.starts(lengths, device)
    q = tm.normal(sum(lengths), h, d, device=device, dtype=torch.float16)
    k = tm.normal(sum(lengths), h // groups, d, device=device, dtype=torch.float16)
    return (
        lambda: file.per_block_int8(q, k, places, places, n, n),
        lambda: _quantised_by_blocks(q, k, places, places, n, n),
    )
