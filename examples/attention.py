"""Attention, forward: softmax(Q K^T * scale) V with an online softmax, causal or not, any sequence
length.

A program owns BLOCK_M queries of one head and walks over the keys; it keeps the running maximum
and sum per query. Exponentials are base 2, so the scale carries log2(e). `lse` is the base-2
logarithm of every row's sum.
"""

import math

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, stride_head, stride_row, length, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, HEAD)
    base = head.to(tl.int64) * stride_head
    rows = base + queries[:, None] * stride_row + features[None, :]
    q = tl.load(q_ptr + rows, mask=queries[:, None] < length, other=0.0)
    highest = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    out = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        inside = keys < length
        k = tl.load(
            k_ptr + base + keys[None, :] * stride_row + features[:, None],
            mask=inside[None, :],
            other=0.0,
        )
        scores = tl.dot(q, k) * scale
        seen = inside[None, :]
        if CAUSAL:
            seen = seen & (keys[None, :] <= queries[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new_highest = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_highest[:, None])
        rescale = tl.exp2(highest - new_highest)
        total = total * rescale + tl.sum(weights, axis=1)
        v = tl.load(
            v_ptr + base + keys[:, None] * stride_row + features[None, :],
            mask=inside[:, None],
            other=0.0,
        )
        out = tl.dot(weights.to(v.dtype), v, out * rescale[:, None])
        highest = new_highest
    out = out / total[:, None]
    tl.store(out_ptr + rows, out.to(out_ptr.dtype.element_ty), mask=queries[:, None] < length)
    tl.store(lse_ptr + head * length + queries, highest + tl.log2(total), mask=queries < length)


def attention(q, k, v, causal, scale, blocks=(64, 64)):
    heads, length, size = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((heads, length), dtype=torch.float32, device=q.device)
    attention_kernel[(triton.cdiv(length, blocks[0]), heads)](
        q, k, v, out, lse, q.stride(0), q.stride(1), length, scale * math.log2(math.e),
        HEAD=size, BLOCK_M=blocks[0], BLOCK_N=blocks[1], CAUSAL=causal,
    )  # fmt: skip
    return out, lse


def reference(q, k, v, causal, scale):
    scores = q @ k.transpose(1, 2) * scale
    if causal:
        length = q.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, -float("inf"))
    return torch.softmax(scores, dim=2) @ v, torch.logsumexp(scores, dim=2)


if __name__ == "__main__":
    options = arguments("forward attention", 200, "length of the sequence")
    report = Report("attention", options)
    for head_size in (64, 128):
        for causal in (False, True):
            label = f"{head_size} {'causal' if causal else 'full'}"
            if report.wants(label):
                shape = (3, options.size, head_size)
                q, k, v = (torch.randn(shape, device=DEVICE).half() for _ in range(3))
                out, lse = attention(q, k, v, causal, 1 / math.sqrt(head_size))
                want, want_lse = reference(
                    q.double(), k.double(), v.double(), causal, 1 / math.sqrt(head_size)
                )
                report.check(label, out, want, 2e-3)
                report.check(label + " lse", lse, want_lse * math.log2(math.e), 1e-5)
    report.finish()
