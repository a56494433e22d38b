"""axolotl: attention over compressed and chosen keys, hyper-connections, losses, SinkGD, DoRA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository


def _register(name: str, mutates_args: Any = ()) -> Callable[[Any], Any]:
    """A function in place of an op of torch, which has to be known to the dispatcher."""

    def decorate(function: Any) -> Any:
        function.register_fake = lambda fake: fake
        return function

    return decorate


repository = Repository(
    "axolotl-ai-cloud/axolotl",
    "067b021c8b87a9e5e380b9173c704cf7340e30f5",
    packages={"axolotl": "src"},
    stand_ins={
        "axolotl.kernels.op_registry": {"register_kernel_op": _register},
        "axolotl.kernels.quantize": {"dequantize": lambda w, _: w},
    },
)
LIBS = "src/axolotl/integrations/kernels/libs/"
BF16 = torch.bfloat16


def _gradients(function, right, inputs, upstream):
    """The result of the repository's function and its gradients, and what is right."""
    return (
        lambda: tm.with_gradients(function, upstream, *inputs),
        lambda: tm.with_gradients(right, upstream.double(), *inputs, exact=True),
    )


def _with_sink(scores, sinks, values):
    column = sinks[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ values


def _windowed(s, window, device):
    i = torch.arange(s, device=device)
    return (i[None] <= i[:, None]) & (i[:, None] - i[None] < window)


def _csa(backward):
    def build(file, device, b, h, s, t, d, window):
        q, up = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(2))
        near, far = (tm.normal(b, n, d, device=device, dtype=BF16) for n in (s, t))
        sinks, scale = tm.normal(h, device=device, dtype=BF16), d**-0.5
        seen = torch.rand(b, s, t) < 0.5
        bias = torch.zeros(b, s, t).masked_fill(~seen, float("-inf")).to(BF16).to(device)

        def right(q, near, far, sinks):
            x = (q @ near[:, None].transpose(-1, -2)) * scale
            x = x.masked_fill(~_windowed(s, window, device), float("-inf"))
            y = (q @ far[:, None].transpose(-1, -2)) * scale + bias.double()[:, None]
            return _with_sink(torch.cat([x, y], -1), sinks, torch.cat([near, far], 1)[:, None])

        def function(q, near, far, sinks):
            return file._CSAAttn.apply(q, near, far, bias, sinks, scale, window)

        inputs = q, near, far, sinks
        if backward:
            return _gradients(function, right, inputs, up)
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))

    kernels = "_csa_fwd_kernel" + ", _csa_bwd_dq_kernel, _csa_bwd_dkv_kernel" * backward
    repository.case(
        LIBS + "dsv4/attention_csa.py", kernels, rtol=3e-2, atol=0.15 if backward else 3e-2,
        name="compressed" + "_gradient" * backward,
        small=dict(b=1, h=2, s=70, t=20, d=64, window=16),
        production=dict(b=1, h=16, s=2048, t=512, d=512, window=128),
    )(build)  # fmt: skip


def _chosen(backward):
    def build(file, device, b, h, s, t, k, d, window):
        q, up = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(2))
        near, far = (tm.normal(b, n, d, device=device, dtype=BF16) for n in (s, t))
        sinks, scale = tm.normal(h, device=device, dtype=BF16), d**-0.5
        ids = torch.rand(b, s, t).argsort(-1)[..., :k]
        ids = ids.masked_fill(torch.rand(b, s, k) < 0.1, -1).to(torch.int32).to(device)

        def right(q, near, far, sinks):
            x = (q @ near[:, None].transpose(-1, -2)) * scale
            x = x.masked_fill(~_windowed(s, window, device), float("-inf"))
            seen = torch.zeros(b, s, t + 1, dtype=torch.bool, device=device)
            seen = seen.scatter(2, torch.where(ids < 0, t, ids).long(), True)[..., :t]
            y = (q @ far[:, None].transpose(-1, -2)) * scale
            y = y.masked_fill(~seen[:, None], float("-inf"))
            return _with_sink(torch.cat([x, y], -1), sinks, torch.cat([near, far], 1)[:, None])

        def function(q, near, far, sinks):
            return file._CSATopK.apply(q, near, far, ids, sinks, scale, window)

        inputs = q, near, far, sinks
        if backward:
            return _gradients(function, right, inputs, up)
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))

    kernels = "_gather_fwd_kernel" + ", _gather_bwd_kernel" * backward
    repository.case(
        LIBS + "dsv4/attention_gather.py", kernels, rtol=3e-2, atol=0.15 if backward else 3e-2,
        name="gathered" + "_gradient" * backward,
        small=dict(b=1, h=20, s=40, t=50, k=20, d=64, window=16),
        production=dict(b=1, h=64, s=1024, t=1024, k=256, d=512, window=128),
    )(build)  # fmt: skip


