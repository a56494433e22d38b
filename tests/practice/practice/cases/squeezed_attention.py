"""SqueezedAttention: scores of clusters of keys, then attention over the keys that were chosen."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository("SqueezeAILab/SqueezedAttention", "4a50c64eca2f20232a4e998d754d030ce3a7f6e6", stand_ins=PYTEST)  # fmt: skip
FILE = "squeezedattention/kernels.py"
F16, BLOCK = torch.float16, 64


@repository.case(FILE, "compact_indices_kernel", small=dict(h=3, n=300), production=dict(h=32, n=131072))  # fmt: skip
def compacted(file, device, h, n, block=1024):
    mask = (torch.rand(h, n) < 0.3).to(device)

    def run():
        out = torch.full((h, n), n, dtype=torch.int32, device=device)
        counts = out.new_zeros(h)
        file.compact_indices_kernel[1, h, -(-n // block)](mask, out, counts, n, h, BLOCK_SIZE=block)
        return out.sort(1).values, counts

    index = torch.arange(n, device=device)
    return run, lambda: (torch.where(mask, index, n).sort(1).values, mask.sum(1))


@repository.case(FILE, "_fwd_centroid_simple_kernel_qk", small=dict(h=2, q=100, n=150, d=64), production=dict(h=32, q=2048, n=4096, d=128), rtol=3e-2, atol=3e-3)  # fmt: skip
def centroids(file, device, h, q, n, d):
    x, y = (tm.normal(1, h, m, d, device=device, dtype=F16) for m in (q, n))
    counts = tm.integers(1, 9, 1, h, n, device=device, dtype=torch.int32)
    blocks = -(-q // BLOCK)

    def run():
        out = torch.zeros(1, h, n, blocks, device=device)
        file._fwd_centroid_simple_kernel_qk[blocks, h](
            x, y, counts, None, d**-0.5, None, out, 0.0, *x.stride(), *y.stride(), 0, 0, 0, 0,
            *out.stride(), 1, h, q, n, n, BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_DMODEL=d,
        )  # fmt: skip
        return out

    def want():
        e = (x.double() @ y.double().mT * d**-0.5).exp()
        p = e / (e * counts[:, :, None]).sum(-1, keepdim=True)
        return torch.stack([part.sum(2) for part in p.split(BLOCK, 2)], -1)

    return run, want


def _causal(file, q, k, v, sums, causal):
    _, h, m, d = q.shape
    out = torch.empty(q.shape, device=q.device)
    file._fwd_kernel_causal[-(-m // BLOCK), h](
        q, k, v, d**-0.5, out, *q.stride(), *k.stride(), *v.stride(), *out.stride(), *sums, 1, h,
        m, k.shape[2], BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_DMODEL=d, causal=causal,
    )  # fmt: skip
    return out


@repository.case(FILE, "_fwd_kernel_causal", small=dict(h=2, n=150, d=64), production=dict(h=32, n=4096, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def causal(file, device, h, n, d):
    q, k, v = (tm.normal(1, h, n, d, device=device, dtype=F16) for _ in range(3))
    sums = torch.empty(2, h, n, device=device)
    return lambda: _causal(file, q, k, v, sums, True), lambda: tm.attention(q, k, v, causal=True)[0]


@repository.case(FILE, "_fwd_kernel_qk, _reduce_kernel_qk", small=dict(h=3, q=100, n=300, d=64, part=128), production=dict(h=32, q=512, n=16384, d=128, part=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def chosen_keys(file, device, h, q, n, d, part):
    """Beside the queries' own keys each head takes some of a shared context's, in parts."""
    x = tm.normal(1, h, q, d, device=device, dtype=F16)
    own, far = (tm.normal(2, 1, h, m, d, device=device, dtype=F16) for m in (q, n))
    lengths = tm.lengths(h, n // 2)
    chosen = torch.rand(h, n).argsort()[:, : n // 2].to(torch.int32).contiguous().to(device)
    counts = [-(-length // part) for length in lengths]
    starts, blocks = tm.starts(counts, device)[:-1], sum(counts)
    sizes = torch.tensor(lengths, dtype=torch.int32, device=device)
    shape = dict(BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_KV=part, BLOCK_DMODEL=d)

    def run():
        sums = torch.empty(2, h, q, device=device)
        out = _causal(file, x, *own, sums, True)
        parts = torch.empty(1, blocks, q, d, device=device)
        part_sums = torch.empty(2, blocks, q, device=device)
        rows = -(-q // BLOCK)
        file._fwd_kernel_qk[rows, blocks](
            x, *far, chosen, d**-0.5, parts, *x.stride(), *far[0].stride(), *far[1].stride(),
            0, *chosen.stride(), *parts.stride(), starts, sizes, *part_sums, 1, h, q, n, n,
            NUMHEADS=h, **shape,
        )  # fmt: skip
        file._reduce_kernel_qk[rows, h](
            parts, out, *parts.stride(), *out.stride(), starts, sizes, *part_sums, *sums, q, **shape
        )
        return out

    def want():
        outs = []
        for i, length in enumerate(lengths):
            taken = far[:, 0, i, chosen[i, :length].long()]
            keys, values = torch.cat([own[:, 0, i], taken], 1)
            bias = torch.zeros(q, q + length, device=device)
            bias[:, :q] = torch.full((q, q), -torch.inf).triu(1).to(device)
            outs.append(tm.attention(x[0, i][None], keys[None], values[None], bias=bias)[0])
        return torch.stack(outs, 1)

    return run, want
