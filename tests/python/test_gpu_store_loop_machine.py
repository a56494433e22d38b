"""Loops that store, and one with a single buffer in its ring, without a GPU: loads of other
arguments begin early, which a launch has to check; run by ptx_matrix_machine.py, which finds races
and missing waits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import test_loops as loops  # noqa: E402

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
ARCHS = pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
HALF = torch.float16


def copies(kernel: Any) -> set[str]:
    """How the kernel copies: "load" and "store" by TMA, "cp.async"."""
    ptx = kernel.asm["ptx"]
    names = {"load": "cp.async.bulk.tensor.2d.shared", "store": "cp.async.bulk.tensor.2d.global",
             "cp.async": "cp.async.c"}  # fmt: skip
    return {name for name, text in names.items() if text in ptx}


@ARCHS
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("chunks", [2, 5])
def test_chunks(chunks: int, descriptors: bool, stages: int, arch: str, kernels: Any) -> None:
    loops.run_chunks(chunks, descriptors, "cpu", stages)
    (kernel,) = kernels
    by_tma = descriptors and arch == "sm_90a"
    pairs = sorted(map(tuple, kernel.data["disjoint"]))
    assert pairs == ([(0, 2), (1, 2)] if stages > 1 or by_tma else [])
    if stages > 1:
        assert copies(kernel) == ({"load", "store"} if by_tma else {"cp.async"})


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("descriptors", [False, True])
def test_chunks_of_two_warpgroups(descriptors: bool, arch: str, kernels: Any) -> None:
    loops.run_chunks(4, descriptors, "cpu", 3, warps=8, size=128)


@ARCHS
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("form", ["separate", "same"])
def test_what_the_next_iteration_loads(
    form: str, descriptors: bool, stages: int, arch: str, kernels: Any
) -> None:
    loops.run_growing(4, form, descriptors, "cpu", stages)
    by_tma = descriptors and arch == "sm_90a"
    early = {"load", "store"} if by_tma else {"cp.async"}
    in_turn = {"store"} if by_tma else set()  # each store is waited for
    assert copies(kernels[0]) == (early if form == "separate" else in_turn)
    assert ([0, 2] in map(list, kernels[0].data["disjoint"])) == (form == "separate")


@triton.jit
def scores_kernel(q_ptr, k_ptr, v_ptr, scores_ptr, out_ptr, length, N: tl.constexpr,
                  ROWS: tl.constexpr):  # fmt: skip
    """Stores between the two dots of an iteration; the second one comes an iteration later."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    q = tl.load(q_ptr + rows[:, None] * N + columns[None, :])
    total = tl.zeros((ROWS, N), tl.float32)
    for start in range(0, length, N):
        keys = start + tl.arange(0, N)
        k = tl.load(k_ptr + keys[None, :] * N + columns[:, None])
        scores = tl.dot(q, k).to(tl.float16)
        tl.store(scores_ptr + rows[:, None] * length + keys[None, :], scores)
        v = tl.load(v_ptr + keys[:, None] * N + columns[None, :])
        total = tl.dot(scores, v, total)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("warps", [4, 8])
def test_stores_between_two_products(warps: int, stages: int, arch: str, kernels: Any) -> None:
    size, rows, length = 64, 16 * warps, 320
    q, k, v = (torch.randint(-1, 2, (count, size)).half() for count in (rows, length, length))
    scores, out = torch.full((rows, length), 77.0).half(), torch.empty(rows, size)
    scores_kernel[(1,)](q, k, v, scores, out, length, size, rows,
                        num_stages=stages, num_warps=warps)  # fmt: skip
    want = (q.float() @ k.float().T).half()
    assert torch.equal(scores, want)
    assert torch.equal(out, want.float() @ v.float())
    pairs = sorted(map(list, kernels[0].data["disjoint"]))
    assert pairs == ([[1, 3], [2, 3]] if stages > 1 else [])
    independent = "mbarrier.arrive.shared" in kernels[0].asm["ptx"]
    assert independent == (warps == 8 and stages > 1)