for _backward in (False, True):
    _csa(_backward)
    _chosen(_backward)


def _sparse(backward):
    def build(file, device, b, h, s, d, k):
        q, keys, values, up = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(4))
        ids = torch.rand(b, s, s).argsort(-1)[..., :k]
        ids[..., 0] = 0
        later = [(ids[..., 1:] == 0).nonzero(as_tuple=True)][0]
        ids[..., 1:][later] = s - 1
        ids = ids.to(torch.int32).to(device)
        scale = d**-0.5

        def right(q, keys, values):
            seen = torch.zeros(b, s, s, dtype=torch.float64, device=device)
            seen = seen.scatter_add(2, ids.long(), torch.ones_like(ids, dtype=torch.float64))
            seen = seen * torch.ones(s, s, device=device).tril()
            p = (q @ keys.transpose(-1, -2) * scale).exp() * seen[:, None]
            return p / p.sum(-1, keepdim=True) @ values

        def function(q, keys, values):
            return file.sparse_attn(q, keys, values, ids, scale)

        inputs = q, keys, values
        if backward:
            return _gradients(function, right, inputs, up)
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))

    kernels = "_fwd_kernel" + ", _bwd_kernel" * backward
    repository.case(
        LIBS + "glm_dsa/attention_topk.py", kernels, rtol=3e-2, atol=0.1 if backward else 3e-2,
        name="sparse" + "_gradient" * backward,
        small=dict(b=1, h=2, s=40, d=32, k=20), production=dict(b=1, h=8, s=1024, d=256, k=512),
    )(build)  # fmt: skip


_sparse(False)
_sparse(True)


def _pool(w, backward):
    def build(file, device, m, d):
        kv, gate = (tm.normal(m, w, d, device=device, dtype=BF16) for _ in range(2))
        up = tm.normal(m, d, device=device)

        def right(kv, gate):
            return (kv * gate.softmax(-2)).sum(-2)

        if backward:
            return _gradients(file.gated_softmax_pool, right, (kv, gate), up)
        return lambda: file.gated_softmax_pool(kv, gate), lambda: right(kv.double(), gate.double())

    repository.case(
        LIBS + "dsv4/gated_pool.py", "_pool_fwd_kernel" + ", _pool_bwd_kernel" * backward,
        rtol=2e-2, atol=1e-2, name=f"pool_{w}" + "_gradient" * backward,
        small=dict(m=7, d=72), production=dict(m=16384 * 8 // w, d=512),
    )(build)  # fmt: skip


_pool(8, False)
_pool(128, False)
_pool(8, True)


@repository.case(LIBS + "dsv4/indexer.py", "_indexer_score_kernel", rtol=1e-2, atol=1e-2, small=dict(b=1, s=40, h=3, t=50, d=32), production=dict(b=1, s=2048, h=64, t=1024, d=128))  # fmt: skip
def index_scores(file, device, b, s, h, t, d):
    q, keys = (tm.normal(*n, d, device=device, dtype=BF16) for n in ((b, s, h), (b, t)))
    weights, scale = tm.normal(b, s, h, device=device), d**-0.5

    def want():
        scores = torch.einsum("bshd,btd->bsht", q.double(), keys.double()).relu() * scale
        return (scores * weights.double()[..., None]).sum(2)

    return lambda: file.indexer_scores(q, keys, weights, scale), want


@repository.case(LIBS + "dsv4/rope.py", "_rope_kernel", rtol=2e-2, atol=2e-2, small=dict(b=2, h=3, s=7, d=96), production=dict(b=2, h=64, s=2048, d=512))  # fmt: skip
def rope_of_the_end(file, device, b, h, s, d):
    x = tm.normal(b, h, s, d, device=device, dtype=BF16)
    cos, sin = (tm.normal(b, 32, s, device=device, dtype=BF16).transpose(1, 2) for _ in range(2))

    def want():
        start = x[..., : d - 64].double()
        end = tm.rotated(x[..., d - 64 :], cos[:, None], sin[:, None], interleaved=True)
        return torch.cat([start, end], -1)

    return lambda: file.apply_rotary_pos_emb_triton(x, cos, sin), want


def _sinkhorn(mixes, scale, base, hc, eps=1e-6):
    pre, post, comb = mixes.split([hc, hc, hc * hc], -1)
    of_pre, of_post, of_comb = base.split([hc, hc, hc * hc])
    pre = (pre * scale[0] + of_pre).sigmoid() + eps
    post = 2 * (post * scale[1] + of_post).sigmoid()
    comb = (comb * scale[2] + of_comb).view(-1, hc, hc).softmax(-1) + eps
    comb = comb / (comb.sum(1, keepdim=True) + eps)
    for _ in range(19):
        comb = comb / (comb.sum(2, keepdim=True) + eps)
        comb = comb / (comb.sum(1, keepdim=True) + eps)
    return torch.cat([pre, post, comb.flatten(1)], -1)


def _mix(backward):
    def build(file, device, m):
        hc = 4
        mixes, up = (tm.normal(m, hc * (2 + hc), device=device) for _ in range(2))
        scale, base = tm.normal(3, device=device), tm.normal(hc * (2 + hc), device=device)

        def function(*inputs):
            return torch.cat(file.sinkhorn_mix(*inputs, hc, 20, 1e-6), -1)

        def right(*inputs):
            return _sinkhorn(*inputs, hc)

        inputs = mixes, scale, base
        if backward:
            return _gradients(function, right, inputs, up)
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))

    repository.case(
        LIBS + "dsv4/mhc.py", "_mhc_fwd_kernel" + ", _mhc_bwd_kernel" * backward,
        rtol=1e-3, atol=1e-3, share=1e-4, name="hyper_mix" + "_gradient" * backward,
        small=dict(m=70), production=dict(m=65536),
    )(build)  # fmt: skip


