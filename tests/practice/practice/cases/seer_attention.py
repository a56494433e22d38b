"""SeerAttention: pools over blocks of sequences, attention that pools its own scores, sparse decode."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("microsoft/SeerAttention", "aba03e3f2caefd0ccd21e576670aa830b748c84e", packages={"seer_attn": "."}, stand_ins={"einops": {}})  # fmt: skip
VARLEN = "seer_attn/kernels/varlen/"
BF16, BLOCK = torch.bfloat16, 64


def _pool(call, pool):
    def build(file, device, b, n, h, d):
        lengths = tm.lengths(b, n)
        x, starts = tm.normal(sum(lengths), h, d, device=device), tm.starts(lengths, device)
        blocks = -(-n // BLOCK)
        up = tm.normal(b, h, blocks, d, device=device)

        def exact(x):
            out = []
            for rows in x.split(lengths):
                pooled = [pool(part) for part in rows.split(BLOCK)]
                pooled += [torch.zeros_like(pooled[0])] * (blocks - len(pooled))
                out.append(torch.stack(pooled, 1))
            return torch.stack(out)

        return (
            lambda: tm.with_gradients(lambda x: getattr(file, call)(x, starts, n, BLOCK), up, x),
            lambda: tm.with_gradients(exact, up.cpu(), x.cpu(), exact=True),
        )

    return build


for _call, _kernel, _rule in (
    ("maxpool_varlen", "_maxpool2d", lambda part: part.amax(0)),
    ("avgpool_varlen", "_avgpool2d", lambda part: part.mean(0)),
):
    repository.case(f"{VARLEN}pooling_varlen.py", f"{_kernel}_forward_kernel, {_kernel}_backward_kernel", small=dict(b=3, n=150, h=2, d=32), production=dict(b=8, n=8192, h=8, d=128), rtol=1e-4, name=_call.removesuffix("_varlen"))(_pool(_call, _rule))  # fmt: skip


@repository.case(f"{VARLEN}attn_pooling_qkv_varlen_1d.py", "_fwd_kernel_varlen, _fwd_kernel_inner", small=dict(b=2, n=150, h=4, hk=2, d=64), production=dict(b=2, n=4096, h=32, hk=8, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def pooled_scores(file, device, b, n, h, hk, d):
    lengths = tm.lengths(b, n)
    total, starts = sum(lengths), tm.starts(lengths, device)
    q = tm.normal(total, h, d, device=device, dtype=BF16)
    k, v = (tm.normal(total, hk, d, device=device, dtype=BF16) for _ in range(2))

    def want():
        outs, pools = [], torch.zeros(b, h, n, -(-n // BLOCK), dtype=torch.float64)
        parts = (x.cpu().double().split(lengths) for x in (q, k, v))
        for i, (q_, k_, v_) in enumerate(zip(*parts)):
            q_, k_, v_ = (x.transpose(0, 1) for x in (q_, k_, v_))
            k_, v_ = (x.repeat_interleave(h // hk, 0) for x in (k_, v_))
            s = q_ @ k_.mT * d**-0.5
            p = s.masked_fill(torch.ones(s.shape[1:]).triu(1).bool(), -math.inf).softmax(-1)
            outs.append((p @ v_).transpose(0, 1))
            for j, part in enumerate(p.split(BLOCK, -1)):
                pools[i, :, : p.shape[1], j] = part.amax(-1)
        return torch.cat(outs), pools

    return lambda: file.attn_pooling_qkv_varlen(q, k, v, starts, n, d**-0.5, BLOCK), want


@repository.case(f"{VARLEN}block_sparse_flash_decode_varlen_indice.py", "_split_kernel, _merge_kernel", small=dict(b=2, n=320, h=8, hk=2, d=64, blocks=3), production=dict(b=8, n=8192, h=32, hk=8, d=128, blocks=32), rtol=2e-2, atol=2e-2)  # fmt: skip
def sparse_decode(file, device, b, n, h, hk, d, blocks):
    lengths = torch.tensor(tm.lengths(b, n, n // 2), dtype=torch.int32)
    q = tm.normal(b, h, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(b, n, hk, d, device=device, dtype=torch.float16) for _ in range(2))
    chosen = torch.stack([torch.stack([torch.randperm(-(-int(x) // BLOCK))[:blocks] for _ in range(hk)]) for x in lengths])  # fmt: skip
    if chosen.shape[-1] > 2:
        chosen[0, 0, 1] = -1  # not this one

    def want():
        seen = torch.zeros(b, hk, n // BLOCK + 1)
        seen.scatter_(2, torch.where(chosen < 0, n // BLOCK, chosen), 1.0)
        seen = seen[..., :-1].repeat_interleave(BLOCK, -1).bool() & (torch.arange(n) < lengths[:, None, None])  # fmt: skip
        bias = torch.where(seen, 0.0, -math.inf).repeat_interleave(h // hk, 1)[:, :, None]
        keys, values = (x.cpu().transpose(1, 2) for x in (k, v))
        return tm.attention(q.cpu()[:, :, None], keys, values, bias=bias)[0][:, :, 0]

    return (
        lambda: file.block_sparse_flash_decode_gqa_indice(q, k, v, lengths.to(device), n, blocks, chosen.to(torch.int32).to(device), BLOCK),
        want,
    )  # fmt: skip