@triton.jit
def overwriting_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, N: tl.constexpr, ROWS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    q = tl.load(q_ptr + rows[:, None] * N + columns[None, :])
    total = tl.zeros((ROWS, N), tl.float32)
    for start in range(0, length, N):
        keys = start + tl.arange(0, N)
        k = tl.load(k_ptr + keys[None, :] * N + columns[:, None])
        scores = tl.dot(q, k).to(tl.float16)
        v = tl.load(v_ptr + keys[:, None] * N + columns[None, :])
        total = tl.dot(scores, v, total)
        tl.store(v_ptr + keys[:, None] * N + columns[None, :], v + 1)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_values_that_are_stored_over_stay_in_their_iteration(arch: str, kernels: Any) -> None:
    """The second dot's operand is loaded before it is stored over, not an iteration later."""
    size, rows, length = 64, 64, 320
    q, k = (torch.randint(-1, 2, (count, size)).half() for count in (rows, length))
    v = torch.randint(-1, 2, (length, size)).half()
    before, out = v.clone(), torch.empty(rows, size)
    overwriting_kernel[(1,)](q, k, v, out, length, size, rows, num_stages=3)
    scores = (q.float() @ k.float().T).half()
    assert torch.equal(out, scores.float() @ before.float())
    assert torch.equal(v, before + 1)


@triton.jit
def replaced_kernel(q_ptr, k_ptr, out_ptr, N: tl.constexpr):
    """What TMA loads is stored over before it is used."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    q = tl.make_tensor_descriptor(q_ptr, [N, N], [N, 1], [N, N]).load([0, 0])
    k = tl.load(k_ptr + at)
    tl.store(q_ptr + at, k)
    tl.store(out_ptr + at, tl.dot(q, k))


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_a_copy_has_come_before_it_is_stored_over(arch: str, kernels: Any) -> None:
    size = 64
    q, k = (torch.randint(-1, 2, (size, size)).half() for _ in range(2))
    want, out = q.float() @ k.float(), torch.empty(size, size)
    replaced_kernel[(1,)](q, k, out, size)
    assert torch.equal(out, want) and torch.equal(q, k)
    assert copies(kernels[0]) == {"load"}
    ptx = kernels[0].asm["ptx"]
    assert ptx.index("mbarrier.try_wait") < ptx.index("st.global")


@triton.jit
def summed_kernel(q_ptr, k_ptr, out_ptr, count_ptr, length, SEM: tl.constexpr, N: tl.constexpr,
                  ROWS: tl.constexpr):  # fmt: skip
    """Adds to memory in each iteration, and asks for nothing that was there."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    q = tl.load(q_ptr + rows[:, None] * N + columns[None, :])
    for start in range(0, length, N):
        tl.assume(start >= 0)
        keys = start + tl.arange(0, N)
        mask = keys < length
        k = tl.load(k_ptr + keys[None, :] * N + columns[:, None], mask=mask[None, :], other=0.0)
        at = out_ptr + rows[:, None] * length + keys[None, :]
        tl.atomic_add(at, tl.dot(q, k), mask=mask[None, :], sem=SEM)
    tl.atomic_add(count_ptr, 1)


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize("length", [0, 64, 320, 200])
@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
def test_loads_begin_before_atomics_that_tell_nothing(
    sem: str, length: int, arch: str, kernels: Any
) -> None:
    size, rows = 64, 64
    q, k = (torch.randint(-1, 2, (count, size)).half() for count in (rows, length))
    out, count = torch.ones(rows, length), torch.zeros(1, dtype=torch.int32)
    for times in (1, 2):  # another launch adds to the same
        summed_kernel[(1,)](q, k, out, count, length, sem, size, rows, num_stages=3)
        assert torch.equal(out, 1 + times * (q.float() @ k.float().T))
    assert count.item() == 2
    assert copies(kernels[0]) == {"cp.async"}
    assert [1, 2] in map(list, kernels[0].data["disjoint"])


@triton.jit
def taken_kernel(k_ptr, next_ptr, out_ptr, count, N: tl.constexpr):
    """Each iteration takes a number: what it loads comes behind that."""
    columns = tl.arange(0, N)
    at = columns[:, None] * N + columns[None, :]
    total = tl.zeros((N, N), tl.float32)
    for i in range(count):
        mine = tl.atomic_add(next_ptr, 1)
        k = tl.load(k_ptr + i * N * N + at)
        total = tl.dot(k, k, total) + mine
    tl.store(out_ptr + at, total)


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_loads_stay_behind_atomics_that_tell_something(arch: str, kernels: Any) -> None:
    size, count = 64, 3
    k = torch.randint(-1, 2, (count, size, size)).half()
    out, taken = torch.empty(size, size), torch.zeros(1, dtype=torch.int32)
    taken_kernel[(1,)](k, taken, out, count, size, num_stages=3)
    assert torch.equal(out, (k.float() @ k.float()).sum(0) + 3)
    before, _, loop = kernels[0].asm["ttgir"].partition("scf.for")
    assert "tlg.async_copy" not in before
    assert 0 < loop.index("tl.atomic_rmw") < loop.index("tlg.async_copy")


