"""prime-rl: quantisation to fp8 by rows, columns and blocks of groups, scores of an indexer."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "PrimeIntellect-ai/prime-rl",
    "559b44772e471d1538537b8805cc77f3824a5e64",
)
FOLDER = "src/prime_rl/trainer/models/kernels/"
BF16 = torch.bfloat16


@repository.case(FOLDER + "fp8_indexer.py", "_per_token_group_quant_fp8, _triton_fp8_indexer_kernel", rtol=0, atol=0, share=2e-2, small=dict(parts=2, n=100, h=4, d=64, chosen=20), production=dict(parts=2, n=4096, h=32, d=128, chosen=2048))  # fmt: skip
def indexer(file, device, parts, n, h, d, chosen):
    lengths = tm.lengths(parts, n)
    rows = sum(lengths)
    q = tm.normal(rows, h, d, device=device, dtype=BF16)
    k = tm.normal(rows, d, device=device, dtype=BF16)
    w = torch.rand(rows, h).to(BF16).to(device)
    first = torch.cat([torch.full((n,), sum(lengths[:i])) for i, n in enumerate(lengths)])
    first, end = (x.to(torch.int32).to(device) for x in (first, torch.arange(1, rows + 1)))

    def run():
        ids = file.fp8_indexer(q, k, w, first, end, chosen).long()
        return torch.zeros(rows, rows + 1, device=device).scatter_(1, ids, 1)[:, :-1]

    def rounded(x):
        scale = (x.float().abs().amax(-1, keepdim=True) / tm.FP8_MAX).log2().ceil().exp2()
        return (x.float() / scale).to(tm.FP8).double() * scale.double()

    def want():
        keys, total = rounded(k), torch.zeros(rows, rows, device=device, dtype=torch.float64)
        for head in range(h):
            total += (rounded(q[:, head]) @ keys.T).relu() * w[:, head, None].double()
        at = torch.arange(rows, device=device)
        hidden = (at < first[:, None]) | (at >= end[:, None])
        total.masked_fill_(hidden, -torch.inf)
        ids = total.topk(min(chosen, rows), 1).indices
        return torch.zeros_like(total).scatter_(1, ids, 1).masked_fill(hidden, 0)

    return run, want


def _rounded(x, amax, powers):
    scale = (amax / tm.FP8_MAX).clamp(min=1e-4)
    scale = scale.log2().ceil().exp2() if powers else scale
    return (x / scale).to(tm.FP8), scale


@repository.case(FOLDER + "fp8_utils.py", "_grouped_per_block_fp8_kernel", rtol=1e-5, atol=1e-5, share=1e-3, small=dict(m=256, n=300), production=dict(m=7168, n=4096))  # fmt: skip
def transposed_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def want():
        padded = torch.nn.functional.pad(x.float(), (0, -n % 128, 0, -m % 128))
        blocks = padded.unflatten(0, (-1, 128)).unflatten(2, (-1, 128))
        y, scale = _rounded(blocks, blocks.abs().amax((1, 3), keepdim=True), False)
        y = y.flatten(0, 1).flatten(1)[:m, :n].T
        return y, scale[:, 0, :, 0].T

    return lambda: file.per_block_cast_to_fp8_tp_triton(x, False), want


@repository.case(FOLDER + "fp8_utils.py", "_build_grouped_layout_kernel, _grouped_per_token_fp8_kernel, _unpack_grouped_rows_kernel", rtol=1e-5, atol=1e-5, share=1e-3, small=dict(groups=3, m=150, n=256), production=dict(groups=64, m=512, n=4096))  # fmt: skip
def rows_of_groups(file, device, groups, m, n):
    lengths = tm.lengths(groups, m)
    ends = tm.starts(lengths, device)[1:]
    x = tm.normal(sum(lengths), n, device=device, dtype=BF16)

    def run():
        layout = file.build_grouped_layout(ends)
        total, padded, of_row, of_block, _, starts, counts, blocks = layout
        y, scale = file.grouped_per_token_cast_to_fp8_triton(
            x, padded, of_block, starts, counts, blocks, True
        )
        rows = (file.unpack_rows_triton(z, total, of_block, starts, counts, blocks) for z in (y.view(torch.int8), scale))  # fmt: skip
        values, scales = rows
        return of_row, values.view(tm.FP8), scales

    def want():
        of_row = [torch.full((-(-k // 128) * 128,), -1) for k in lengths]
        for i, (part, k) in enumerate(zip(of_row, lengths, strict=True)):
            part[:k] = i
        parts = x.float().unflatten(1, (-1, 128))
        y, scale = _rounded(parts, parts.abs().amax(-1, keepdim=True), True)
        return torch.cat(of_row).to(device), y.flatten(1), scale[..., 0]

    return run, want


@repository.case(FOLDER + "fp8_utils.py", "_build_grouped_layout_kernel, _grouped_per_channel_fp8_kernel", rtol=1e-5, atol=1e-5, share=1e-3, small=dict(groups=3, m=150, n=200), production=dict(groups=64, m=512, n=4096))  # fmt: skip
def columns_of_groups(file, device, groups, m, n):
    lengths = tm.lengths(groups, m)
    ends = tm.starts(lengths, device)[1:]
    x = tm.normal(sum(lengths), n, device=device, dtype=BF16)

    def run():
        _, padded, _, of_block, sizes, starts, counts, blocks = file.build_grouped_layout(ends)
        return file.grouped_per_channel_cast_to_fp8_sm90_kmajor_triton(
            x, padded, of_block, starts, counts, sizes, blocks, False
        )

    def want():
        values, scales = [], []
        for part in x.float().split(lengths):
            part = torch.nn.functional.pad(part, (0, 0, 0, -len(part) % 128))
            y, scale = _rounded(part.view(-1, 128, n), part.view(-1, 128, n).abs().amax(1, keepdim=True), False)  # fmt: skip
            values.append(y.flatten(0, 1).T.flatten())
            scales.append(scale[:, 0].T)
        return torch.cat(values), torch.cat(scales, 1)

    return run, want
