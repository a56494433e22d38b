"""ATOM: norms, activations, rotations, choices of experts and tokens, attention to chosen tokens."""

from __future__ import annotations

from types import SimpleNamespace

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ROCm/ATOM",
    "ffdf3bb5ddf8a15a64d521a2eeb3bc7438f9ac21",
    stand_ins={"aiter.jit.utils.torch_guard": {}, "atom.utils.decorators": {}},
)
OPS = "atom/model_ops/"
BF16 = torch.bfloat16


@repository.case(OPS + "triton_gemma_rmsnorm.py", "_gemma_rmsnorm_kernel", rtol=1e-2, atol=2e-2, small=dict(m=400, n=120), production=dict(m=8192, n=5376))  # fmt: skip
def gemma_norm(file, device, m, n):
    x, residual = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    weight = tm.normal(n, device=device, dtype=BF16, scale=0.1)

    def want():
        total = (x + residual).double()
        return tm.rms_norm(total, weight.double() + 1, 1e-6), total

    return lambda: file.gemma_rmsnorm_triton(x, weight, 1e-6, residual), want


@repository.case(OPS + "swiglu_oai.py", "_swiglu_oai_kernel", rtol=1e-2, atol=1e-2, small=dict(m=20, n=600), production=dict(m=8192, n=12288))  # fmt: skip
def swiglu_with_limit(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16, scale=4.0)

    def want():
        gate, up = x.double().chunk(2, -1)
        gate, up = gate.clamp(max=7.0), up.clamp(-7.0, 7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up + 1)

    return lambda: file.swiglu_oai_split(x, 1.702, 1.0, 7.0), want


@repository.case(OPS + "lm_head_argmax.py", "_lm_head_argmax_pack_kernel", rtol=0, atol=0, small=dict(m=20, n=5000), production=dict(m=512, n=129280))  # fmt: skip
def best_tokens(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)  # with equal ones: the first one is right

    def want():
        best = x.double().max(1).values
        first = (x.double() == best[:, None]).int().argmax(1)
        return torch.stack([best, (first + 3000).double()], 1)

    return lambda: file.lm_head_argmax_pack(x, 3000), want


@repository.case(OPS + "triton_hash_topk.py", "_hash_topk_kernel", small=dict(n=50, vocab=300, experts=40, k=6), production=dict(n=131072, vocab=129280, experts=256, k=6))  # fmt: skip
def experts_of_tokens(file, device, n, vocab, experts, k):
    ids = tm.integers(-5, vocab + 5, n, device=device)
    logits = tm.normal(n, experts, device=device, dtype=BF16)
    table = tm.integers(0, experts, vocab, k, device=device, dtype=torch.int32)

    def run():
        chosen = torch.empty(n, k, device=device, dtype=torch.int32)
        weights = torch.empty(n, k, device=device)
        file.hash_topk_triton(ids, logits, table, True, 1.5, chosen, weights)
        return chosen, weights

    def want():
        chosen = table[ids.clamp(0, vocab - 1)]
        weights = F.softplus(logits.double().gather(1, chosen.long())).sqrt()
        return chosen, weights / weights.sum(1, keepdim=True) * 1.5

    return run, want


