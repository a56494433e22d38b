"""The kernels of the benchmark, plain Triton, and a loop that times one of them.

The same file runs in Triton's interpreter and in both modes of Blockscope. It prints one JSON
object: the seconds of every launch and the largest error against torch. A launch that is watched
takes turns with one that is not, whose seconds are ``plain``. bench.py calls it.
"""

import argparse
import contextlib
import json
import math
import os
import tempfile
import time

import torch
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
def softmax_kernel(out_ptr, x_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < cols
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    tl.store(out_ptr + row * stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def layer_norm_kernel(out_ptr, x_ptr, w_ptr, b_ptr, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < cols, other=0.0).to(tl.float32)
        x = tl.where(columns < cols, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < cols
        w = tl.load(w_ptr + columns, mask=mask)
        b = tl.load(b_ptr + columns, mask=mask)
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + columns, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(m, BLOCK_M)
    blocks_n = tl.cdiv(n, BLOCK_N)
    per_group = GROUP * blocks_n
    first_m = pid // per_group * GROUP
    rows_in_group = min(blocks_m - first_m, GROUP)
    pid_m = first_m + pid % per_group % rows_in_group
    pid_n = pid % per_group // rows_in_group
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_block = a_ptr + rows[:, None] * stride_am + steps[None, :] * stride_ak
    b_block = b_ptr + steps[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(k, BLOCK_K)):
        left = steps < k - step * BLOCK_K
        a = tl.load(a_block, mask=left[None, :], other=0.0)
        b = tl.load(b_block, mask=left[:, None], other=0.0)
        total = tl.dot(a, b, total)
        a_block += BLOCK_K * stride_ak
        b_block += BLOCK_K * stride_bk
    c_block = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_block, total.to(tl.float16), mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, stride_head, stride_row, length, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    base = tl.program_id(1) * stride_head
    queries = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, HEAD)
    own = base + queries[:, None] * stride_row + features[None, :]
    q = tl.load(q_ptr + own)
    highest = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    out = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    for start in range(0, length, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + keys[None, :] * stride_row + features[:, None])
        scores = tl.dot(q, k) * scale
        new_highest = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_highest[:, None])
        rescale = tl.exp2(highest - new_highest)
        total = total * rescale + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + base + keys[:, None] * stride_row + features[None, :])
        out = tl.dot(weights.to(tl.float16), v, out * rescale[:, None])
        highest = new_highest
    tl.store(out_ptr + own, (out / total[:, None]).to(tl.float16))


@triton.jit
def ticket_kernel(x_ptr, part_ptr, out_ptr, count_ptr, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(part_ptr + program, tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)))
    if tl.atomic_add(count_ptr, 1) == tl.num_programs(0) - 1:
        parts = tl.arange(0, PARTS)
        mask = parts < tl.num_programs(0)
        tl.store(out_ptr, tl.sum(tl.load(part_ptr + parts, mask=mask, other=0.0)))
        tl.store(count_ptr, 0)


