"""vLLM in fixed point: products and attention whose sums are integers, by conversions in PTX."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Gursukh/vLLM-Triton-Fixed-Point-Reductions", "f0e56993151e0da5d556c479e502d7577b26bd91", packages={"fxpr_vllm": "."})  # fmt: skip
FOLDER = "fxpr_vllm/_triton/"
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)

for _bits in (16, 32, 64):

    @repository.case(FOLDER + "casts.py", "_float_to_fixed_kernel, _fixed_to_float_kernel", small=dict(n=1000), production=dict(n=1 << 26), name=f"to_{_bits}_bits_and_back", rtol=1e-6, atol=1e-6)  # fmt: skip
    def to_bits_and_back(file, device, n, bits=_bits):
        x = tm.normal(n, device=device, scale=100)
        places = {16: 8, 32: 16, 64: 30}[bits]

        def run():
            fixed = file.float_to_fixed_run(x, bits, places)
            return fixed, file.fixed_to_float_run(fixed, 32, places)

        def want():
            fixed = (x.double() * 2**places).round().clamp(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)  # fmt: skip
            return fixed, fixed / 2**places

        return run, want


@repository.case(FOLDER + "rms_norm.py", "_rms_norm_kernel", small=dict(m=5, n=1500), production=dict(m=8192, n=5120), **HALF)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, n), (n,)))
    return lambda: file.rms_norm_fxp_run(x, w, 1e-6), lambda: tm.rms_norm(x, w, 1e-6)


# The parts of a product, and those of attention, are added by atomics of all warps. One of them then
# counts the arrivals, and nothing orders it behind the others. In attention all parts load the sums,
# also those whose results are thrown away since others still add to them.
for _parts in (1, 2):

    @repository.case(FOLDER + "gemm.py", "_compute_pid, _gemm_kernel" if _parts == 1 else "_compute_pid, _gemm_splitk_kernel", small=dict(m=70, n=200, k=400), production=dict(m=4096, n=4096, k=4096) if _parts == 1 else dict(m=64, n=8192, k=8192), name="product" if _parts == 1 else "product_in_parts", finds="" if _parts == 1 else "race-warp-order", **HALF)  # fmt: skip
    def product(file, device, m, n, k, parts=_parts):
        a, b = (tm.normal(*s, device=device, dtype=BF16, scale=0.3) for s in ((m, k), (k, n)))
        bias = tm.normal(n, device=device, dtype=BF16)
        tuned = file._gemm_kernel_autotuned
        tuned.configs = [c for c in tuned.configs if c.kwargs["BLOCK_M"] == c.kwargs["BLOCK_N"] == 128][:1]  # fmt: skip

        def run():
            file._SPLITK_FORCE = parts
            return file.gemm_fxp_run(a, b, bias, 32, 16)

        return run, lambda: a.double() @ b.double() + bias.double()


for _name, _parts, _more in (
    ("prefill", 1, dict(alibi=True, softcap=0.0, window=0)),
    ("prefill_in_windows", 1, dict(alibi=False, softcap=20.0, window=50)),
    ("decode_in_parts", 4, dict(alibi=False, softcap=0.0, window=0)),
):

    @repository.case(FOLDER + "attention.py", "_attn_fused_kernel" if _parts == 1 else "_split_tile_range, _attn_split_max_kernel", small=dict(b=3, nq=70 if _parts == 1 else 1, n=200, h=4, hk=2, d=64), production=dict(b=4, nq=2048, n=4096, h=32, hk=8, d=128) if _parts == 1 else dict(b=16, nq=1, n=8192, h=32, hk=8, d=128), name=f"attention_{_name}", finds="race-read-write,race-warp-order" if _parts > 1 else "", **HALF)  # fmt: skip
    def attention(file, device, b, nq, n, h, hk, d, parts=_parts, more=_more):  # fmt: skip
        alibi, softcap, window = more["alibi"], more["softcap"], more["window"]
        lengths, counts = tm.lengths(b, n, nq), tm.lengths(b, nq)
        pages = -(-n // 16)
        cache = tm.normal(b * pages, 2, 16, hk, d, device=device, dtype=BF16)
        table = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
        q = tm.normal(sum(counts), h, d, device=device, dtype=BF16)
        slopes = (torch.rand(h) / 10).to(device) if alibi else None
        starts = tm.starts(counts, device)
        lens = torch.tensor(lengths, dtype=torch.int32, device=device)

        def run():
            o = torch.empty_like(q)
            file.unified_attention_fxp_run(q, cache, o, starts, lens, table, nq, slopes, True, d**-0.5, 32, 16, softcap, window, parts)  # fmt: skip
            return o

        def want():
            rows = []
            for i, (length, part) in enumerate(zip(lengths, q.split(counts), strict=True)):
                kv = cache[table[i].long()].transpose(0, 1).flatten(1, 2)[:, :length]
                k, v = kv.transpose(1, 2)
                bias = None
                if alibi:
                    at = torch.arange(length, device=device)
                    # The kernel adds it to scores that are logarithms to the base 2.
                    steps = at - at[length - len(part) :, None]
                    bias = slopes[:, None, None] * 0.6931471805599453 * steps
                rows.append(tm.attention(part.transpose(0, 1), k, v, causal=True, bias=bias, softcap=softcap, window=window or None)[0].transpose(0, 1))  # fmt: skip
            return torch.cat(rows)

        return run, want
