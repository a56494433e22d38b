"""Transformer Engine: permutation of tokens to experts, cross entropy, hyper-connections, padding."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA/TransformerEngine",
    "d0067d0da6cb01811b8072a7d304f0e00344ce2b",
    packages={"transformer_engine": "."},
    stand_ins={
        "transformer_engine_torch": {},
        "transformer_engine.pytorch.cpp_extensions.gemm": {},
    },
)
FOLDER = "transformer_engine/pytorch/triton/"
ROUTED = dict(small=dict(m=70, e=8, t=2, n=200), production=dict(m=8192, e=64, t=8, n=4096))


class _Routing:
    """A map of tokens to experts, and for each (expert, token) that is set its row, by expert."""

    def __init__(self, device, m, e, t):
        _, ids = tm.topk_ids(m, e, t, device)
        self.map = torch.zeros(m, e, dtype=torch.bool, device=device).scatter_(1, ids, True)
        self.expert, self.token = self.map.T.nonzero(as_tuple=True)
        self.probs = torch.rand(m, e).to(device) * self.map


@repository.case(FOLDER + "permutation.py", "_row_id_map_pass_1_kernel, _row_id_map_pass_2_kernel, _row_id_map_pass_3_kernel, _permute_kernel", **ROUTED)  # fmt: skip
def permute(file, device, m, e, t, n):
    r, x = _Routing(device, m, e, t), tm.normal(m, n, device=device)

    def run():
        rows = file.make_row_id_map(r.map, m, e)
        out = file.permute_with_mask_map(x, rows, r.probs, None, None, m, e, m * t, n, None)
        return out[0], out[2]

    return run, lambda: (x[r.token], r.probs[r.token, r.expert])


@repository.case(FOLDER + "permutation.py", "_unpermute_kernel", **ROUTED, atol=1e-4)
def unpermute(file, device, m, e, t, n):
    r, x = _Routing(device, m, e, t), tm.normal(m * t, n, device=device)

    def run():
        rows = file.make_row_id_map(r.map, m, e)
        return file.unpermute_with_mask_map(x, rows, r.probs, None, None, m, e, n)[0]

    def want():
        weighted = x.double() * r.probs.double()[r.token, r.expert][:, None]
        return torch.zeros(m, n, dtype=torch.float64, device=device).index_add_(
            0, r.token, weighted
        )

    return run, want


@repository.case(FOLDER + "permutation.py", "_unpermute_bwd_with_merging_probs_kernel", **ROUTED, atol=1e-3, rtol=1e-4)  # fmt: skip
def unpermute_backward(file, device, m, e, t, n):
    r, x, g = (
        _Routing(device, m, e, t),
        tm.normal(m * t, n, device=device),
        tm.normal(m, n, device=device),
    )

    def run():
        rows = file.make_row_id_map(r.map, m, e)
        return file.unpermute_with_mask_map_bwd_with_merging_probs(
            g, rows, x, r.probs, None, m, e, m * t, n
        )

    def want():
        probs = torch.zeros(m, e, dtype=torch.float64, device=device)
        probs[r.token, r.expert] = (x.double() * g.double()[r.token]).sum(-1)
        return g.double()[r.token] * r.probs.double()[r.token, r.expert][:, None], probs

    return run, want


@repository.case(FOLDER + "permutation.py", "_make_chunk_sort_map_kernel, _sort_chunks_by_map_kernel", small=dict(k=7, n=200), production=dict(k=256, n=4096), rtol=0, atol=0)  # fmt: skip
def sorted_chunks(file, device, k, n):
    sizes = [(i * 5) % 11 for i in range(k)]
    order, x = torch.randperm(k), tm.normal(sum(sizes), n, device=device)

    def run():
        sizes_ = torch.tensor(sizes, device=device, dtype=torch.int32)
        rows = file.make_chunk_sort_map(sizes_, order.to(torch.int32).to(device), len(x), k)
        return file.sort_chunks_by_map(x, rows, None, len(x), n, True)[0]

    return run, lambda: torch.cat([x.split(sizes)[i] for i in order.tolist()])


@repository.case(FOLDER + "cross_entropy.py", "online_softmax_kernel, cross_entropy_kernel", small=dict(m=9, n=3000), production=dict(m=8192, n=128256), rtol=1e-4, atol=1e-5)  # fmt: skip
def cross_entropy(file, device, m, n):
    x, y = tm.normal(1, m, n, device=device), tm.integers(0, n, 1, m, device=device)
    y[0, 2] = -100

    def want():
        leaf = x[0].double().requires_grad_()
        loss = F.cross_entropy(leaf, y[0], label_smoothing=0.1, ignore_index=-100, reduction="none")
        return loss, torch.autograd.grad(loss.sum(), leaf)[0]

    def run():
        loss, gradient = file.cross_entropy_forward(x.clone(), y, 0.1, False, None, -100)[:2]
        return loss.view(m), gradient.view(m, n)

    return run, want


@repository.case(FOLDER + "grouped_dbias_dscales.py", "_grouped_dbias_kernel", small=dict(g=4, m=150, n=200), production=dict(g=64, m=1024, n=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def grouped_bias_gradient(file, device, g, m, n):
    lengths = tm.lengths(g, m)
    dy, bias = tm.normal(sum(lengths), n, device=device), tm.normal(g, n, device=device)
    scales, places = torch.rand(sum(lengths)).to(device), tm.starts(lengths, device, torch.int64)

    def want():
        dy_ = dy.double()
        bias_of = bias.double().repeat_interleave(torch.tensor(lengths, device=device), 0)
        parts = (dy_ * scales.double()[:, None]).split(lengths)
        return torch.stack([part.sum(0) for part in parts]), (dy_ * bias_of).sum(-1)

    return lambda: file.compute_grouped_dbias_dscales(dy, scales, bias, places), want


@repository.case(FOLDER + "pad.py", "zero_pad_kernel", small=dict(m=100, n=7), production=dict(m=4097, n=1000), rtol=0, atol=0)  # fmt: skip
def padded_scales(file, device, m, n):
    x = tm.integers(0, 255, m, n, device=device, dtype=torch.uint8)

    def run():
        y = file.pad_columnwise_scale_inv(x)
        return y[:m, :n], y.sum()

    return run, lambda: (x, x.sum())


@repository.case(FOLDER + "mhc.py", "_mhc_sinkhorn_fwd_fused_recompute, _mhc_sinkhorn_bwd_fused_recompute", small=dict(b=70), production=dict(b=16384), rtol=1e-3, atol=1e-4)  # fmt: skip
def sinkhorn(file, device, b):
    """20 turns of rows and columns divided by their sums, in logarithms, and the gradient."""
    x, g = tm.normal(1, b, 16, device=device), tm.normal(1, b, 4, 4, device=device)

    def right(x):
        m = x.view(-1, 4, 4)
        f, h = (torch.zeros(m.shape[0], 4, dtype=m.dtype, device=device) for _ in range(2))
        for _ in range(20):
            f = -torch.logsumexp(m + h[:, None], -1)
            h = -torch.logsumexp(m + f[:, :, None], -2)
        return torch.exp(m + f[:, :, None] + h[:, None]).view(1, b, 4, 4)

    def of(function, dtype):
        leaf = x.detach().to(dtype).requires_grad_()
        y = function(leaf)
        return y.reshape(g.shape), torch.autograd.grad(y, leaf, g.to(dtype).reshape(y.shape))[0]

    return (
        lambda: of(lambda x: file.mhc_fused_sinkhorn(x.view(1, b, 4, 4)), torch.float32),
        lambda: of(right, torch.float64),
    )


def _streams(device, b, c):
    x, g = tm.normal(1, b, c, 4, device=device), tm.normal(1, b, c, device=device)
    return x, g, torch.rand(1, b, 4).to(device)


@repository.case(FOLDER + "mhc.py", "_mhc_aggregate_fwd, _mhc_aggregate_bwd", small=dict(b=70, c=96), production=dict(b=8192, c=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def aggregated_streams(file, device, b, c):
    x, g, h = _streams(device, b, c)

    def of(function, dtype):
        leaves = [t.detach().to(dtype).requires_grad_() for t in (x, h)]
        y = function(*leaves)
        return y, *torch.autograd.grad(y, leaves, g.to(dtype))

    return (
        lambda: of(lambda x, h: file.mhc_fused_aggregate(x, h, 4, use_tf32=False), torch.float32),
        lambda: of(lambda x, h: (x * h[:, :, None]).sum(-1), torch.float64),
    )
