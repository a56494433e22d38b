"""fused-moe: DeepSeek's router, with groups of experts, and those of a GPU, in fp8."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("QasimKhan5d/fused-moe", "338b47080d04e2f0c5c1766d01b79aeb0a7c9e08")
FILE = "solution/triton/kernel.py"
# The router stores a token's weights one by one and loads them as a vector, with no barrier: of its
# four warps one stores.
ORDER = dict(finds="race-warp-order")


def _scores(t, device):
    """Logits and biases of experts for which no rounding decides the choice."""
    logits = (torch.rand(t, 256).argsort(1) - 128) / 40
    return logits.to(device), (torch.arange(256) // 32 * 0.01).to(device)


def _routed(logits, bias, factor):
    """The weights and experts of each token: eight of the four best of eight groups."""
    s = logits.double().sigmoid()
    groups = (s + bias.double()).unflatten(1, (8, 32))
    best = groups.topk(2).values.sum(-1).topk(4).indices
    kept = torch.zeros(groups.shape[:2], dtype=torch.bool, device=s.device).scatter(1, best, True)
    ids = groups.masked_fill(~kept[..., None], float("-inf")).flatten(1).topk(8).indices
    weights = s.gather(1, ids)
    return weights / weights.sum(-1, keepdim=True) * factor, ids


@repository.case(FILE, "fused_route_topk_kernel, scan_and_zero_kernel, _scan_add, dispatch_scatter_kernel", small=dict(t=33), production=dict(t=1 << 14), **ORDER)  # fmt: skip
def router(file, device, t):
    """The assignments of an expert have no order: they are sorted here."""
    logits, bias = _scores(t, device)
    first, count = 64, 32

    def run():
        weights, ids = torch.empty(t, 8, device=device), torch.empty(t, 8, dtype=torch.int32, device=device)  # fmt: skip
        counts = torch.zeros(count, dtype=torch.int32, device=device)
        offsets = torch.empty(count + 1, dtype=torch.int32, device=device)
        file.fused_route_topk_kernel[(t,)](logits, bias, weights, ids, counts, *logits.stride(), *weights.stride(), *ids.stride(), t, 2.5, first, count, E_GLOBAL=256, N_GROUP=8, GROUP_SIZE=32, TOPK_GROUP=4, TOP_K=8, num_warps=4, num_stages=1)  # fmt: skip
        file._exclusive_cumsum_zero_triton(counts, offsets, count)
        tokens = torch.full((t * 8,), -1, dtype=torch.int32, device=device)
        chosen = torch.zeros(t * 8, device=device)
        file.dispatch_scatter_kernel[(-(-t * 8 // 1024),)](ids, weights, offsets, counts, tokens, chosen, t * 8, 8, first, count, 1, 1, BLOCK=1024, num_warps=2, num_stages=2)  # fmt: skip
        experts = torch.repeat_interleave(torch.arange(count, device=device), offsets.diff().long())
        order = (experts * t + tokens[: len(experts)]).argsort()
        dense = torch.zeros(t, 256, device=device).scatter(1, ids.long(), weights)
        return dense, offsets, tokens[order], chosen[order]

    def want():
        weights, ids = _routed(logits, bias, 2.5)
        dense = torch.zeros(t, 256, dtype=weights.dtype, device=device).scatter(1, ids, weights)
        local = dense[:, first : first + count].T
        experts, tokens = local.nonzero(as_tuple=True)
        ends = torch.bincount(experts, minlength=count).cumsum(0)
        return dense, F.pad(ends, (1, 0)), tokens, local[experts, tokens]

    return run, want


@repository.case(FILE, "fused_route_topk_kernel, scan_and_zero_kernel, _scan_add, dispatch_scatter_kernel, predequant_hidden_kernel, gemm1_mloop_kernel, gemm1_reduce_swiglu_kernel, gemm2_mloop_kernel", rtol=2e-2, atol=5e-3, share=1e-3, small=dict(t=9, e=16, k=256, h=128), production=dict(t=1024, e=32, k=7168, h=2048), **ORDER)  # fmt: skip
def experts_fp8(file, device, t, e, k, h):
    logits, bias = _scores(t, device)
    x, up, down = (tm.fp8(*s, device=device) for s in ((t, k), (e, 2 * h, k), (e, k, h)))
    scales = [torch.rand(s) + 0.5 for s in ((k // 128, t), (e, h // 64, k // 128), (e, k // 128, h // 128))]  # fmt: skip
    xs, us, ds = (s.to(device) / w**0.5 for s, w in zip(scales, (1, k, h), strict=True))
    first = 32

    def run():
        def empty(*shape, dtype=torch.bfloat16):
            return torch.empty(*shape, dtype=dtype, device=device)

        n = t * 8
        ids, weights = empty(t, 8, dtype=torch.int32), empty(t, 8, dtype=torch.float32)
        counts, offsets = empty(e, dtype=torch.int32), empty(e + 1, dtype=torch.int32)
        tokens, chosen = empty(n, dtype=torch.int32), empty(n, dtype=torch.float32)
        parts = [empty(4, n, h, dtype=torch.float32) for _ in range(2)]
        out = empty(t, k)
        file._run_compute_pipeline(logits, bias, weights, ids, x, xs, empty(t, k), up, us, down, ds, first, 2.5, t, e, k, k, h, h, n, 8, counts, offsets, tokens, chosen, empty(n, h), out, *parts, False, False, e)  # fmt: skip
        return out

    def want():
        weights, ids = _routed(logits, bias, 2.5)
        rows = tm.dequantised_blocks(x, xs.T, 1, 128)
        out = torch.zeros(t, k, dtype=torch.float64, device=device)
        for expert in range(e):
            token, slot = (ids == first + expert).nonzero(as_tuple=True)
            left, right = (rows[token] @ tm.dequantised_blocks(up[expert], us[expert], 128, 128).T).chunk(2, -1)  # fmt: skip
            y = (left * F.silu(right)) @ tm.dequantised_blocks(down[expert], ds[expert], 128, 128).T
            out.index_add_(0, token, y * weights[token, slot, None])
        return out

    return run, want
