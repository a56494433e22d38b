"""Rings of copies that end before their loop does, and rings that leave room for a second CTA, on
the machine for PTX."""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from ptx_machine import PtxError
from test_gpu_attention_machine import Program, check, rand

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


@pytest.fixture(autouse=True)
def setup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    torch.manual_seed(5)


@triton.jit
def product(
    a_ptr, b_ptr, out_ptr, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    m, n, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    a_ptrs = a_ptr + m[:, None] * k + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * BN + n[None, :]
    for start in range(0, k, BK):
        if MASKED:
            a = tl.load(a_ptrs, depth[None, :] < k - start, 0)
            b = tl.load(b_ptrs, depth[:, None] < k - start, 0)
        else:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * BN
    # Goes through shared memory on its way, where the ring has been.
    tl.store(out_ptr + m[:, None] * BN + n[None, :], acc.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("stages,is_masked", [(3, False), (4, False), (3, True)])
def test_copies_that_are_left_out_write_zeros(
    iterations: int, stages: int, is_masked: bool
) -> None:
    """All are waited for behind the loop, before what is there has the ring's bytes."""
    m, n, depth = 64, 128, 32
    k = iterations * depth
    a, b = rand(m, k), rand(max(k, 1), n)
    out = torch.empty(m, n, dtype=torch.float16)
    arguments = (a if k else rand(1), b, out, k)
    constants: dict[str, Any] = {"BM": m, "BN": n, "BK": depth, "MASKED": is_masked}
    program = Program(product, (1,), arguments, 4, stages, **constants)
    copies = re.findall(r"\t(@%p\d+ )?cp\.async\.c[ag]\..*, \d+(, %p\d+)?;", program.ptx)
    assert copies and all(bool(only_if) == is_masked for only_if, _ in copies)
    assert all(zeros for _, zeros in copies)
    assert ("cp.async.wait_group 0;" in program.ptx) != is_masked and "wgmma" in program.ptx
    for schedule in ("together", "first ahead", "random"):
        out.fill_(7)
        program.run(schedule)
        check(out, a.double() @ b[:k].double(), 2e-3)


def test_a_missing_wait_is_found() -> None:
    a, b, out = rand(64, 96), rand(96, 128), torch.empty(64, 128, dtype=torch.float16)
    constants: dict[str, Any] = {"BM": 64, "BN": 128, "BK": 32, "MASKED": False}
    program = Program(product, (1,), (a, b, out, 96), 4, 3, **constants)
    broken = program.ptx.replace("cp.async.wait_group 0;", "")
    with pytest.raises(PtxError, match="another thread has just written by 'cp.async"):
        program.run("random", broken)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale2,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    rows, features = tl.arange(0, BM), tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + features[None, :])
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    sums = tl.full([BM], 1e-30, dtype=tl.float32)
    largest = tl.full([BM], -1.0e30, dtype=tl.float32)
    for start in range(0, length, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + keys[None, :] * HEAD + features[:, None])
        scores = tl.dot(q, k) * scale2
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - new[:, None])
        shrink = tl.math.exp2(largest - new)
        sums = sums * shrink + tl.sum(weights, 1)
        v = tl.load(v_ptr + keys[:, None] * HEAD + features[None, :])
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
        largest = new
    tl.store(out_ptr + rows[:, None] * HEAD + features[None, :], acc / sums[:, None])


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 4])
def test_attention_gives_a_buffer_for_a_second_cta(blocks: int) -> None:
    """Three buffers of keys and values, 32 KiB each, beside queries of 32 KiB, leave no room for
    it; two do."""
    head, m, n = 128, 128, 64
    length = blocks * n
    q, k, v = rand(m, head), rand(max(length, 1), head), rand(max(length, 1), head)
    out = torch.empty(m, head)
    constants: dict[str, Any] = {"HEAD": head, "BM": m, "BN": n}
    scale2 = 1.44 / head**0.5
    program = Program(attention, (1,), (q, k, v, out, length, scale2), 4, 3, **constants)
    assert "ring: 2 buffers" in program.compiled.asm["plan"]
    assert program.compiled.metadata.shared <= 113 << 10
    scores = q.double() @ k[:length].double().T * scale2
    weights = torch.exp2(scores - scores.amax(1, keepdim=True)) if blocks else scores
    want = weights @ v[:length].double() / weights.sum(1, keepdim=True).clamp(min=1e-30)
    for schedule in ("together", "random"):
        out.fill_(7)
        program.run(schedule)
        check(out, want, 2e-3)


@triton.jit
def rotated_scores(
    q_ptr, k_ptr, cos_ptr, sin_ptr, v_ptr, out_ptr, length,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    rows, features = tl.arange(0, BM), tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + features[None, :])
    turned = (q.to(tl.float32) * 0.5).to(q.dtype)
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    for start in range(0, length, BN):
        at = (start + tl.arange(0, BN))[:, None] * HEAD + features[None, :]
        k, cos, sin = tl.load(k_ptr + at), tl.load(cos_ptr + at), tl.load(sin_ptr + at)
        along, across = k.to(tl.float32) * cos, k.to(tl.float32) * sin
        scores = tl.dot(q, tl.trans(along.to(q.dtype)))
        scores += tl.dot(turned, tl.trans(across.to(q.dtype)))
        v = tl.load(v_ptr + at).to(tl.float32)
        acc += tl.dot(scores, v)
    tl.store(out_ptr + rows[:, None] * HEAD + features[None, :], acc.to(q.dtype))


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 4])
def test_operands_share_bytes_for_a_second_cta(blocks: int) -> None:
    """Two operands of 16-bit keys and one of 32-bit values take 32 KiB apart, and 16 KiB where each
    waits until the one before is read."""
    head, m, n = 64, 64, 64
    length = blocks * n
    q, k, cos, sin, v = (rand(max(size, 1), head) for size in (m, length, length, length, length))
    out = torch.empty(m, head, dtype=torch.float16)
    constants: dict[str, Any] = {"HEAD": head, "BM": m, "BN": n}
    program = Program(rotated_scores, (1,), (q, k, cos, sin, v, out, length), 4, 3, **constants)
    assert "ring: 2 buffers" in program.compiled.asm["plan"]
    assert program.compiled.metadata.shared <= 113 << 10
    a, b, c, s, d = (each.double() for each in (q, k[:length], cos[:length], sin[:length], v))
    scores = a @ (b * c).half().double().T + a / 2 @ (b * s).half().double().T
    for schedule in ("together", "random"):
        out.fill_(7)
        program.run(schedule)
        check(out, scores @ d[:length], 5e-3)
