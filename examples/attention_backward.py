"""Attention, backward: three kernels after the forward one.

`delta` is the row sum of out * d_out. One kernel owns a block of keys and walks over the queries
(d_k, d_v), the other owns a block of queries and walks over the keys (d_q); the weights are made
again from the saved `lse`.
"""

import math

import torch
import triton
import triton.language as tl
from attention import attention, reference
from harness import DEVICE, Report, arguments


@triton.jit
def delta_kernel(out_ptr, d_out_ptr, delta_ptr, rows, HEAD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = row[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    out = tl.load(out_ptr + offsets, mask=row[:, None] < rows, other=0.0).to(tl.float32)
    d_out = tl.load(d_out_ptr + offsets, mask=row[:, None] < rows, other=0.0).to(tl.float32)
    tl.store(delta_ptr + row, tl.sum(out * d_out, axis=1), mask=row < rows)


@triton.jit
def weights_of(q, k, lse, queries, keys, length, scale, CAUSAL: tl.constexpr):
    """Softmax weights of a block of queries (rows) and keys (columns), 0 for unseen keys."""
    scores = tl.dot(q, tl.trans(k)) * scale
    seen = (queries[:, None] < length) & (keys[None, :] < length)
    if CAUSAL:
        seen = seen & (keys[None, :] <= queries[:, None])
    return tl.where(seen, tl.exp2(scores - lse[:, None]), 0.0)


@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, d_k_ptr, d_v_ptr, length, scale, scale2,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    features = tl.arange(0, HEAD)
    keys = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    own = (head * length + keys[:, None]) * HEAD + features[None, :]
    k = tl.load(k_ptr + own, mask=keys[:, None] < length, other=0.0)
    v = tl.load(v_ptr + own, mask=keys[:, None] < length, other=0.0)
    d_k = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    d_v = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    first = 0
    if CAUSAL:
        first = (tl.program_id(0) * BLOCK_N) // BLOCK_M * BLOCK_M
    for start in range(first, length, BLOCK_M):
        queries = start + tl.arange(0, BLOCK_M)
        inside = queries < length
        rows = (head * length + queries[:, None]) * HEAD + features[None, :]
        q = tl.load(q_ptr + rows, mask=inside[:, None], other=0.0)
        d_out = tl.load(d_out_ptr + rows, mask=inside[:, None], other=0.0)
        lse = tl.load(lse_ptr + head * length + queries, mask=inside, other=0.0)
        delta = tl.load(delta_ptr + head * length + queries, mask=inside, other=0.0)
        weights = weights_of(q, k, lse, queries, keys, length, scale2, CAUSAL)
        d_v += tl.dot(tl.trans(weights).to(d_out.dtype), d_out)
        d_weights = tl.dot(d_out, tl.trans(v))
        d_scores = weights * (d_weights - delta[:, None])
        d_k += tl.dot(tl.trans(d_scores).to(q.dtype), q)
    tl.store(d_k_ptr + own, (d_k * scale).to(d_k_ptr.dtype.element_ty), mask=keys[:, None] < length)
    tl.store(d_v_ptr + own, d_v.to(d_v_ptr.dtype.element_ty), mask=keys[:, None] < length)


@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, d_q_ptr, length, scale, scale2,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    features = tl.arange(0, HEAD)
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = queries < length
    own = (head * length + queries[:, None]) * HEAD + features[None, :]
    q = tl.load(q_ptr + own, mask=inside[:, None], other=0.0)
    d_out = tl.load(d_out_ptr + own, mask=inside[:, None], other=0.0)
    lse = tl.load(lse_ptr + head * length + queries, mask=inside, other=0.0)
    delta = tl.load(delta_ptr + head * length + queries, mask=inside, other=0.0)
    d_q = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        rows = (head * length + keys[:, None]) * HEAD + features[None, :]
        k = tl.load(k_ptr + rows, mask=keys[:, None] < length, other=0.0)
        v = tl.load(v_ptr + rows, mask=keys[:, None] < length, other=0.0)
        weights = weights_of(q, k, lse, queries, keys, length, scale2, CAUSAL)
        d_scores = weights * (tl.dot(d_out, tl.trans(v)) - delta[:, None])
        d_q += tl.dot(d_scores.to(k.dtype), k)
    tl.store(d_q_ptr + own, (d_q * scale).to(d_q_ptr.dtype.element_ty), mask=inside[:, None])


def attention_backward(q, k, v, out, lse, d_out, causal, scale, block=32):
    heads, length, size = q.shape
    delta = torch.empty_like(lse)
    delta_kernel[(triton.cdiv(heads * length, 64),)](
        out, d_out, delta, heads * length, HEAD=size, BLOCK=64
    )
    d_q, d_k, d_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(length, block), heads)
    shared = (q, k, v, d_out, lse, delta)
    meta = {"HEAD": size, "BLOCK_M": block, "BLOCK_N": block, "CAUSAL": causal}
    scale2 = scale * math.log2(math.e)
    keys_kernel[grid](*shared, d_k, d_v, length, scale, scale2, **meta)
    queries_kernel[grid](*shared, d_q, length, scale, scale2, **meta)
    return d_q, d_k, d_v


if __name__ == "__main__":
    options = arguments("backward attention", 100, "length of the sequence")
    report = Report("attention_backward", options)
    for head_size, causal in ((64, False), (64, True), (128, True)):
        label = f"{head_size} {'causal' if causal else 'full'}"
        if report.wants(label):
            shape = (2, options.size, head_size)
            q, k, v, d_out = (torch.randn(shape, device=DEVICE).half() for _ in range(4))
            scale = 1 / math.sqrt(head_size)
            out, lse = attention(q, k, v, causal, scale)
            got = attention_backward(q, k, v, out, lse, d_out, causal, scale)
            wanted = [t.double().requires_grad_() for t in (q, k, v)]
            reference(*wanted, causal, scale)[0].backward(d_out.double())
            for name, gradient, input64 in zip(("d_q", "d_k", "d_v"), got, wanted, strict=True):
                report.check(f"{label} {name}", gradient, input64.grad, 4e-3)
    report.finish()
