"""sgl-kernel-npu: what of SGLang's kernels for Ascend is plain Triton, here on another machine."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

CORES = 132
repository = Repository(
    "sgl-project/sgl-kernel-npu", "f425bdf1e191a7682296d3b2ed0b927d4e37d671",
    packages={"sgl_kernel_npu": "python/sgl_kernel_npu"},
    stand_ins={
        "sgl_kernel_npu.utils.triton_utils": {"get_device_properties": lambda: (CORES, CORES)}
    },
)  # fmt: skip
FOLDER = "python/sgl_kernel_npu/sgl_kernel_npu/"
BF16 = torch.bfloat16
PAGE = 64
NEAR = dict(rtol=2e-2, atol=1e-2)


def _pages(device, b, n):
    """Lengths of sequences, and tables of their pages."""
    lengths = torch.tensor(tm.lengths(b, n), dtype=torch.int32, device=device)
    count = -(-n // PAGE)
    tables = torch.randperm(b * count).view(b, count).to(torch.int32).to(device)
    return lengths, tables


def _rows(cache, table, length):
    """The rows of a sequence: (heads, length, D)."""
    return cache[table.long()].flatten(0, 1)[:length].movedim(1, 0)


@repository.case(FOLDER + "attention/sinks_attention.py", "attention_sinks_kernel", small=dict(b=2, n=150, h=16, hk=1), production=dict(b=64, n=8192, h=64, hk=4), **NEAR)  # fmt: skip
def decode_with_sinks(file, device, b, n, h, hk, d=64):
    lengths, tables = _pages(device, b, n)
    q = tm.normal(b, h * d, device=device, dtype=BF16)
    k, v = (tm.normal(tables.numel(), PAGE, hk, d, device=device, dtype=BF16) for _ in range(2))
    sinks = tm.normal(h, device=device)

    def want():
        out = []
        for i, length in enumerate(lengths.tolist()):
            mine = (_rows(x, tables[i], length) for x in (k, v))
            y, _ = tm.attention(q[i].view(h, 1, d), *mine, scale=d**-0.5, sink=sinks)
            out.append(y.flatten())
        return torch.stack(out)

    return (
        lambda: file.attention_sinks_triton(q, k, v, sinks, tables, lengths, d**-0.5, -1, h, hk),
        want,
    )


@repository.case(FOLDER + "attention/decode_attention.py", "_paged_mla_fwd_kernel", small=dict(b=2, n=150, h=16), production=dict(b=64, n=4096, h=128), **NEAR)  # fmt: skip
def decode_mla(file, device, b, n, h, d=512, e=64):
    lengths, tables = _pages(device, b, n)
    q = tm.normal(b, h, d + e, device=device, dtype=BF16)
    k, rope = (tm.normal(tables.numel(), PAGE, 1, x, device=device, dtype=BF16) for x in (d, e))
    scale = (d + e) ** -0.5

    def run():
        out = torch.empty(b, h, d, device=device, dtype=BF16)
        file.decode_mla(q, k, rope, out, lengths, scale, PAGE, tables)
        return out

    def want():
        out = []
        for i, length in enumerate(lengths.tolist()):
            v, r = (_rows(x, tables[i], length) for x in (k, rope))
            y, _ = tm.attention(q[i, :, None], torch.cat([v, r], -1), v, scale=scale)
            out.append(y[:, 0])
        return torch.stack(out)

    return run, want


@repository.case(FOLDER + "sample/argmax_softmax_prob.py", "_argmax_prob_kernel", small=dict(m=150, n=20000), production=dict(m=2048, n=151936), rtol=1e-4, atol=1e-6)  # fmt: skip
def most_likely(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=3)

    def want():
        p, ids = x.double().softmax(-1).max(-1)
        return ids, p

    return lambda: file.argmax_softmax_prob_fused(x), want


# On a GPU the product is not rounded before the sum.
@repository.case(FOLDER + "norm/scale_shift.py", "fused_scale_shift_kernel_2", small=dict(m=70, n=200), production=dict(m=16384, n=3072), rtol=2e-2, atol=3e-2)  # fmt: skip
def scaled_and_shifted(file, device, m, n):
    x, shift = (tm.normal(2, m, n, device=device, dtype=BF16) for _ in range(2))
    scale = tm.normal(n, device=device, dtype=BF16)

    def want():
        return x.double() * (0.5 + scale.double()) + shift.double()

    # The first configuration is of 96 rows, which is no power of two.
    def run():
        out = torch.empty_like(x)
        kernel = file.fused_scale_shift_kernel_2.fn
        kernel[(CORES,)](x, scale, shift, out, 2 * m, n, 0.5, block_l=64, block_c=128, kernel_num=CORES)  # fmt: skip
        return out

    return run, want


@repository.case(FOLDER + "kimi_k3/attn_residual.py", "_mix_fused_kernel", small=dict(m=140, b=3, n=256), production=dict(m=8192, b=6, n=4096), **NEAR)  # fmt: skip
def mixed_residuals(file, device, m, b, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    bank = tm.normal(m, b + 1, n, device=device, dtype=BF16)
    w = tm.normal(n, device=device, scale=n**-0.5)

    def run():
        out = torch.empty_like(x)
        strides = x.stride(0), bank.stride(0), bank.stride(1), out.stride(0)
        file._mix_fused_kernel[(CORES,)](x, bank, w, out, m, b, *strides, H=n, EPS=1e-6, NUM_CORES=CORES, NB=8)  # fmt: skip
        return out

    def want():
        rows = torch.cat([bank[:, :b], x[:, None]], 1).double()
        p = (tm.rms_norm(rows, w, 1e-6).sum(-1)).softmax(-1)
        return (p[..., None] * rows).sum(1)

    return run, want