@repository.case(OPS + "v4_kernels/inverse_rope.py", "_inverse_rope_gptj_kernel", rtol=1e-2, atol=2e-2, small=dict(n=50, h=3, d=80, turned=32), production=dict(n=8192, h=64, d=512, turned=64))  # fmt: skip
def turned_back(file, device, n, h, d, turned):
    x = tm.normal(n, h, d, device=device, dtype=BF16)
    angle = torch.rand(2 * n, 1, 1, turned // 2).to(device) * 6
    cos, sin = angle.cos().to(BF16), angle.sin().to(BF16)
    positions = tm.integers(0, 2 * n, n, device=device)

    def run():
        out = x.clone()
        file.inverse_rope_inplace(out, cos, sin, positions, turned)
        return out

    def want():
        out, (c, s) = x.double(), (t[positions, 0].double() for t in (cos, sin))
        out[..., -turned:] = tm.rotated(x[..., -turned:], c, -s, interleaved=True)
        return out

    return run, want


@repository.case(OPS + "sparse_attn_v4.py", "_sparse_attn_triton_kernel", rtol=2e-2, atol=2e-2, small=dict(b=2, m=10, h=20, n=60, d=64, chosen=40), production=dict(b=1, m=1024, h=64, n=8192, d=512, chosen=640))  # fmt: skip
def chosen_tokens(file, device, b, m, h, n, d, chosen):
    q, kv = tm.normal(b, m, h, d, device=device, dtype=BF16), tm.normal(b, n, d, device=device, dtype=BF16)  # fmt: skip
    sink = tm.normal(h, device=device)
    ids = torch.rand(b, m, n).argsort(-1)[..., :chosen] if n < 1000 else torch.randint(0, n, (b, m, chosen))  # fmt: skip
    ids = ids.masked_fill(torch.rand(b, m, chosen) < 0.1, -1).to(torch.int32).to(device)

    def want():
        rows = torch.stack([x[i.clamp(min=0)] for x, i in zip(kv, ids.long(), strict=True)])
        scores = q.double() @ rows.double().transpose(-1, -2) * d**-0.5
        scores = scores.masked_fill(ids[:, :, None] < 0, -torch.inf)
        column = sink.double()[None, None, :, None].expand(b, m, h, 1)
        p = torch.cat([scores, column], -1).softmax(-1)[..., :-1]
        return p @ rows.double()

    return lambda: file._sparse_attn_triton(q, kv, sink, ids, d**-0.5), want


@repository.case(OPS + "triton_mrope.py", "_mrope_qk_tiled_kernel", rtol=1e-2, atol=2e-2, small=dict(n=150, hq=3, hk=1), production=dict(n=16384, hq=16, hk=2))  # fmt: skip
def rotation_in_three_directions(file, device, n, hq, hk):
    d, turned, sections = 256, 64, [11, 11, 10]
    q, k = (tm.normal(n, h * d, device=device, dtype=BF16) for h in (hq, hk))
    positions = tm.integers(0, n, 3, n, device=device)
    angle = torch.rand(n, turned // 2).to(device) * 6
    layer = SimpleNamespace(
        mrope_section=sections, mrope_interleaved=True, rotary_dim=turned, is_neox_style=True,
        cos_cache=angle.cos(), sin_cache=angle.sin(),
    )  # fmt: skip

    def want():
        at = torch.arange(turned // 2, device=device)
        direction = (at % 3) * (at < torch.tensor([0, *sections[1:]], device=device)[at % 3] * 3)
        angles = angle[positions[direction].T, at]
        results = []
        for x, h in ((q, hq), (k, hk)):
            out = x.double().view(n, h, d).clone()
            out[..., :turned] = tm.rotated(
                out[..., :turned], angles.cos()[:, None], angles.sin()[:, None]
            )
            results.append(out.flatten(1))
        return results

    return lambda: file.try_mrope_qk_fused(layer, positions, q, k, hq, hk, d), want


@repository.case(OPS + "minimax_m3/index_topk.py", "_index_block_score_kernel, _topk_index_kernel", rtol=0, atol=0, share=1e-2, small=dict(b=2, n=100, before=900, h=2, d=64, chosen=4), production=dict(b=2, n=4096, before=12288, h=4, d=128, chosen=16))  # fmt: skip
def best_blocks(file, device, b, n, before, h, d, chosen):
    size, lengths, prefixes = 128, tm.lengths(b, n), tm.lengths(b, before)
    starts = tm.starts(lengths, device)
    q = tm.normal(sum(lengths), h, d, device=device, dtype=BF16)
    blocks = -(-(n + before) // size)
    cache = tm.normal(b * blocks, size, d, device=device, dtype=BF16)
    table = torch.randperm(b * blocks).view(b, blocks).to(torch.int32).to(device)
    prefix, count = (torch.tensor(x).to(torch.int32).to(device) for x in (prefixes, lengths))

    def run():
        ids = file.minimax_m3_index_topk(
            q, cache, table, starts, prefix + count, prefix, n, n + before, chosen, 1, 1, h, d**-0.5
        )
        seen = torch.zeros(h, sum(lengths), blocks + 1, device=device)
        return seen.scatter_(-1, ids.long() % (blocks + 1), 1)[..., :-1]

    def want():
        parts = []
        for i, (x, first) in enumerate(zip(q.split(lengths), prefixes, strict=True)):
            keys = cache[table[i].long()].flatten(0, 1).double()
            at = torch.arange(len(x), device=device) + first
            hidden = torch.arange(len(keys), device=device) > at[:, None]
            best = torch.empty(h, len(x), blocks, device=device, dtype=torch.float64)
            for head in range(h):
                scores = (x[:, head].double() @ keys.T).masked_fill(hidden, -torch.inf)
                best[head] = scores.unflatten(1, (-1, size)).amax(-1)
            best[..., 0] = torch.inf
            best.scatter_(-1, (at // size)[None, :, None].expand(h, -1, 1), torch.inf)
            ids = best.topk(chosen, -1).indices
            parts.append(torch.zeros_like(best).scatter_(-1, ids, 1) * (best > -torch.inf))
        return torch.cat(parts, 1)

    return run, want


@repository.case(OPS + "split_chunk.py", "fused_split_chunk_kernel", rtol=0, atol=0, small=dict(n=20, hq=2, hv=4, d=64), production=dict(n=16384, hq=16, hv=32, d=128))  # fmt: skip
def split(file, device, n, hq, hv, d):
    sizes = (2 * hq + hv) * d, hv * d
    x = tm.normal(n, sum(sizes), device=device, dtype=BF16)
    gates = tm.normal(n, 2 * hv, device=device, dtype=BF16)

    def want():
        (qkv, z), (b, a) = x.split(sizes, 1), gates.chunk(2, 1)
        z = z.view(n, hv, d)
        return qkv, z, b, a, torch.zeros_like(z)

    return lambda: file.fused_split_chunk_zeros(x, gates, *sizes, d, hv), want