_mix(False)
_mix(True)


@repository.case(LIBS + "dsv4/mhc.py", "_rmsln_fwd_kernel, _rmsln_bwd_kernel", rtol=1e-3, atol=2e-3, small=dict(m=40, k=200), production=dict(m=8192, k=16384))  # fmt: skip
def hyper_linear(file, device, m, k):
    x, w = tm.normal(m, k, device=device), tm.normal(24, k, device=device, scale=k**-0.5)

    def right(x, w):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) @ w.T

    return _gradients(lambda x, w: file._rmsnorm_linear(x, w, 1e-6), right, (x, w), tm.normal(m, 24, device=device))  # fmt: skip


@repository.case(LIBS + "dsv4/mhc.py", "_collapse_fwd_kernel, _collapse_bwd_kernel", rtol=2e-2, atol=2e-2, small=dict(m=40, d=300), production=dict(m=16384, d=4096))  # fmt: skip
def hyper_collapse(file, device, m, d):
    pre, streams = tm.normal(m, 4, device=device), tm.normal(m, 4, d, device=device, dtype=BF16)
    up = tm.normal(m, d, device=device)

    def right(pre, streams):
        return (pre[..., None] * streams).sum(1)

    return _gradients(file._Collapse.apply, right, (pre, streams), up)


EBFT = "src/axolotl/core/trainers/ebft/kernels.py"


@repository.case(EBFT, "_fused_log_softmax_gather_kernel", rtol=1e-3, atol=2e-2, small=dict(rows=3, v=5000), production=dict(rows=2048, v=151936))  # fmt: skip
def log_softmax_gather(file, device, rows, v):
    x, ids = tm.normal(rows, v, device=device), tm.integers(0, v, rows, device=device)

    def want():
        return x.double().log_softmax(-1).gather(-1, ids[:, None])[:, 0]

    return lambda: file.fused_log_softmax_gather(x, ids), want


@repository.case(EBFT, "_fused_cosine_sim_kernel", small=dict(n=9, d=5000), production=dict(n=16384, d=12288))  # fmt: skip
def cosine(file, device, n, d):
    a, b = (tm.normal(n, d, device=device, dtype=BF16) for _ in range(2))
    return (lambda: file.fused_cosine_similarity(a, b)), lambda: F.cosine_similarity(a.double(), b.double(), -1)  # fmt: skip


@repository.case(EBFT, "_fused_diversity_kernel", rtol=1e-4, atol=1e-3, small=dict(b=3, n=4, d=5000), production=dict(b=256, n=16, d=12288))  # fmt: skip
def diversity(file, device, b, n, d):
    x = tm.normal(b, n, d, device=device, dtype=BF16)

    def want():
        dots = x.double() @ x.double().transpose(1, 2)
        return (dots.sum(-1) - dots.diagonal(dim1=1, dim2=2)) / (n - 1)

    return lambda: file.fused_diversity_penalty(x), want


@repository.case("src/axolotl/kernels/dora.py", "_dora_fused_norm_kernel", rtol=1e-2, atol=1e-2, small=dict(n=9, k=3000, rank=5), production=dict(n=8192, k=8192, rank=16))  # fmt: skip
def dora_norm(file, device, n, k, rank):
    w, a, b = (tm.normal(*s, device=device, dtype=BF16) for s in ((n, k), (rank, k), (n, rank)))
    most = torch.rand(n).to(device)

    def want():
        return most.double() / (w.double() + 2 * b.double() @ a.double()).norm(dim=-1)

    return lambda: file.triton_dora_scale(w, None, a, b, 2.0, most, BF16), want


