"""Which acquires order what two programs do, as tsan sees it."""

import blockscope
import blockscope.language as tl
import pytest
import torch


@blockscope.jit
def hand_over(part, flag, out, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(part + i, i + 1)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="release")
    elif HOW == "unused":
        tl.atomic_add(flag, 0, sem="acquire")
        tl.store(out + i, tl.load(part + i))
    elif HOW == "stored":
        tl.store(out + N, tl.atomic_add(flag, 0, sem="acquire") + 1)
        tl.store(out + i, tl.load(part + i))
    elif HOW == "added":
        seen = tl.atomic_add(flag, 0, sem="acquire")
        total = 0
        for _ in range(2):
            total += seen
        tl.store(out + i, tl.load(part + i) + total)
    elif HOW == "branch":
        seen = tl.atomic_add(flag, 0, sem="acquire")
        if seen == 1:
            tl.store(out + i, tl.load(part + i))
    elif HOW == "choice":
        seen = tl.atomic_add(flag, 0, sem="acquire")
        tl.store(out + i, tl.where(seen == 1, tl.load(part + i), -1))
    elif HOW == "mask":
        seen = tl.atomic_add(flag + i * 0, 0, sem="acquire")
        tl.store(out + i, tl.load(part + i, mask=seen == 1, other=-1))
    elif HOW == "address":
        seen = tl.atomic_add(flag, 0, sem="acquire")
        tl.store(out + i, tl.load(part + seen * i))
    elif HOW == "loop":
        while tl.atomic_cas(flag, 1, 1, sem="acquire") != 1:
            pass
        tl.store(out + i, tl.load(part + i))
    elif HOW == "bounds":
        for _ in range(tl.atomic_add(flag, 0, sem="acquire")):
            tl.store(out + i, tl.load(part + i))
    elif HOW == "poll":
        tl.atomic_poll(flag, 1)
        tl.store(out + i, tl.load(part + i))
    elif HOW == "relaxed first":
        while tl.atomic_load(flag, sem="relaxed") == 0:
            pass
        tl.atomic_load(flag, sem="acquire")
        tl.store(out + i, tl.load(part + i))
    elif HOW == "volatile first":
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.atomic_add(flag, 0, sem="acquire")
        tl.store(out + i, tl.load(part + i))


@pytest.mark.parametrize("how", ["unused", "stored", "added"])
def test_an_acquire_whose_value_decides_nothing_orders_nothing(how, mode):
    assert codes_of(how) == ["race-read-write"]


DECIDING = ["branch", "choice", "mask", "address", "loop", "bounds", "poll"]


@pytest.mark.parametrize("how", [*DECIDING, "relaxed first", "volatile first"])
def test_an_acquire_whose_value_decides_orders_what_follows(how, mode):
    assert codes_of(how) == []


@blockscope.jit
def sum_of_parts(x, total, count, out, SEM: tl.constexpr):
    arrived = tl.atomic_add(count, 1)
    tl.atomic_add(total, tl.load(x + tl.program_id(0)), sem=SEM)
    if arrived == tl.num_programs(0) - 1:
        tl.store(out, tl.load(total))


@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
def test_an_atomic_of_ones_own_hides_none_of_another_program(sem, mode):
    x, total, out = torch.ones(3), torch.zeros(1), torch.zeros(1)
    with blockscope.check("tsan") as report:
        sum_of_parts[(3,)](x, total, torch.zeros(1, dtype=torch.int32), out, sem)
    assert [finding.code for finding in report.findings] == ["race-read-write"]


def codes_of(how):
    part, out = torch.zeros(32, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    with blockscope.check("tsan") as report:
        hand_over[(2,)](part, torch.zeros(1, dtype=torch.int32), out, how, 32)
    return [finding.code for finding in report.findings]


@blockscope.jit
def hand_over_by_fence(part, flag, out, FENCE: tl.constexpr, WHERE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(part + i, i + 1)
        if WHERE != "reader":
            tl.inline_asm_elementwise(FENCE, "=r", [], tl.int32, is_pure=False, pack=1)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="relaxed")
    else:
        while tl.atomic_add(flag, 0, sem="relaxed") != 1:
            pass
        if WHERE != "writer":
            tl.inline_asm_elementwise(FENCE, "=r", [], tl.int32, is_pure=False, pack=1)
        tl.store(out + i, tl.load(part + i))


@pytest.mark.parametrize(
    "fence, where, codes",
    [
        ("fence.acq_rel.gpu;", "both", []),
        ("membar.gl;", "both", []),
        ("fence.sc.sys;", "both", []),
        ("fence.acq_rel.gpu;", "writer", ["race-read-write"]),
        ("fence.acq_rel.gpu;", "reader", ["race-read-write"]),
        ("fence.acq_rel.cta;", "both", ["race-read-write"]),
        ("membar.cta;", "both", ["race-read-write"]),
    ],
)
def test_fences_order_what_relaxed_atomics_hand_over(fence, where, codes, mode):
    part, out = torch.zeros(32, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    flag = torch.zeros(1, dtype=torch.int32)
    with blockscope.check("tsan") as report:
        hand_over_by_fence[(2,)](part, flag, out, fence + " mov.u32 $0, 0;", where, 32)
    assert [finding.code for finding in report.findings] == codes