@triton.jit
def locked_kernel(x_ptr, sums_ptr, locks_ptr, cols, LOCKS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < cols
    x = tl.load(x_ptr + row * cols + columns, mask=mask)
    x = x * tl.sigmoid(x) + tl.exp(-x * x)
    sums = sums_ptr + row % LOCKS * cols + columns
    while tl.atomic_cas(locks_ptr + row % LOCKS, 0, 1) == 1:
        pass
    tl.store(sums, tl.load(sums, mask=mask) + x, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(locks_ptr + row % LOCKS, 0)


@triton.jit
def dealt_kernel(a_ptr, b_ptr, c_ptr, next_ptr, size, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    across = size // BLOCK
    tile = tl.atomic_add(next_ptr, 1)
    while tile < across * across:
        rows = tile // across * BLOCK + tl.arange(0, BLOCK)
        columns = tile % across * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in range(0, size, BLOCK_K):
            steps = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * size + steps[None, :])
            b = tl.load(b_ptr + steps[:, None] * size + columns[None, :])
            total = tl.dot(a, b, total)
        tl.store(c_ptr + rows[:, None] * size + columns[None, :], total)
        tile = tl.atomic_add(next_ptr, 1)


@triton.jit
def racing_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)  # neighbours share an element
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(scale):
    n = (1 << 22) // scale
    x, y = torch.rand(n), torch.rand(n)
    out = torch.empty_like(x)
    grid = (triton.cdiv(n, 1024),)
    return lambda: add_kernel[grid](x, y, out, n, BLOCK=1024), out, lambda: x + y


def softmax(scale):
    x = torch.randn(4096 // scale, 1000)
    out = torch.empty_like(x)
    launch = lambda: softmax_kernel[(len(x),)](out, x, x.stride(0), 1000, BLOCK=1024)
    return launch, out, lambda: torch.softmax(x, dim=1)


def layer_norm(scale):
    x, w, b = torch.randn(4096 // scale, 1000), torch.rand(1000), torch.rand(1000)
    out = torch.empty_like(x)
    launch = lambda: layer_norm_kernel[(len(x),)](out, x, w, b, x.stride(0), 1000, 1e-5, BLOCK=1024)
    return launch, out, lambda: torch.nn.functional.layer_norm(x, (1000,), w, b, 1e-5)


def matmul(scale):
    size = max(64, round(1024 / scale ** (1 / 3) / 64) * 64)
    a, b = torch.randn(size, size).half() / 8, torch.randn(size, size).half() / 8
    c = torch.empty(size, size, dtype=torch.float16)
    grid = (triton.cdiv(size, 64) ** 2,)
    launch = lambda: matmul_kernel[grid](
        a, b, c, size, size, size, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP=8,
    )  # fmt: skip
    return launch, c, lambda: a.float() @ b.float()


def attention(scale):
    heads, length, size = max(1, 8 // scale), 1024, 64
    q, k, v = (torch.randn(heads, length, size).half() for _ in range(3))
    out = torch.empty_like(q)
    launch = lambda: attention_kernel[(length // 64, heads)](
        q, k, v, out, q.stride(0), q.stride(1), length, math.log2(math.e) / 8,
        HEAD=size, BLOCK_M=64, BLOCK_N=64,
    )  # fmt: skip
    attend = torch.nn.functional.scaled_dot_product_attention
    return launch, out, lambda: attend(q.float(), k.float(), v.float())


def ticket(scale):
    n = (1 << 22) // scale
    x, parts, out = torch.rand(n), torch.zeros(4096), torch.zeros(1)
    count = torch.zeros(1, dtype=torch.int32)
    grid = (triton.cdiv(n, 1024),)
    launch = lambda: ticket_kernel[grid](x, parts, out, count, n, BLOCK=1024, PARTS=4096)
    return launch, out, lambda: x.double().sum().view(1)


def locks(scale):
    x = torch.rand(4096 // scale, 1000)
    sums, locks = torch.zeros(64, 1000), torch.zeros(64, dtype=torch.int32)

    def launch():
        sums.zero_()
        locked_kernel[(len(x),)](x, sums, locks, 1000, LOCKS=64, BLOCK=1024)

    right = lambda: (x * torch.sigmoid(x) + torch.exp(-x * x)).view(-1, 64, 1000).sum(0)
    return launch, sums, right


def dealt(scale):
    size = max(64, round(512 / scale ** (1 / 3) / 64) * 64)
    a, b = torch.randn(size, size).half() / 8, torch.randn(size, size).half() / 8
    c, tile = torch.empty(size, size), torch.zeros(1, dtype=torch.int32)

    def launch():
        tile.zero_()
        dealt_kernel[(16,)](a, b, c, tile, size, BLOCK=64, BLOCK_K=32)

    return launch, c, lambda: a.float() @ b.float()


def racing(scale):
    n = (1 << 22) // scale
    x, y = torch.rand(n), torch.rand(n)
    out = torch.empty_like(x)
    grid = (triton.cdiv(n, 1023),)
    return lambda: racing_kernel[grid](x, y, out, n, BLOCK=1024), out, lambda: x + y


CASES = {
    f.__name__: f
    for f in (vector_add, softmax, layer_norm, matmul, attention, ticket, locks, dealt, racing)
}


def watched_by(how, folder):
    """The context that launches run in: nothing, checks, or the trace recorder."""
    if how == "nothing":
        return contextlib.nullcontext()
    import blockscope

    if how == "trace":
        return blockscope.trace(os.path.join(folder, "trace.h5"))
    return blockscope.check(how)


def measure(case, scale, seconds, least, most, how):
    launch, out, reference = CASES[case](scale)
    times, plain, first = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        while len(times) < least or (time.perf_counter() - begin < seconds and len(times) < most):
            if how != "nothing":
                start = time.perf_counter()
                launch()
                plain.append(time.perf_counter() - start)
            start = time.perf_counter()
            with watched_by(how, folder):
                launch()
            times.append(time.perf_counter() - start)
            if len(times) == 1 and not first and least > 1:
                first = times.pop()  # compiles, touches the memory
                plain.clear()
                begin = time.perf_counter()
    error = (out.double() - reference().double()).abs().max().item()
    return {
        "case": case, "seconds": times, "plain": plain, "first": first or times[0], "error": error,
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--scale", type=int, default=1, help="divide the problem by this")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend")
    parser.add_argument("--least", type=int, default=5, help="launches at least")
    parser.add_argument("--most", type=int, default=200, help="launches at most")
    parser.add_argument("--watch", default="nothing", help="nothing, trace, or a list of checks")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    a = arguments
    print(json.dumps(measure(a.case, a.scale, a.seconds, a.least, a.most, a.watch)))