def _sinkgd(name, mode, m, n):
    def build(file, device, batch, m, n):
        p, g = (tm.normal(batch, m, n, device=device, dtype=BF16) for _ in range(2))
        u = torch.ones(batch, n, device=device)
        target = torch.full((batch,), 30.0, device=device)

        def run():
            out, vector = p.clone(), u.clone()
            file.fused_sinkgd_step(out, g, 0.1, 0.01, 3, 1e-8, mode=mode, u=vector, target_norm=target)  # fmt: skip
            return out

        def want():
            x = g.double()
            for _ in range(3):
                x = x / x.norm(dim=2, keepdim=True) * n**0.5
                x = x / x.norm(dim=1, keepdim=True) * m**0.5
            if mode == "base":
                return p.double() * (1 - 0.1 * 0.01) - 0.1 * x
            v = F.normalize(x @ u.double()[..., None], dim=1)
            sigma = (x.transpose(1, 2) @ v).norm(dim=(1, 2))[:, None, None]
            y = p.double() - 0.1 * 30 / sigma * x
            return y * 30 / y.norm(dim=(1, 2), keepdim=True)

        return run, want

    kernels = "_iter_tall, _apply" if mode == "base" else "_rowsq_wide, _scale_wide, _matvec1_partials, _matvec2, _apply"  # fmt: skip
    repository.case(
        "src/axolotl/utils/optimizers/sinkgd_triton.py", kernels, rtol=3e-2, atol=3e-2, name=name,
        small=dict(batch=2, m=20, n=4200 if mode != "base" else 600),
        production=dict(batch=1, m=m, n=n),
    )(build)  # fmt: skip


_sinkgd("sinkgd", "base", 8192, 4096)
_sinkgd("sinkgd_sphere", "md", 512, 16384)


def _wide_heads(backward):
    def build(file, device, b, h, s, d):
        q, k, v, up = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(4))
        cut = s // 3
        places = torch.cat([torch.arange(cut), torch.arange(s - cut)]).to(torch.int32)
        places = places.expand(b, s).contiguous().to(device)

        def right(q, k, v):
            i = torch.arange(s, device=device)
            seen = (i[None] <= i[:, None]) & ((i[None] < cut) == (i[:, None] < cut))
            x = (q @ k.transpose(-1, -2)) * d**-0.5
            return x.masked_fill(~seen, float("-inf")).softmax(-1) @ v

        def function(q, k, v):
            return file.flash_d512(q, k, v, True, places)

        inputs = q, k, v
        if backward:
            return _gradients(function, right, inputs, up)
        return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))

    kernels = "_fwd" + ", _bwd_pre, _bwd_dkdv, _bwd_dq" * backward
    repository.case(
        "src/axolotl/monkeypatch/attention/flash_attn_d512.py", kernels, rtol=3e-2,
        atol=0.1 if backward else 3e-2, name="heads_of_512" + "_gradient" * backward,
        small=dict(b=1, h=2, s=70, d=64), production=dict(b=1, h=8, s=4096, d=512),
    )(build)  # fmt: skip


_wide_heads(False)
_wide_heads(True)


@repository.case(LIBS + "scattermoe_lora/selective_dequant_kernel.py", "_selective_dequant_nf4_kernel", rtol=1e-2, atol=1e-3, small=dict(experts=5, active=3, rows=16, columns=96), production=dict(experts=64, active=16, rows=4096, columns=1536))  # fmt: skip
def nf4_of_experts(file, device, experts, active, rows, columns):
    per = rows * columns
    packed = tm.integers(0, 256, experts * per // 2, device=device, dtype=torch.uint8)
    most = torch.rand(experts * per // 32).to(device)
    ids = torch.randperm(experts)[:active].sort().values.to(device)
    table = torch.tensor(file.NF4_CODEBOOK, device=device, dtype=torch.float64)

    def run():
        return file.selective_dequant_nf4_triton(packed, most, ids, (rows, columns), 32)

    def want():
        values = table[torch.stack([packed >> 4, packed & 15], -1).long()].view(experts, -1, 32)
        return (values * most.double().view(experts, -1, 1)).view(experts, rows, columns)[ids]

    return run, want


UTILS = "src/axolotl/monkeypatch/trainer/utils.py"


@repository.case(UTILS, "_entropy_online_kernel", rtol=1e-2, atol=2e-2, small=dict(rows=5, v=5000), production=dict(rows=4096, v=151936))  # fmt: skip
def entropy(file, device, rows, v):
    x = tm.normal(1, rows, v, device=device, dtype=BF16)

    def want():
        logs = x.double().log_softmax(-1)
        return -(logs.exp() * logs).sum(-1)[0]

    return lambda: file._entropy_from_logits_op(x, 128), want
