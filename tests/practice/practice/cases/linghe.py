"""linghe: training kernels of a large mixture of experts, many of them with quantisation."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("inclusionAI/linghe", "02edabd91feb85b02e8d62ad690a15138efe6cbe", packages={"linghe": "."})  # fmt: skip
BF16, FP8, I32 = torch.bfloat16, torch.float8_e4m3fn, torch.int32
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case("linghe/utils/topk.py", "topk_forward_kernel, topk_backward_kernel", small=dict(m=20, n=32, k=4), production=dict(m=4096, n=256, k=8))  # fmt: skip
def top_k(file, device, m, n, k):
    x, grad = tm.normal(m, n, device=device), tm.normal(m, k, device=device)
    x[0, 3] = x[0, 7] = 9.0  # equal: the second way

    def run():
        values, indices = file.triton_topk_forward(x, k)
        return values, indices, file.triton_topk_backward(grad, indices, n)

    def want():
        order = x.double() - torch.arange(n) * 1e-12
        values, indices = order.topk(k)
        return values, indices, torch.zeros(m, n).scatter(1, indices, grad.cpu())

    return run, want


@repository.case("linghe/utils/topk.py", "group_topk_score_forward_kernel, group_topk_score_backward_kernel", small=dict(m=20, n=32, k=4, g=8, gk=2), production=dict(m=4096, n=256, k=8, g=32, gk=4), rtol=1e-4, atol=1e-5)  # fmt: skip
def group_top_k(file, device, m, n, k, g, gk):
    x, grad = tm.normal(m, n, device=device), tm.normal(m, n, device=device)
    bias = tm.normal(n, device=device)
    x[1] = 0.5  # scores that the bias alone parts
    bias[1] = bias[0]

    def run():
        probs, map_, counts = file.triton_group_topk_score_forward(x, k, bias, g, gk, 2.5)
        return probs, map_, counts, file.triton_group_topk_score_backward(grad, x, map_, 2.5)

    def want():
        leaf = x.cpu().double().requires_grad_()
        score = torch.sigmoid(leaf)
        routed = score + bias.cpu().double() - torch.arange(n) * 1e-12
        best = routed.view(m, g, -1).topk(k // gk)[0].sum(-1).topk(gk)[1]
        open_ = torch.zeros(m, g).scatter(1, best, 1.0).repeat_interleave(n // g, 1).bool()
        chosen = routed.masked_fill(~open_, -math.inf).topk(k)[1]
        map_ = torch.zeros(m, n).scatter(1, chosen, 1.0).bool()
        probs = torch.where(map_, score, 0.0)
        probs = probs / probs.sum(-1, keepdim=True) * 2.5
        (dx,) = torch.autograd.grad(probs, leaf, grad.cpu().double())
        return probs.detach(), map_, map_.sum(0), dx

    return run, want


def _embedding(call):
    def build(file, device, b, l, words, dim):
        ids = tm.integers(0, words, b, l, device=device)
        weight = tm.normal(words, dim, device=device, dtype=BF16)
        up = tm.normal(b, l, dim, device=device, dtype=BF16)
        grad = torch.zeros(words, dim, dtype=torch.float32, device=device)

        def run():
            grad.zero_()
            y = file.triton_embedding_forward(ids, weight.data_ptr(), dim)
            getattr(file, call)(up, ids, grad.data_ptr(), dtype=torch.float32)
            return y, grad

        def want():
            right = torch.zeros(words, dim, dtype=torch.float64)
            right.index_add_(0, ids.cpu().flatten(), up.cpu().double().flatten(0, 1))
            return weight[ids], right

        return run, want

    return build


for _name, _call, _kernels in (
    ("embedding", "triton_embedding_backward", "scan_and_count_split_kernel, scan_and_count_merge_kernel, embedding_backward_kernel"),
    ("embedding_atomic", "triton_atomic_embedding_backward", "atomic_embedding_backward_kernel"),
    ("embedding_sorted", "triton_sync_embedding_backward", "sync_embedding_backward_kernel"),
):  # fmt: skip
    repository.case("linghe/utils/emb.py", f"embedding_forward_kernel, {_kernels}", small=dict(b=2, l=256, words=60, dim=80), production=dict(b=2, l=4096, words=32000, dim=2048), rtol=1e-4, atol=1e-4, name=_name)(_embedding(_call))  # fmt: skip


@repository.case("linghe/utils/loss.py", "softmax_cross_entropy_forward_kernel, softmax_cross_entropy_backward_kernel", small=dict(m=5, n=3000), production=dict(m=4096, n=157184), **HALF)  # fmt: skip
def cross_entropy(file, device, m, n):
    logits, grad = tm.normal(m, n, device=device, dtype=BF16), tm.normal(m, device=device)
    labels = tm.integers(0, n, m, device=device)
    labels[1] = -100

    def run():
        given = logits.clone()
        loss, total, most = file.triton_softmax_cross_entropy_forward(given, labels)
        dx = file.triton_softmax_cross_entropy_backward(
            given, labels, total, most, grad, inplace=True
        )
        return loss, dx

    def want():
        leaf = logits.cpu().double().requires_grad_()
        loss = F.cross_entropy(leaf, labels.cpu(), reduction="none")
        return loss.detach(), *torch.autograd.grad(loss, leaf, grad.cpu().double())

    return run, want


@repository.case("linghe/utils/loss.py", "moe_z_loss_forward_kernel, moe_z_loss_backward_kernel", small=dict(l=12, b=2, n=64), production=dict(l=4096, b=2, n=256), rtol=1e-4, atol=1e-7)  # fmt: skip
def z_loss(file, device, l, b, n):
    logits, grad = tm.normal(l, b, n, device=device), torch.ones(1, device=device)

    def want():
        leaf = logits.cpu().double().requires_grad_()
        loss = leaf.logsumexp(-1).square().mean() * 1e-3
        return loss.detach().view(1), *torch.autograd.grad(loss, leaf)

    return (
        lambda: (file.triton_moe_z_loss_forward(logits, coef=1e-3).view(1), file.triton_moe_z_loss_backward(grad, logits, coef=1e-3)),
        want,
    )  # fmt: skip


def _lists(device, n):
    return [tm.normal(size, device=device) for size in (n, 3, n // 2 + 1)]


@repository.case("linghe/utils/reduce.py", "batch_norm_kernel, batch_count_zero_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-4)  # fmt: skip
def norm_of_list(file, device, n):
    xs = _lists(device, n)
    xs[0][5:17] = 0.0

    def run():
        norms = [file.triton_batch_norm(xs, ord=order) for order in (1, 2, -1)]
        return norms, file.triton_batch_count_zero(xs)

    def want():
        x = torch.cat([x.cpu().double() for x in xs])
        return [x.norm(p) for p in (1, 2, math.inf)], torch.tensor(12)

    return run, want


@repository.case("linghe/utils/mul.py", "batch_scale_kernel", small=dict(n=3000), production=dict(n=1 << 24))  # fmt: skip
def scaled_list(file, device, n):
    kept = _lists(device, n)

    def run():
        xs = [x.clone() for x in kept]
        file.triton_batch_scale(xs, 0.3)
        return xs

    return run, lambda: [x.double() * 0.3 for x in kept]


@repository.case("linghe/utils/unary.py", "batch_clip_kernel", small=dict(n=3000), production=dict(n=1 << 24))  # fmt: skip
def clipped_list(file, device, n):
    kept = _lists(device, n)

    def run():
        return file.triton_batch_clip([x.clone() for x in kept], 0.7)

    return run, lambda: [x.double().clamp(-0.7, 0.7) for x in kept]


@repository.case("linghe/utils/silu.py", "weighted_silu_forward_asm_kernel, weighted_silu_forward_kernel, weighted_silu_backward_kernel", small=dict(m=45, n=512), production=dict(m=8192, n=4096), **HALF)  # fmt: skip
def weighted_silu(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), tm.normal(m, 1, device=device)
    up = tm.normal(m, n // 2, device=device)

    def run():
        by_asm, plain = (file.triton_weighted_silu_forward(x, weight, asm=a) for a in (True, False))
        return by_asm, plain, *file.triton_weighted_silu_backward(up, x, weight)

    def want():
        y, dx, dw = tm.with_gradients(lambda x, w: tm.silu_mul(x) * w, up, x.cpu(), weight.cpu(), exact=True)  # fmt: skip
        return y, y, dx, dw

    return run, want


@repository.case("linghe/utils/gather.py", "block_count_kernel, make_row_id_map_and_index_kernel", small=dict(m=200, e=8), production=dict(m=8192, e=64))  # fmt: skip
def row_maps(file, device, m, e):
    map_ = (torch.rand(m, e) < 0.3).to(device)
    total = int((-(-map_.sum(0) // 16) * 16).sum())

    def want():
        given = map_.cpu().int()
        counts = given.sum(0)
        padded = -(-counts // 16) * 16
        at = given.cumsum(0) - 1 + padded.cumsum(0) - padded
        rows = torch.zeros(total, dtype=I32)
        for row, expert in given.nonzero().tolist():
            rows[at[row, expert]] = row
        return torch.where(given.bool(), at, -1), rows

    return lambda: file.triton_make_row_id_map_and_index(map_, total, 16), want


@repository.case("linghe/utils/scatter.py", "unpermute_with_mask_map_kernel", small=dict(m=30, e=8, n=100), production=dict(m=8192, e=64, n=2048), **HALF)  # fmt: skip
def unpermuted(file, device, m, e, n):
    map_ = torch.rand(m, e) < 0.3
    at = torch.where(map_, map_.T.flatten().cumsum(0).view(e, m).T - 1, -1)
    total = int(map_.sum())
    x, probs = tm.normal(total, n, device=device), tm.normal(total, device=device)

    def want():
        out, restored = torch.zeros(m, n, dtype=torch.float64), torch.zeros(m, e)
        for row, expert in map_.nonzero().tolist():
            out[row] += x[at[row, expert]].cpu().double()
            restored[row, expert] = probs[at[row, expert]].cpu()
        return out, restored

    return lambda: file.triton_unpermute_with_mask_map(x, at.to(I32).to(device), probs), want


@repository.case("linghe/utils/scatter.py", "scatter_add_kernel, fp32_to_bf16_kernel", small=dict(m=600, rows=40, n=64), production=dict(m=8192, rows=2048, n=2048), **HALF)  # fmt: skip
def scatter_add(file, device, m, rows, n):
    x, indices = tm.normal(m, n, device=device, dtype=BF16), tm.integers(0, rows, m, device=device)
    out = torch.empty(rows, n, dtype=BF16, device=device)
    return (
        lambda: file.triton_scatter_add(x, out, indices),
        lambda: torch.zeros(rows, n, dtype=torch.float64).index_add_(0, indices.cpu(), x.cpu().double()),
    )  # fmt: skip


@repository.case("linghe/gemm/fp32_gemm.py", "split_fp32_gemm_kernel, split_fp32_gemm_for_backward_kernel, split_fp32_gemm_for_update_kernel", small=dict(m=128, n=32, k=4096), production=dict(m=4096, n=256, k=8192), rtol=2e-2, atol=5e-1)  # fmt: skip
def router_gemm(file, device, m, n, k):
    x, w = tm.normal(m, k, device=device, dtype=BF16), tm.normal(n, k, device=device, dtype=BF16)
    y = tm.normal(m, n, device=device)
    return (
        lambda: (file.triton_split_fp32_gemm(x, w), file.triton_split_fp32_gemm_for_backward(y, w), file.triton_split_fp32_gemm_for_update(y, x)),
        lambda: (x.double() @ w.double().T, y.double() @ w.double(), y.double().T @ x.double()),
    )  # fmt: skip


@repository.case("linghe/gemm/blockwise_fp8_gemm.py", "fp8_gemm_bb_kernel, fp8_gemm_tt_kernel", small=dict(m=128, n=256, k=256), production=dict(m=4096, n=4096, k=4096), **HALF)  # fmt: skip
def fp8_gemms(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    sa, sb = (torch.rand(rows // 128, k // 128).to(device) / k for rows in (m, n))
    ta, tb = (torch.rand(rows, k // 128).to(device) / k for rows in (m, n))
    exact = tm.dequantised_blocks
    return (
        lambda: (file.triton_bb_fp8_gemm(a, b, sa, sb), file.triton_tt_fp8_gemm(a, b, ta, tb)),
        lambda: (
            exact(a, sa, 128, 128) @ exact(b, sb, 128, 128).T,
            exact(a, ta, 128) @ exact(b, tb, 128).T,
        ),
    )


@repository.case("linghe/gemm/channelwise_fp8_gemm.py", "scaled_mm_kernel", small=dict(m=128, n=256, k=192), production=dict(m=4096, n=4096, k=4096), **HALF)  # fmt: skip
def scaled_mm(file, device, m, n, k):
    a, b, c = (
        tm.fp8(m, k, device=device),
        tm.fp8(n, k, device=device),
        tm.normal(m, n, device=device),
    )
    sa, sb = torch.rand(m).to(device) + 0.1, torch.rand(n).to(device) + 0.1
    return (
        lambda: file.triton_scaled_mm(a, b, sa, sb, c=c.clone()),
        lambda: c.double() + (a.float().double() * sa[:, None]) @ (b.float().double() * sb[:, None]).T,
    )  # fmt: skip


@repository.case("linghe/quant/hadamard.py", "hadamard_quant_row_kernel, hadamard_quant_col_kernel", small=dict(m=100, n=120), production=dict(m=4096, n=4096), rtol=7e-2, atol=1e-2)  # fmt: skip
def hadamard(file, device, m, n):
    x, hm = tm.normal(m, n, device=device, dtype=BF16), torch.ones(1, 1)
    while len(hm) < 64:
        hm = torch.cat([torch.cat([hm, hm], 1), torch.cat([hm, -hm], 1)])
    hm = (hm / 8).to(BF16).to(device)

    def want():
        wide = F.pad(x.cpu().double(), (0, -n % 64, 0, -m % 64))
        rows = (wide.unflatten(1, (-1, 64)) @ hm.cpu().double()).flatten(1)[:m]
        columns = (hm.cpu().double() @ wide.unflatten(0, (-1, 64))).flatten(0, 1)[:, :n]
        sr, sc = rows.abs().amax(1) / 448, columns.abs().amax(0) / 448
        return (rows / sr[:, None])[:, :n], sr, (columns / sc).T[:, :m], sc

    return lambda: file.triton_hadamard_quant(x, hm), want


@repository.case("linghe/attn/la.py", "lightning_attention_forward_kernel", small=dict(b=1, l=96, h=2, d=128), production=dict(b=2, l=4096, h=16, d=128), **HALF)  # fmt: skip
def lightning(file, device, b, l, h, d):
    q, k, v = (tm.normal(b, l, h, d, device=device, dtype=BF16, scale=0.3) for _ in range(3))
    decay = 2 ** (-0.5 * torch.arange(1, h + 1, dtype=torch.float32)).to(device)

    def want():
        q_, k_, v_ = (x.cpu().double().transpose(1, 2) for x in (q, k, v))
        t, rate = torch.arange(l, dtype=torch.float64), decay.cpu().double()[:, None, None]
        weights = torch.exp(-rate * (t[:, None] - t)).tril()
        out = (q_ @ k_.mT * d**-0.5 * weights) @ v_
        state = (k_ * torch.exp(-rate[..., 0] * (l - 1 - t))[..., None]).mT @ v_
        return out.transpose(1, 2), state

    return lambda: file.triton_lightning_attention_forward(q, k, v, decay, hpc=True), want


@repository.case("linghe/attn/la.py", "fp32_lightning_attention_forward_kernel, fused_lightning_attention_backward_kernel", small=dict(b=1, l=96, h=2, d=128), production=dict(b=2, l=4096, h=16, d=128), **HALF)  # fmt: skip
def lightning_gradient(file, device, b, l, h, d):
    q, k, v, up = (tm.normal(b, l, h, d, device=device, dtype=BF16, scale=0.3) for _ in range(4))
    # Slow: the fused backward goes back to earlier states by dividing by decays.
    decay = torch.arange(1, h + 1, dtype=torch.float32).to(device) * 2e-3

    def right(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        t, rate = torch.arange(l, dtype=torch.float64), decay.cpu().double()[:, None, None]
        weights = torch.exp(-rate * (t[:, None] - t)).tril()
        return ((q @ k.mT * d**-0.5 * weights) @ v).transpose(1, 2)

    def run():
        o, s = file.triton_lightning_attention_forward(q, k, v, decay, hpc=True, hp=True)
        return o, *file.triton_fused_lightning_attention_backward(up, q, k, v, s, decay, hpc=True)

    def want():
        o, _, *grads = tm.with_gradients(right, up.cpu(), q.cpu(), k.cpu(), v.cpu(), exact=True)
        # Not the gradient of q: what comes from earlier blocks lacks the decay since then.
        return o, None, *grads

    return run, want


def _mla(q, k, v):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    s = (q @ k.mT * 128**-0.5).masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), -math.inf)  # fmt: skip
    return (s.softmax(-1) @ v).transpose(1, 2)


@repository.case("linghe/attn/mla.py", "mla_forward_kernel, mla_ds_kernel, mla_backward_kernel, mla_rs_kernel", small=dict(b=1, l=256, h=2), production=dict(b=2, l=4096, h=16), **HALF)  # fmt: skip
def latent_attention(file, device, b, l, h):
    q, k = (tm.normal(b, l, h, 192, device=device, dtype=BF16) for _ in range(2))
    v, up = (tm.normal(b, l, h, 128, device=device, dtype=BF16) for _ in range(2))

    def run():
        o, lse, most = file.triton_mla_forward(q, k, v)
        split = file.triton_mla_backward(up, o, q, k, v, lse, most, atomic=False)
        summed = file.triton_mla_backward(up, o, q, k, v, lse, most, hpc=True)
        return o, split, summed

    def want():
        o, *grads = tm.with_gradients(_mla, up.cpu(), q.cpu(), k.cpu(), v.cpu(), exact=True)
        return o, grads, grads

    return run, want
