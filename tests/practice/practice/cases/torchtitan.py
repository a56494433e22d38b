"""torchtitan: rows of experts sent to peers and summed again, MLA's RoPE, SwiGLU with gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository


class _Anything:
    """A base class, or a configuration of one."""

    class Config:
        pass


_NAMES = "distributed.utils", "models.common.attention", "models.common.rope", "models.common.decoder_sharding", "protocols.sharding"  # fmt: skip
repository = Repository(
    "pytorch/torchtitan",
    "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a",
    packages={"torchtitan": "."},
    stand_ins={
        "spmd_types": {},
        **{f"torchtitan.{name}": {} for name in _NAMES},
        "torchtitan.config": {"override": lambda *_, **__: lambda f: f, "derive": None},
        "torchtitan.models.deepseek_v3.model": {"Attention": _Anything},
        "torchtitan.models.common.feed_forward": {"FeedForward": _Anything},
        "torchtitan.models.common.moe": {"GroupedExperts": _Anything},
    },
)
EP = "torchtitan/distributed/minimal_async_ep/kernels.py"
MLA, SWIGLU = (f"torchtitan/overrides/fused_{name}.py" for name in ("mla", "swiglu"))
BF16 = torch.bfloat16
HALF = dict(rtol=1e-2, atol=2e-2)
TOKENS = dict(small=dict(t=20, k=2, n=300), production=dict(t=8192, k=8, n=2048))


@repository.case(EP, "_invert_flat_indices_kernel", small=dict(n=3000), production=dict(n=1 << 20))
def inverted(file, device, n):
    order = torch.randperm(n).to(device)
    return lambda: file.invert_flat_indices_kernel(order, num_rows=n), lambda: order.argsort()


def _routed(device, t, k, n):
    """Rows by expert, the slot of each row and the row of each slot, scores of slots."""
    order = torch.randperm(t * k).to(device)
    rows = tm.normal(t * k, n, device=device, dtype=BF16)
    return rows, order, order.argsort(), torch.rand(t * k).to(device)


@repository.case(EP, "_reduce_topk_slots_kernel", **TOKENS, **HALF)
def summed_slots(file, device, t, k, n):
    rows, _, places, scores = _routed(device, t, k, n)
    run = file.reduce_topk_slots_kernel
    return (
        lambda: run(rows, places, scores, num_tokens=t, top_k=k, scores_are_slot_ordered=True),
        lambda: (rows.double()[places] * scores.double()[:, None]).view(t, k, n).sum(1),
    )


@repository.case(EP, "_expand_topk_grad_kernel, _topk_scores_grad_kernel", **TOKENS, rtol=1e-2, atol=2e-2)  # fmt: skip
def slots_backward(file, device, t, k, n):
    rows, order, _, scores = _routed(device, t, k, n)
    up = tm.normal(t, n, device=device, dtype=BF16)
    ordered = dict(top_k=k, scores_are_slot_ordered=True)

    def run():
        wide = file.expand_topk_grad_kernel(up, order, scores, dtype=BF16, **ordered)
        return wide, file.topk_scores_grad_kernel(rows, up, order, dtype=torch.float32, **ordered)

    def want():
        wide = up.double()[order // k]
        dots = torch.empty(t * k, dtype=torch.float64, device=device)
        dots[order] = (wide * rows.double()).sum(1)
        return wide * scores.double()[order][:, None], dots

    return run, want


@repository.case(EP, "_fill_dispatch_metadata_kernel", small=dict(experts=8, most=300), production=dict(experts=256, most=4096))  # fmt: skip
def destinations(file, device, experts, most, local=4):
    counts = torch.randint(most, (experts,)).to(device)
    firsts = tm.integers(0, 1 << 20, experts, device=device)
    starts = counts.cumsum(0) - counts
    total = int(counts.sum())

    def want():
        expert = torch.repeat_interleave(torch.arange(experts, device=device), counts)
        return expert // local, firsts[expert] + torch.arange(total, device=device) - starts[expert]

    return lambda: file.fill_dispatch_metadata_kernel(
        counts, firsts, starts, num_routed_tokens=total, num_local_experts=local,
        max_tokens_per_segment=most,
    ), want  # fmt: skip


@repository.case(EP, "_copy_rows_to_peer_ptrs_kernel", small=dict(rows=40, n=300, peers=3), production=dict(rows=16384, n=4096, peers=8), not_in={"ptx": "its pointers come from memory, which the machine gives none of"})  # fmt: skip
def rows_to_peers(file, device, rows, n, peers):
    x = tm.normal(rows, n, device=device, dtype=BF16)
    peer, place = tm.integers(0, peers, rows, device=device), torch.randperm(rows).to(device)
    source = torch.randperm(rows).to(device)
    buffers = list(x.new_zeros(peers, rows, n))
    pointers = torch.tensor([b.data_ptr() for b in buffers], device=device)

    def run():
        file.copy_rows_to_peers_kernel(
            x, buffers, peer, place, ep_size=peers, num_rows=rows, num_cols=n, dst_ptrs=pointers,
            block_m=4, src_rows=source,
        )  # fmt: skip
        return torch.stack(buffers)

    def want():
        out = x.new_zeros(peers, rows, n)
        out[peer, place] = x[source]
        return out

    return run, want


def _mla(device, b, t, h, nope, r):
    angles = torch.rand(2 * t, r // 2).to(device) * 6
    cache = torch.stack([angles.cos(), angles.sin()], -1)
    positions = torch.stack([torch.randperm(2 * t)[:t] for _ in range(b)]).to(device)
    return cache, positions, *(f(angles)[positions][:, :, None] for f in (torch.cos, torch.sin))


LATENT = dict(small=dict(b=2, t=5, h=3, nope=48, r=16), production=dict(b=2, t=4096, h=32, nope=128, r=64))  # fmt: skip


@repository.case(MLA, "_fused_q_rope_kernel", **LATENT, **HALF)
def query_rope(file, device, b, t, h, nope, r):
    x = tm.normal(b, t, h, nope + r, device=device, dtype=BF16)
    cache, positions, cos, sin = _mla(device, b, t, h, nope, r)
    run = file._fused_mla_q_rope_op._init_fn

    def want():
        tail = tm.rotated(x[..., nope:], cos, sin, interleaved=True)
        return torch.cat([x[..., :nope].double(), tail], -1)

    return lambda: run(x.clone(), cache, positions, nope, False), want


@repository.case(MLA, "_fused_k_rope_kernel", **LATENT, **HALF)
def key_rope(file, device, b, t, h, nope, r):
    kv = tm.normal(b, t, h, 2 * nope, device=device, dtype=BF16)
    pe = tm.normal(b, t, r, device=device, dtype=BF16)
    cache, positions, cos, sin = _mla(device, b, t, h, nope, r)
    run = file._fused_mla_k_rope_op._init_fn

    def want():
        tail = tm.rotated(pe[:, :, None], cos, sin, interleaved=True).expand(b, t, h, r)
        return torch.cat([kv[..., :nope].double(), tail], -1)

    return lambda: run(kv, pe, cache, positions, nope), want


@repository.case(MLA, "_fused_kv_backward_kernel", **LATENT, rtol=1e-2, atol=5e-2)
def key_backward(file, device, b, t, h, nope, r):
    dk, dv = (tm.normal(b, t, h, n, device=device, dtype=BF16) for n in (nope + r, nope))
    cache, positions, cos, sin = _mla(device, b, t, h, nope, r)
    run = file._fused_mla_kv_backward_op._init_fn

    def want():
        shared = dk[..., nope:].double().sum(2, keepdim=True)
        both = torch.cat([dk[..., :nope], dv], -1)
        return both, tm.rotated(shared, cos, -sin, interleaved=True)[:, :, 0]

    return lambda: run(dk, dv, cache, positions, nope, r), want


@repository.case(SWIGLU, "_silu_and_mul_forward_kernel, _silu_and_mul_backward_kernel", small=dict(m=30, n=300), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def swiglu(file, device, m, n):
    gate, up, grad = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(3))

    def run():
        out = file.silu_and_mul_forward_kernel(gate, up)
        return [out, *file.silu_and_mul_backward_kernel(grad, gate, up)]

    return run, lambda: tm.with_gradients(lambda a, b: F.silu(a) * b, grad, gate, up, exact=True)
