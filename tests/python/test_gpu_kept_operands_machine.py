"""Operands of mma.sync that a loop keeps, or that two dots share, in shared memory: run by
ptx_matrix_machine.py.
"""

from __future__ import annotations

import re
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import pytest
from machine_backend import machine_for

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


def run(kernel: Any, arguments: list[Any], **options: Any) -> Any:
    compiled = kernel.warmup(*arguments, grid=(1,), arch="sm_90a", **options)
    values = [each for each in arguments if isinstance(each, np.ndarray)]
    machine_for(compiled).run((1, 1, 1), values, compiled.metadata.shared)
    return compiled


@triton.jit
def many_factors(x_ptr, w_ptr, out_ptr, STEPS: tl.constexpr, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tile = i * SIZE + j
    a = tl.load(w_ptr + tile)
    b = tl.load(w_ptr + SIZE * SIZE + tile)
    c = tl.load(w_ptr + 2 * SIZE * SIZE + tile)
    d = tl.load(w_ptr + 3 * SIZE * SIZE + tile)
    e = tl.load(w_ptr + 4 * SIZE * SIZE + tile)
    for step in range(STEPS):
        y = tl.load(x_ptr + step * SIZE * SIZE + tile)
        y = tl.dot(y, a).to(tl.float16) + tl.dot(y, a.T).to(tl.float16)
        y = tl.dot(y, b).to(tl.float16) + tl.dot(y, b.T).to(tl.float16)
        y = tl.dot(y, c).to(tl.float16) + tl.dot(y, c.T).to(tl.float16)
        y = tl.dot(y, d).to(tl.float16) + tl.dot(y, d.T).to(tl.float16)
        y = tl.dot(y, e).to(tl.float16) + tl.dot(y, e.T).to(tl.float16)
        tl.store(out_ptr + step * SIZE * SIZE + tile, y)


def test_one_warp_reads_from_shared_memory_what_its_loop_would_keep() -> None:
    """Ten operands of 16 words would leave few registers for all else."""
    random = np.random.default_rng(0)
    x = random.integers(-2, 3, (3, 32, 32)).astype(np.float16)
    w = random.integers(0, 2, (5, 32, 32)).astype(np.float16) / 16
    out = np.zeros_like(x)
    compiled = run(many_factors, [x, w, out, 3, 32], num_warps=1, num_stages=1)
    y = x
    for factor in w:
        y = (y @ factor) + (y @ factor.T)
    np.testing.assert_allclose(out, y, rtol=4e-3, atol=4e-3)
    assert compiled.n_spills == 0
    assert "local_store" in compiled.asm["tlg"].split("scf.for")[0]


@triton.jit
def shared_by_dots(x_ptr, y_ptr, v_ptr, out_ptr, STEPS: tl.constexpr, D: tl.constexpr):
    i, j, k = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :], tl.arange(0, D)[None, :]
    total = tl.zeros((32, D), tl.float32)
    for step in range(STEPS):
        x = tl.load(x_ptr + step * 1024 + i * 32 + j)
        y = tl.load(y_ptr + step * 1024 + i * 32 + j)
        v = tl.load(v_ptr + step * 32 * D + i * D + k).to(tl.float32) * 0.5
        scores = tl.dot(x, y.T).to(tl.float32)
        total += tl.dot(scores, v) + tl.dot(x.to(tl.float32).T, v)
    tl.store(out_ptr + i * D + k, total)


def test_two_dots_read_one_buffer() -> None:
    random = np.random.default_rng(1)
    x, y = (random.integers(-2, 3, (2, 32, 32)).astype(np.float16) for _ in range(2))
    v = random.integers(-3, 4, (2, 32, 128)).astype(np.float16)
    out = np.zeros((32, 128), np.float32)
    compiled = run(shared_by_dots, [x, y, v, out, 2, 128], num_warps=2)
    half = v.astype(np.float32) * 0.5
    x, y = x.astype(np.float32), y.astype(np.float32)
    expected = sum((a @ b.T) @ c + a.T @ c for a, b, c in zip(x, y, half, strict=True))
    np.testing.assert_array_equal(out, expected)
    loop = compiled.asm["tlg"].split("scf.for")[-1].splitlines()
    dots = [line for line in loop if "tlg.mma" in line and "!tlg.shared<[32, 128], f32" in line]
    stores = [line for line in loop if "tlg.local_store" in line and "<[32, 128], f32" in line]
    assert len(dots) == 2 and len(stores) == 1


@triton.jit
def one_warp_attention(q_ptr, k_ptr, v_ptr, out_ptr, keys, SIZE: tl.constexpr, D: tl.constexpr):
    """16 rows and one warp, which holds all of a block of keys and all of their values. Copies to
    shared memory would put zeros behind them."""
    rows, at, d = tl.arange(0, 16)[:, None], tl.arange(0, SIZE), tl.arange(0, D)
    q = tl.load(q_ptr + rows * D + d[None, :])
    most = tl.full((16,), -1e30, tl.float32)
    total = tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    for start in range(0, keys, SIZE):
        key = start + at
        k = tl.load(k_ptr + key[None, :] * D + d[:, None], mask=key[None, :] < keys, other=1.0)
        v = tl.load(v_ptr + key[:, None] * D + d[None, :], mask=key[:, None] < keys, other=1.0)
        scores = tl.where(key[None, :] < keys, tl.dot(q, k) * 0.125, -1e30)
        larger = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - larger[:, None])
        kept = tl.exp(most - larger)
        total = total * kept + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * kept[:, None])
        most = larger
    tl.store(out_ptr + rows * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("keys", [0, 50, 64, 136])
def test_large_blocks_of_one_warp_are_loaded_one_by_one(keys: int) -> None:
    """Of 128 registers each, beside 64 of sums: each goes into shared memory where it is loaded."""
    random = np.random.default_rng(1)
    q = random.standard_normal((16, 128)).astype(np.float16)
    k, v = random.standard_normal((2, max(keys, 1), 128)).astype(np.float16)
    out = np.zeros((16, 128), np.float32)
    compiled = one_warp_attention.warmup(
        q, k, v, out, keys, SIZE=64, D=128, grid=(1,), arch="sm_90a", num_warps=1, num_stages=1
    )
    machine_for(compiled).run((1, 1, 1), [q, k, v, out, keys], compiled.metadata.shared)
    ops = re.findall(r"tl\.load|local_store|tlg\.mma", compiled.asm["tlg"].partition("scf.for")[2])
    assert ops[:6] == ["tl.load", "local_store", "tl.load", "local_store", "tlg.mma", "tlg.mma"]
    assert compiled.metadata.shared < 48 * 1024
    if keys == 0:
        assert np.isnan(out).all()
        return
    scores = 0.125 * q.astype(np.float64) @ k.astype(np.float64).T
    p = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(out, p @ v / p.sum(1, keepdims=True), rtol=4e-3, atol=4e-3)
