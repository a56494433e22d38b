"""Diffulex, for language models by diffusion: attention by blocks of tokens to pages of a cache and
to new tokens, routing to experts, the most likely tokens, and a norm."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "SJTU-DENG-Lab/Diffulex",
    "184ba97cc6a9c540acceaa6ec3311394b23932a2",
    packages={"diffulex_kernel": ""},
    stand_ins={"diffulex.attention.metadata": {}},
)
FOLDER = "diffulex_kernel/python/"
I32 = torch.int32


@repository.case(FOLDER + "chunked_prefill_triton.py", "_chunked_prefill_attn_unified_kernel", small=dict(b=3, heads=4, kv_heads=2, d=48, context=200, new=70), production=dict(b=64, heads=32, kv_heads=8, d=128, context=4096, new=128), rtol=2e-2, atol=1e-2)  # fmt: skip
def attention(file, device, b, heads, kv_heads, d, context, new):
    """A token sees the cache and the new tokens up to the end of its block of 32."""
    page, block = 16, 32
    contexts, lengths = tm.lengths(b, context), tm.lengths(b, new)
    contexts[-1] = 0
    pages = [-(-n // page) for n in contexts]
    total = sum(lengths)
    q, k, v = (
        tm.normal(total, h, d, device=device, dtype=torch.bfloat16)
        for h in (heads, kv_heads, kv_heads)
    )
    k_cache, v_cache = (
        tm.normal(sum(pages), page, kv_heads, d, device=device, dtype=torch.bfloat16)
        for _ in range(2)
    )
    table = torch.full((b, max(pages)), -1, dtype=I32)
    for row, ids in enumerate(torch.randperm(sum(pages)).split(pages)):
        table[row, : len(ids)] = ids.to(I32)
    starts = tm.starts(lengths, device)
    none = torch.zeros(b, dtype=I32, device=device)
    metadata = SimpleNamespace(
        page_tables=table.to(device), status_table=none + 1, cu_seqlens_q=starts,
        context_lens=torch.tensor(contexts, dtype=I32, device=device), valid_slices=starts[1:],
        prefix_lens=none, padded_prefix_lens=none, max_seqlen_q=max(lengths), block_size=block,
        is_block_causal=True, is_prefix_full=False,
    )  # fmt: skip

    def want():
        out = []
        parts = zip(q.split(lengths), k.split(lengths), v.split(lengths), strict=True)
        for row, (queries, keys, values) in enumerate(parts):
            ids = table[row, : pages[row]].long().to(device)
            before = (x[ids].flatten(0, 1)[: contexts[row]] for x in (k_cache, v_cache))
            keys, values = (
                torch.cat(pair).transpose(0, 1) for pair in zip(before, (keys, values), strict=True)
            )
            place = torch.arange(keys.shape[1], device=device) // block
            bias = torch.zeros(len(queries), len(place), dtype=torch.float64, device=device)
            bias.masked_fill_(place[contexts[row] :, None] < place, -torch.inf)
            out.append(tm.attention(queries.transpose(0, 1), keys, values, bias=bias)[0])
        return torch.cat(out, 1).transpose(0, 1)

    return (
        lambda: file._run_chunked_prefill_attn_unified_kernel(q, k, v, k_cache, v_cache, metadata),
        want,
    )


@repository.case(FOLDER + "fused_topk_triton.py", "_fused_topk", small=dict(m=20, n=60, k=4), production=dict(m=65536, n=128, k=8))  # fmt: skip
def routing(file, device, m, n, k):
    """Compared are the logits of the chosen experts, and their weights."""
    logits = tm.normal(m, n, device=device)

    def run():
        weights, ids = file.fused_topk(logits, k, True, "softmax")
        return logits.gather(1, ids.long()), weights

    def want():
        values = logits.double().topk(k).values
        return values, values.softmax(-1)

    return run, want


@repository.case(FOLDER + "fused_topk_triton.py", "_fused_group_limited_topk", small=dict(m=20, n=64, groups=8, k=6), production=dict(m=32768, n=256, groups=8, k=8))  # fmt: skip
def routing_in_groups(file, device, m, n, groups, k):
    """Of the groups, half are left: those with the largest sums of two scores."""
    logits, bias = tm.normal(m, n, device=device), tm.normal(n, device=device, scale=0.1)

    def run():
        weights, ids = file.fused_group_limited_topk(
            logits, bias, k, groups, groups // 2, 2.5, True
        )
        return logits.gather(1, ids.long()), weights

    def want():
        scores = logits.double().sigmoid()
        routed = (scores + bias.double()).unflatten(1, (groups, -1))
        chosen = routed.topk(2).values.sum(-1).topk(groups // 2).indices
        left = torch.zeros(m, groups, dtype=torch.bool, device=device).scatter(1, chosen, True)
        ids = routed.masked_fill(~left[..., None], -torch.inf).flatten(1).topk(k).indices
        weights = scores.gather(1, ids)
        return logits.gather(1, ids), 2.5 * weights / weights.sum(-1, keepdim=True)

    return run, want


@repository.case(FOLDER + "sampler_kernels.py", "_greedy_confidence_stage1, _greedy_confidence_stage2", small=dict(m=6, n=5000), production=dict(m=1024, n=151936))  # fmt: skip
def most_likely(file, device, m, n):
    """The last tokens do not count, and one in between is forbidden: the largest of a row."""
    logits = tm.normal(m, n, device=device, scale=3.0)
    limit, forbidden = n - 1500, int(logits[0, : n - 1500].argmax())

    def want():
        seen = logits[:, :limit].double()
        seen[:, forbidden] = -torch.inf
        best = seen.softmax(-1).max(-1)
        return best.values, best.indices, best.values

    return (
        lambda: file.greedy_confidence(logits, vocab_limit=limit, forbidden_token_id=forbidden),
        want,
    )


@repository.case(FOLDER + "layernorm_kernels.py", "_rms_norm_add_kernel", small=dict(m=20, n=700), production=dict(m=16384, n=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def norm_and_residual(file, device, m, n):
    x, residual, weight = (
        tm.normal(*shape, device=device, dtype=torch.bfloat16) for shape in ((m, n), (m, n), (n,))
    )
    return (
        lambda: file.rms_norm_add(x, residual, weight, 1e-6),
        lambda: tm.rms_norm(x, weight, 1e-6) + residual.double(),
    )
