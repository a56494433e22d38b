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


def found(how):
    """The codes of the findings; the result is right in any case."""
    out, flags = torch.zeros(512, dtype=torch.int32), torch.zeros(512, dtype=torch.int32)
    with blockscope.check("tsan") as report:
        reversed_by_memory[(1,)](out, flags, how, 256)
    assert out[256:].tolist() == list(range(255, -1, -1))
    return [finding.code for finding in report.findings]