@triton.jit
def states_kernel(k_ptr, v_ptr, g_ptr, states_ptr, length, KEYS: tl.constexpr,
                  VALUES: tl.constexpr, CHUNK: tl.constexpr, GATED: tl.constexpr):  # fmt: skip
    """The state before each chunk is stored first, then decays and takes the chunk in."""
    keys, values = tl.arange(0, KEYS), tl.arange(0, VALUES)
    state = tl.zeros((KEYS, VALUES), tl.float32)
    for chunk in range(tl.cdiv(length, CHUNK)):
        to = states_ptr + chunk * KEYS * VALUES + keys[:, None] * VALUES + values[None, :]
        tl.store(to, state.to(states_ptr.dtype.element_ty))
        steps = chunk * CHUNK + tl.arange(0, CHUNK)
        valid = steps < length
        k = tl.load(k_ptr + steps[None, :] * KEYS + keys[:, None], mask=valid[None, :], other=0.0)
        v = tl.load(v_ptr + steps[:, None] * VALUES + values[None, :], mask=valid[:, None],
                    other=0.0)  # fmt: skip
        decay = tl.load(g_ptr + chunk)
        if GATED:  # an operand that threads put into shared memory
            v = (v * decay).to(v.dtype)
        state = state * decay + tl.dot(k, v)
    to = states_ptr + tl.cdiv(length, CHUNK) * KEYS * VALUES
    tl.store(to + keys[:, None] * VALUES + values[None, :], state.to(states_ptr.dtype.element_ty))


@ARCHS
@pytest.mark.parametrize("warps,stages", [(4, 1), (4, 2), (4, 3), (4, 4), (8, 3)])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("length", [0, 64, 96, 200, 320])
def test_states_are_stored_before_the_copies_come(
    length: int, gated: bool, warps: int, stages: int, arch: str, kernels: Any
) -> None:
    size, chunk = 64 * warps // 4, 64
    chunks = -(-length // chunk)
    k, v = (torch.randn(max(length, 1), n).to(HALF) for n in (size, 64))
    g = torch.rand(max(chunks, 1))
    states = torch.full((chunks + 1, size, 64), 7.0, dtype=HALF)
    states_kernel[(1,)](k, v, g, states, length, KEYS=size, VALUES=64, CHUNK=chunk,
                        GATED=gated, num_warps=warps, num_stages=stages)  # fmt: skip
    state = torch.zeros(size, 64, dtype=torch.float64)
    for i in range(chunks + 1):
        error = (states[i].double() - state).abs().max()
        assert error <= 2e-3 * max(state.abs().max(), 1)
        if i < chunks:
            part = slice(i * chunk, min((i + 1) * chunk, length))
            rows = (v[part] * g[i]).to(HALF) if gated else v[part]
            state = state * g[i].double() + k[part].double().T @ rows.double()
    (kernel,) = kernels
    if arch == "sm_90a" and stages > 1:
        loop = kernel.asm["tlg"].partition("scf.for")[2]
        assert loop.index("tl.store") < loop.index("tlg.async_wait")


@pytest.mark.parametrize("arch", ["sm_90a"])
@pytest.mark.parametrize(
    ("heads", "keys", "dtype"),
    [(1, 0, HALF), (1, 128, HALF), (2, 200, HALF), (1, 384, HALF),
     (1, 0, torch.float32), (1, 200, torch.float32)],
)  # fmt: skip
def test_one_buffer_of_what_threads_read(
    heads: int, keys: int, dtype: Any, arch: str, kernels: Any
) -> None:
    """Two programs have room for it, whose warps hide one another's waits."""
    loops.run_biased_attention(heads, keys, "cpu", dtype)
    (kernel,) = kernels
    assert kernel.asm["plan"].count(", which is filled again once it is read") == 1
    assert kernel.metadata.shared <= 228 * 512 - 1024
