"""The warp model of tsan: what orders the warps of one program besides tl.debug_barrier."""

import blockscope
import blockscope.language as tl
import pytest
import torch


@blockscope.jit
def reversed_by_memory(out, flags, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, i)
    if HOW == "unused":
        tl.atomic_add(flags, 1, sem="relaxed")
    elif HOW == "used":
        tl.store(flags + N, tl.atomic_add(flags, 1, sem="relaxed"))
    elif HOW == "compared":
        tl.store(flags + N, tl.atomic_cas(flags, 0, 1))
    elif HOW == "waited for":
        while tl.atomic_add(flags, 1) < 2:
            pass
    elif HOW == "block":
        tl.store(flags + N + i, tl.atomic_add(flags + i, 1, sem="relaxed"))
    tl.store(out + N + i, tl.load(out + N - 1 - i))


@pytest.mark.parametrize("how", ["used", "compared", "waited for"])
def test_an_atomic_whose_result_all_warps_get_is_a_barrier(how, mode):
    assert found(how) == []


@pytest.mark.parametrize("how", ["nothing", "unused", "block"])
def test_an_atomic_whose_result_stays_with_its_threads_is_none(how, mode):
    assert found(how) == ["race-warp-order"]


def test_one_warp_keeps_its_order(mode):
    assert found("nothing", num_warps=1) == []


def found(how, **options):
    """The codes of the findings; the result is right in any case."""
    out, flags = torch.zeros(512, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
    with blockscope.check("tsan") as report:
        reversed_by_memory[(1,)](out, flags, how, 256, **options)
    assert out[256:].tolist() == list(range(255, -1, -1))
    return [finding.code for finding in report.findings]


@blockscope.jit
def in_place(x, index, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    back = N - 1 - i
    if HOW == "reversed":
        tl.store(x + i, tl.load(x + back))
    elif HOW == "hidden by the same lanes":
        other = tl.load(x + back)
        tl.store(x + i, tl.load(x + i) + other)
    elif HOW == "several loads":
        tl.store(x + i, tl.load(x + back) + tl.load(x + (i + 1) % N) + tl.load(x + (i + 5) % N))
    elif HOW == "one element of the block":
        tl.store(x + i, tl.load(x + i) - tl.load(x + N - 1))
    elif HOW == "an element of the block":
        y = tl.load(x + i)
        tl.store(x + N - 1, 1)
        tl.store(x + N + i, y)
    elif HOW == "the same lanes":
        tl.store(x + i, tl.load(x + i) + 1)
    elif HOW == "a barrier":
        y = tl.load(x + back)
        tl.debug_barrier()
        tl.store(x + i, y)
    elif HOW == "an atomic for all":
        y = tl.load(x + back)
        tl.store(x + i, y + tl.atomic_add(index, 1))
    elif HOW == "a sum":
        y = tl.load(x + back)
        tl.store(x + i, y - tl.sum(y, axis=0))
    elif HOW == "a flip":
        tl.store(x + i, tl.flip(tl.load(x + i), 0))
    elif HOW == "other rows":
        y = tl.load(index + i[None, :] // 2 + 0 * i[:, None])
        tl.store(x + i[:, None] * N + i[None, :], y, mask=i[:, None] < 2)


@pytest.mark.parametrize(
    "how",
    [
        "reversed",
        "hidden by the same lanes",
        "several loads",
        "one element of the block",
        "an element of the block",
    ],
)
def test_a_block_may_be_overwritten_before_all_warps_have_loaded_it(how, mode):
    assert found_in_place(how) == ["race-warp-order"]


@pytest.mark.parametrize(
    "how", ["the same lanes", "a barrier", "an atomic for all", "a sum", "a flip", "other rows"]
)
def test_what_orders_a_store_behind_a_load(how, mode):
    assert found_in_place(how) == []


def found_in_place(how):
    x, index = torch.arange(256, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    with blockscope.check("tsan") as report:
        in_place[(1,)](x, index, how, 128)
    return [finding.code for finding in report.findings]
