"""The kernels of gpu.py, as people write them for Triton; loaded once for each compiler."""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centered = tl.where(mask, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / columns + eps)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    out = centered * scale * w + b
    tl.store(out_ptr + row * columns + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    size = min(rows - first, GROUP)
    pid_m = first + pid % in_group % size
    pid_n = pid % in_group // size
    m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    out_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    out_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (out_m[:, None] < M) & (out_n[None, :] < N)
    c_ptrs = c_ptr + out_m[:, None] * stride_cm + out_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def descriptor_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    size = min(rows - first, GROUP)
    m = (first + pid % in_group % size) * BLOCK_M
    n = pid % in_group // size * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def attention_steps(
    acc, sums, largest, q, k_from, v_from, queries, first, low, high, HEAD: tl.constexpr,
    BLOCK_N: tl.constexpr, MASKED: tl.constexpr, DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    """The keys from low to high; q is scaled to powers of two. k_from and v_from are pointers to
    the head's first row, or descriptors of all heads, whose row `first` that is."""
    features = tl.arange(0, HEAD)
    for start in range(low, high, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        keys = start + tl.arange(0, BLOCK_N)
        if DESCRIPTORS:
            k = k_from.load([first + start, 0]).T
        else:
            k = tl.load(k_from + keys[None, :] * HEAD + features[:, None])
        scores = tl.dot(q, k)
        if MASKED:
            scores = tl.where(keys[None, :] <= queries[:, None], scores, -1.0e6)
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new_largest[:, None])
        shrink = tl.math.exp2(largest - new_largest)
        sums = sums * shrink + tl.sum(weights, 1)
        if DESCRIPTORS:
            v = v_from.load([first + start, 0])
        else:
            v = tl.load(v_from + keys[:, None] * HEAD + features[None, :])
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
        largest = new_largest
    return acc, sums, largest


@triton.jit
def attention_of_block(
    q, k_from, v_from, block, first, scale2, LENGTH: tl.constexpr, HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    queries = block * BLOCK_M + tl.arange(0, BLOCK_M)
    q = (q * scale2).to(q.dtype)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    sums = tl.zeros([BLOCK_M], dtype=tl.float32)
    largest = tl.full([BLOCK_M], -1.0e30, dtype=tl.float32)
    if CAUSAL:
        acc, sums, largest = attention_steps(
            acc, sums, largest, q, k_from, v_from, queries, first, 0, block * BLOCK_M,
            HEAD, BLOCK_N, False, DESCRIPTORS,
        )  # fmt: skip
        acc, sums, largest = attention_steps(
            acc, sums, largest, q, k_from, v_from, queries, first, block * BLOCK_M,
            (block + 1) * BLOCK_M, HEAD, BLOCK_N, True, DESCRIPTORS,
        )  # fmt: skip
    else:
        acc, sums, largest = attention_steps(
            acc, sums, largest, q, k_from, v_from, queries, first, 0, LENGTH,
            HEAD, BLOCK_N, False, DESCRIPTORS,
        )  # fmt: skip
    return acc / sums[:, None], largest + tl.math.log2(sums)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale2, LENGTH: tl.constexpr, HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    base = head * LENGTH * HEAD
    queries = block * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, HEAD)
    offsets = queries[:, None] * HEAD + features[None, :]
    q = tl.load(q_ptr + base + offsets)
    out, lse = attention_of_block(
        q, k_ptr + base, v_ptr + base, block, 0, scale2, LENGTH, HEAD, BLOCK_M, BLOCK_N, CAUSAL,
        False,
    )  # fmt: skip
    tl.store(out_ptr + base + offsets, out.to(out_ptr.dtype.element_ty))
    tl.store(lse_ptr + head * LENGTH + queries, lse)


@triton.jit
def descriptor_attention_kernel(
    q_desc, k_desc, v_desc, out_desc, lse_ptr, scale2, LENGTH: tl.constexpr, HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    first = tl.program_id(1) * LENGTH
    row = first + block * BLOCK_M
    q = q_desc.load([row, 0])
    out, lse = attention_of_block(
        q, k_desc, v_desc, block, first, scale2, LENGTH, HEAD, BLOCK_M, BLOCK_N, CAUSAL, True
    )
    out_desc.store([row, 0], out.to(q.dtype))
    tl.store(lse_ptr + row + tl.arange(0, BLOCK_M), lse)


@triton.jit
def delta_kernel(out_ptr, d_out_ptr, delta_ptr, HEAD: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    offsets = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    out = tl.load(out_ptr + offsets).to(tl.float32)
    d_out = tl.load(d_out_ptr + offsets).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * d_out, axis=1))


@triton.jit
def keys_kernel(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, d_k_ptr, d_v_ptr, scale, scale2,
    LENGTH: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values: walks over the queries that see them."""
    head = tl.program_id(1).to(tl.int64)
    base = head * LENGTH * HEAD
    features = tl.arange(0, HEAD)
    keys = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    own = base + keys[:, None] * HEAD + features[None, :]
    k = tl.load(k_ptr + own)
    v = tl.load(v_ptr + own)
    d_k = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    d_v = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    low = 0
    if CAUSAL:
        low = tl.program_id(0) * BLOCK_N
    for start in range(low, LENGTH, BLOCK_M):
        queries = start + tl.arange(0, BLOCK_M)
        across = base + queries[None, :] * HEAD + features[:, None]
        q_t = tl.load(q_ptr + across)
        lse = tl.load(lse_ptr + head * LENGTH + queries)
        weights = tl.math.exp2(tl.dot(k, q_t) * scale2 - lse[None, :])
        if CAUSAL:
            weights = tl.where(keys[:, None] <= queries[None, :], weights, 0.0)
        d_out = tl.load(d_out_ptr + base + queries[:, None] * HEAD + features[None, :])
        d_v = tl.dot(weights.to(d_out.dtype), d_out, d_v)
        delta = tl.load(delta_ptr + head * LENGTH + queries)
        d_weights = tl.dot(v, tl.trans(d_out))
        d_scores = weights * (d_weights - delta[None, :])
        d_k = tl.dot(d_scores.to(q_t.dtype), tl.trans(q_t), d_k)
    tl.store(d_k_ptr + own, (d_k * scale).to(d_k_ptr.dtype.element_ty))
    tl.store(d_v_ptr + own, d_v.to(d_v_ptr.dtype.element_ty))


@triton.jit
def queries_kernel(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, d_q_ptr, scale, scale2,
    LENGTH: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries: walks over the keys that they see."""
    head = tl.program_id(1).to(tl.int64)
    base = head * LENGTH * HEAD
    features = tl.arange(0, HEAD)
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    own = base + queries[:, None] * HEAD + features[None, :]
    q = tl.load(q_ptr + own)
    d_out = tl.load(d_out_ptr + own)
    lse = tl.load(lse_ptr + head * LENGTH + queries)
    delta = tl.load(delta_ptr + head * LENGTH + queries)
    d_q = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    high = LENGTH
    if CAUSAL:
        high = (tl.program_id(0) + 1) * BLOCK_M
    for start in range(0, high, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        across = base + keys[None, :] * HEAD + features[:, None]
        k_t = tl.load(k_ptr + across)
        v_t = tl.load(v_ptr + across)
        weights = tl.math.exp2(tl.dot(q, k_t) * scale2 - lse[:, None])
        if CAUSAL:
            weights = tl.where(keys[None, :] <= queries[:, None], weights, 0.0)
        d_scores = weights * (tl.dot(d_out, v_t) - delta[:, None])
        d_q = tl.dot(d_scores.to(k_t.dtype), tl.trans(k_t), d_q)
    tl.store(d_q_ptr + own, (d_q * scale).to(d_q_ptr.dtype.element_ty))


@triton.jit
def eight_arguments_kernel(a, b, c, d, e, f, g, h):
    if e + f + g + h == -1:  # never
        tl.store(a, tl.load(b) + tl.load(c) + tl.load(d))


@triton.jit
def many_constants_kernel(
    a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    if M + N + K + stride_am + stride_bk + stride_cm == -1:  # never
        tl.store(a, tl.load(b) + tl.load(c))


@triton.jit
def three_descriptors_kernel(a, b, c, M, N, K, BLOCK: tl.constexpr):
    if M + N + K == -1:  # never
        c.store([0, 0], tl.dot(a.load([0, 0]), b.load([0, 0])).to(c.dtype))


@triton.jit
def tuples_kernel(tensors, sizes, scale, BLOCK: tl.constexpr):
    if sizes[0] + sizes[1] == -1:  # never
        tl.store(tensors[0], tl.load(tensors[1]) * scale)
