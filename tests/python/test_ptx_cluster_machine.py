"""Clusters of CTAs in the machine that runs PTX on the CPU: small kernels, right ones, which ptxas
takes too, and wrong ones, which the machine finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import ptx_machine
import pytest
from cluster_ptx import END, RELAXED, RELEASE, START, SYNC, WAIT, is_taken, ptx, run
from ptx_machine import NotInMachine, PtxError, Schedule


def fails(body: str, message: str, **options: Any) -> None:
    """In whatever order the warps run."""
    for seed in (None, 1, 2):
        with pytest.raises(PtxError, match=message):
            run(ptx(body), seed=seed, **options)


THREADS = np.arange(64)
OTHER = np.stack([THREADS + 64, THREADS])
FILL = "add.s32 %r11, %r9, 0; st.shared.b32 [%r5], %r11;"
READ = "ld.shared::cluster.b32 %r10, [%r6];"


# -- reads and writes of another CTA's memory --------------------------------------------------


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_read_of_the_other_cta(tmp_path: Path, seed: int | None) -> None:
    text = ptx(START + FILL + SYNC + READ + SYNC + END)
    is_taken(text, tmp_path)
    assert (run(text, programs=3, seed=seed) == OTHER + 128 * np.arange(3)[:, None, None]).all()


def test_a_missing_barrier_names_both_sides() -> None:
    fails(START + FILL + READ + SYNC + END, r"'ld.shared::cluster.b32 %r10, \[%r6\]' of CTA [01]: "
          r"a read of what (another thread has just|nobody has) written")  # fmt: skip
    with pytest.raises(PtxError, match=r"of CTA 0: .* by 'st.shared.b32 .*' of CTA 1"):
        run(ptx(START + FILL + READ + SYNC + END))


def test_a_barrier_of_the_cta_orders_no_other_cta() -> None:
    fails(START + FILL + "bar.sync 0;" + READ + SYNC + END,
          "a read of what (another thread has just|nobody has) written")  # fmt: skip


def test_an_exit_too_early() -> None:
    fails(START + FILL + SYNC + READ + END, "CTA [01] may have ended before 'ld.shared::cluster"
          "|the shared memory of CTA [01], which has ended")  # fmt: skip


def test_a_write_over_what_is_read() -> None:
    body = START + FILL + SYNC + READ + "st.shared.b32 [%r5], %r1;" + SYNC + END
    fails(body, "a write of what another thread has just read|a read of what another thread")
    assert run(ptx(body.replace(READ, READ + SYNC))).shape == (1, 2, 64)


def test_a_write_into_the_other_cta(tmp_path: Path) -> None:
    write = "st.shared::cluster.b32 [%r6], %r9;"
    read = "ld.shared.b32 %r10, [%r5];"
    text = ptx(START + SYNC + write + SYNC + read + END)
    is_taken(text, tmp_path)
    assert (run(text)[0] == OTHER).all()
    fails(START + write + SYNC + read + END, "of CTA [01], which may not have begun")
    fails(START + SYNC + write + read + END, "written")


@pytest.mark.parametrize("seed", [None, 1])
def test_a_ring_of_several_ctas(seed: int | None) -> None:
    next_one = "add.s32 %r3, %r2, 1; and.b32 %r3, %r3, 3;"
    body = START.replace("xor.b32 %r3, %r2, 1;", next_one) + FILL + SYNC + READ + SYNC + END
    out = run(ptx(body, ""), programs=2, num_ctas=4, seed=seed)
    own = np.arange(2 * 4 * 64).reshape(2, 4, 64)
    assert (out == np.roll(own, -1, axis=1)).all()


def test_vectors_widths_and_predicates(tmp_path: Path) -> None:
    fill = "shl.b32 %r12, %r1, 3; sub.s32 %r13, %r5, %r4; add.s32 %r13, %r13, %r12;"
    fill += "mapa.shared::cluster.u32 %r14, %r13, %r3; st.shared.v2.b32 [%r13], {%r9, %r1};"
    read = """
  ld.shared::cluster.v2.b32 {%r10, %r11}, [%r14];
  ld.shared::cluster.b16 %h1, [%r14];
  ld.shared::cluster.b64 %rd4, [%r14];
  ld.shared::cluster.u8 %h2, [%r14+4];
  cvt.u32.u16 %r15, %h1;
  cvt.u32.u16 %r16, %h2;
  cvt.u32.u64 %r17, %rd4;
  setp.lt.s32 %p2, %r1, 32;
  mov.b32 %r18, 0;
  @%p2 ld.shared::cluster.b32 %r18, [%r14];
"""
    sums = "".join(f"add.s32 %r10, %r10, %r{k};" for k in (11, 15, 16, 17, 18))
    text = ptx(START + fill + SYNC + read + sums + SYNC + END)
    is_taken(text, tmp_path)
    expected = 3 * OTHER + 2 * THREADS + np.where(THREADS < 32, OTHER, 0)
    assert (run(text)[0] == expected).all()


def test_addresses_of_64_bits_and_generic_ones(tmp_path: Path) -> None:
    fill = """
  cvt.u64.u32 %rd4, %r4;
  mov.b64 %rd5, shared_memory;
  mapa.shared::cluster.u64 %rd6, %rd5, %r3;
  add.s64 %rd6, %rd6, %rd4;
  cvta.shared.u64 %rd7, %rd5;
  mapa.u64 %rd8, %rd7, %r3;
  add.s64 %rd9, %rd8, %rd4;
  add.s64 %rd10, %rd7, %rd4;
  cvta.to.shared::cluster.u64 %rd11, %rd10;
  cvta.shared::cluster.u64 %rd12, %rd6;
  cvta.to.shared.u64 %rd13, %rd10;
  getctarank.shared::cluster.u64 %r20, %rd6;
  getctarank.u64 %r21, %rd9;
  mapa.shared::cluster.u32 %r22, shared_memory, %r3;
  st.shared::cluster.b32 [%rd11], %r9;
"""
    reads = [
        "ld.shared::cluster.b32 %r10, [%rd6];",
        "ld.b32 %r11, [%rd9];",
        "ld.b32 %r12, [%rd10];",
        "ld.b32 %r13, [%rd12];",
        "ld.shared.b32 %r14, [%rd13];",
        "add.s32 %r22, %r22, %r4; ld.shared::cluster.b32 %r15, [%r22];",
        "ld.shared::cluster.b32 %r16, [%r5];",
    ]
    sums = "".join(f"add.s32 %r10, %r10, %r{k};" for k in (11, 12, 13, 14, 15, 16, 20, 21))
    text = ptx(START + fill + SYNC + "".join(reads) + sums + SYNC + END)
    is_taken(text, tmp_path)
    own = OTHER[::-1]
    assert (run(text)[0] == 4 * OTHER + 3 * own + 2 * np.array([[1], [0]])).all()


def test_atomics_on_the_other_cta(tmp_path: Path) -> None:
    zero = "setp.eq.s32 %p1, %r1, 0; mov.b32 %r20, 0; @%p1 st.shared.b32 [%r5], %r20;"
    add = "mapa.shared::cluster.u32 %r21, shared_memory, 0;"
    add += "atom.shared::cluster.add.u32 %r22, [%r21], 1; red.shared::cluster.add.u32 [%r21], 2;"
    text = ptx(START + zero + SYNC + add + SYNC + "ld.shared.b32 %r10, [shared_memory];" + END)
    is_taken(text, tmp_path)
    assert run(text)[0, 0].tolist() == [3 * 128] * 64
    assert run(text)[0, 1].tolist() == [0] * 64


def test_addresses_that_are_nobodys() -> None:
    fails(START + FILL + SYNC + "ld.shared::cluster.b32 %r10, [%r6+2048];" + SYNC + END,
          "shared memory has 1024 bytes")  # fmt: skip
    fails(START + FILL + SYNC + "ld.shared::cluster.b32 %r10, [%r6+256];" + SYNC + END,
          "nobody has written")  # fmt: skip
    fails(START + FILL + SYNC + "ld.shared.b32 %r10, [%r6];" + SYNC + END,
          "an address of shared::cluster")  # fmt: skip
    fails(START + FILL + SYNC + "ld.shared.b32 %r10, [%r5+1024];" + SYNC + END,
          "shared memory has 1024 bytes")  # fmt: skip
    fails(START.replace("%r5, %r3", "%r5, 2") + SYNC + END, "has 2 CTAs, found CTA 2")
    for bytes in (516, 1000):
        fails(START + FILL + SYNC + f"ld.shared.b32 %r10, [%r5+{bytes}];" + SYNC + END,
              f"shared memory has {bytes} bytes", shared=bytes)  # fmt: skip


# -- the cluster's barrier ---------------------------------------------------------------------


def test_barriers_of_one_cta_go_on_without_the_other() -> None:
    """The first CTA waits for the second one, which has a barrier of its own."""
    body = START + "setp.eq.s32 %p1, %r2, 0; @%p1 bra $L1; bar.sync 0; bar.sync 0;"
    body += f"{RELEASE} bar.sync 0; bra $L2;\n$L1: {RELEASE}\n$L2: {WAIT} mov.b32 %r10, 1; {END}"
    for seed in (None, 1, 2, 3):
        assert run(ptx(body), seed=seed).all()


def test_deadlocks_say_who_is_elsewhere() -> None:
    first = START + "setp.eq.s32 %p1, %r2, 0;"
    fails(first + f"@%p1 bra $L1; {SYNC}\n$L1: mov.b32 %r10, 1;" + END,
          "nothing ends the wait of 'barrier.cluster.wait.aligned': CTA 0 has ended")  # fmt: skip
    fails(
        first + "@%p1 bra $L1; mov.b32 %r10, 1; setp.eq.s32 %p2, %r1, 3; @%p2 bra $L2; bar.sync 0;"
        f"bar.sync 1; \n$L2: bar.sync 2; bra $L3;\n$L1: {SYNC}\n$L3: {END}",
        r"nothing ends the wait of 'barrier.cluster.wait.aligned': thread \d+ of CTA 1 is at 'bar",
    )
    fails(START + RELEASE + RELEASE, "arrive twice")
    fails(START + WAIT, "no arrival before")


def test_threads_that_have_ended_need_not_arrive() -> None:
    body = START + "setp.gt.s32 %p1, %r1, 31; mov.b32 %r10, 1;" + END + "@%p1 ret;" + SYNC
    assert run(ptx(body)).all()


def test_an_aligned_barrier_is_of_whole_warps() -> None:
    fails(START + f"setp.eq.s32 %p1, %r1, 3; @%p1 {RELEASE} {WAIT}", "not all lanes of a warp")
    body = START + "setp.lt.s32 %p1, %r1, 5; @%p1 bra $L1; mov.b32 %r10, 1;\n$L1: "
    loose = (FILL + SYNC + READ + SYNC + END).replace(".aligned", "")
    assert (run(ptx(body + loose))[0] == OTHER).all()


def test_relaxed_arrivals_tell_only_what_fences_told() -> None:
    relaxed = f"{RELAXED} {WAIT}"
    fails(START + FILL + relaxed + READ + SYNC + END, "another thread has just written")
    for fence in ("fence.acq_rel.cluster;", "fence.sc.gpu;", "membar.gl;"):
        assert (run(ptx(START + FILL + fence + relaxed + READ + SYNC + END))[0] == OTHER).all()
    fails(START + FILL + "fence.acq_rel.cta;" + relaxed + READ + SYNC + END, "just written")
    fails(START + "fence.acq_rel.cluster;" + FILL + relaxed + READ + SYNC + END, "just written")
    fails(START + FILL + SYNC + READ + relaxed + END, "may have ended before")
    begin = START + relaxed + "st.shared::cluster.b32 [%r6], %r9;" + SYNC
    assert (run(ptx(begin + "ld.shared.b32 %r10, [%r5];" + END))[0] == OTHER).all()


def test_what_is_between_arrival_and_wait_is_in_no_order() -> None:
    apart = f"{RELEASE} {READ} {WAIT}"
    fails(START + FILL + apart + SYNC + END, "a read of what (another thread has just|nobody has)")
    late = f"{RELEASE} st.shared.b32 [%r5+512], %r9; {WAIT} ld.shared::cluster.b32 %r10, [%r6+512];"
    fails(START + FILL + late + SYNC + END, "a read of what another thread has just written")
    early = f"st.shared.b32 [%r5+512], %r9; {RELEASE} ld.shared.b32 %r12, [%r5]; {WAIT} {READ}"
    assert (run(ptx(START + FILL + early + SYNC + END))[0] == OTHER).all()


def test_branches_by_number(tmp_path: Path) -> None:
    """As LLVM makes them where each CTA does something else."""
    body = START + "and.b32 %r20, %r1, 3;\n$L_brx_0: .branchtargets\n\t$L0,\n\t$L1,\n\t$L2;\n"
    body += "brx.idx %r20, $L_brx_0;\n$L0:\n mov.b32 %r10, 10; bra $L3;\n$L1:\n mov.b32 %r10, 11;"
    body += f"bra $L3;\n$L2:\n mov.b32 %r10, 12;\n$L3:\n {SYNC} {END}"
    text = ptx(body.replace("%r1, 3", "%r1, 1"))
    is_taken(text, tmp_path)
    for seed in (None, 1):
        assert (run(text, seed=seed) == 10 + THREADS % 2).all()
    fails(body, "3 targets, found 3")


# -- registers and sizes -----------------------------------------------------------------------


def test_special_registers(tmp_path: Path) -> None:
    names = [
        "%cluster_ctarank", "%cluster_nctarank", "%cluster_ctaid.x", "%cluster_ctaid.y",
        "%cluster_nctaid.x", "%cluster_nctaid.z", "%clusterid.x", "%clusterid.y",
        "%nclusterid.x", "%nclusterid.z", "%ctaid.x", "%ctaid.y", "%nctaid.x", "%nctaid.y",
        "%ntid.x", "%tid.y",
    ]  # fmt: skip
    body = "ld.param.b64 %rd1, [out]; mov.pred %p1, %is_explicit_cluster; mov.u32 %r1, %tid.x;"
    body += "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.y;"
    body += "mad.lo.s32 %r2, %r4, %r3, %r2; setp.ne.s32 %p2, %r1, 0; @%p2 ret;"
    body += "mul.wide.u32 %rd2, %r2, 68; add.s64 %rd1, %rd1, %rd2; selp.b32 %r5, 1, 0, %p1;"
    body += "st.global.b32 [%rd1+64], %r5;"
    for k, name in enumerate(names):
        body += f"mov.u32 %r6, {name}; st.global.b32 [%rd1+{4 * k}], %r6;"
    text = ptx(body, ".explicitcluster .reqnctapercluster 4")
    is_taken(text, tmp_path)
    machine = ptx_machine.Machine(text, 2)
    out = np.zeros((2, 3, 4, 17), np.int32)
    machine.run((3, 2, 1), [out], 0)
    y, x, rank = np.indices((2, 3, 4))
    one = np.ones_like(x)
    expected = [rank, 4 * one, rank, 0 * x, 4 * one, one, x, y, 3 * one, one, 4 * x + rank, y,
                12 * one, 2 * one, 64 * one, 0 * x, one]  # fmt: skip
    assert (out == np.stack(expected, axis=-1)).all()
    out[:] = 0
    machine = ptx_machine.Machine(ptx(body, ""), 2)
    machine.run((12, 2, 1), [out], 0)
    x, one = 4 * x + rank, one
    expected = [0 * x, one, 0 * x, 0 * x, one, one, x, y, 12 * one, one, x, y, 12 * one, 2 * one,
                64 * one, 0 * x, 0 * x]  # fmt: skip
    assert (out == np.stack(expected, axis=-1)).all()


def test_the_size_of_a_cluster() -> None:
    body = START + "mov.u32 %r10, %cluster_nctarank;" + END
    assert (run(ptx(body, ""), num_ctas=4) == 4).all()
    assert (run(ptx(body, ".explicitcluster"), num_ctas=2) == 2).all()
    alone = body.replace("%r5, %r3", "%r5, %r2")
    assert (run(ptx(alone, ""), programs=3) == np.ones((3, 1, 64))).all()
    with pytest.raises(PtxError, match="a launch with clusters of 4 for '.reqnctapercluster 2"):
        run(ptx(body), num_ctas=4)
    with pytest.raises(PtxError, match="without the size of a cluster"):
        run(ptx(body, ".explicitcluster"))
    with pytest.raises(NotInMachine, match="no '.reqnctapercluster 1, 2, 1'"):
        run(ptx(body, ".reqnctapercluster 1, 2, 1"))
    with pytest.raises(PtxError, match="clusters of 17 CTAs"):
        run(ptx(body, ""), num_ctas=17)


def test_warps_of_all_ctas_run_in_any_order() -> None:
    body = START + FILL + SYNC + READ + SYNC + END
    for first in range(4):
        machine = ptx_machine.Machine(ptx(body), 2)
        machine.schedule = Schedule(first=first)
        out = np.zeros((2, 64), np.int32)
        machine.run((1, 1, 1), [out], 1024)
        assert (out == OTHER).all() and machine.barriers == 0


# -- mbarriers of other CTAs -------------------------------------------------------------------

INIT = """
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [shared_memory+512], 2;
  @%p1 fence.mbarrier_init.release.cluster;
"""
AT = "mapa.shared::cluster.u32 %r20, shared_memory, %r3; setp.eq.s32 %p2, %r4, 0;"
# One thread of each warp arrives at the other CTA's.
ARRIVE = """
  and.b32 %r21, %r1, 31;
  setp.eq.s32 %p3, %r21, 0;
  bar.warp.sync 0xffffffff;
  @%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20+512];
"""
WAIT_FOR = ("{.reg .pred p; wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, "
            "[shared_memory+512], 0; @!p bra wait;}")  # fmt: skip
REMOTE = START + INIT + AT + f"{RELAXED} {WAIT}"
WRITE = "st.shared::cluster.b32 [%r6], %r9;"
OWN = "ld.shared.b32 %r10, [%r5];"


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_arrivals_at_another_ctas_mbarrier(tmp_path: Path, seed: int | None) -> None:
    text = ptx(REMOTE + WRITE + ARRIVE + WAIT_FOR + OWN + END)
    is_taken(text, tmp_path)
    assert (run(text, seed=seed)[0] == OTHER).all()
    counted = ARRIVE.replace("@%p3", "@%p1").replace("[%r20+512]", "[%r20+512], 2")
    text = ptx(REMOTE + WRITE + "bar.sync 0;" + counted + WAIT_FOR + OWN + END)
    is_taken(text, tmp_path)
    assert (run(text, seed=seed)[0] == OTHER).all()
    tested = WAIT_FOR.replace("try_wait", "test_wait")
    assert (run(ptx(REMOTE + WRITE + ARRIVE + tested + OWN + END), seed=seed)[0] == OTHER).all()
    looped = "\n$L1:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, "
    looped += "[shared_memory+512], 0; @!%p4 bra $L1;"
    text = ptx(REMOTE + WRITE + ARRIVE + looped + OWN + END)
    is_taken(text, tmp_path)
    assert (run(text, seed=seed)[0] == OTHER).all()


def test_wrong_uses_of_another_ctas_mbarrier() -> None:
    right = REMOTE + WRITE + ARRIVE + WAIT_FOR + OWN + END
    fails(right.replace(f"{RELAXED} {WAIT}", ""), "may not have begun|no mbarrier|just written")
    fails(right.replace("fence.mbarrier_init.release.cluster", "mov.u32 %r39, 0"), "just written")
    fails(right.replace(WAIT_FOR, ""), "a read of what|may have ended before|which has ended")
    fails(right.replace(OWN, "").replace(WAIT_FOR, ""), "may have ended before|which has ended")
    fails(right.replace(ARRIVE, ""), "nothing ends the wait of 'mbarrier.*' of CTA [01]: 0 of 2 "
          "arrivals, 0 of 0 bytes")  # fmt: skip
    unseen = "a read of what another thread has just written"
    fails(right.replace("arrive.release.cluster.", "arrive."), unseen)
    fails(right.replace("parity.acquire.cluster.", "parity."), unseen)
    fails(right.replace("arrive.release.", "arrive.relaxed."), unseen)
    fails(right.replace("parity.acquire.", "parity.relaxed."), unseen)
    fails(right.replace(ARRIVE, ARRIVE + ARRIVE), "3 threads arrive|4 threads arrive|may have ended"
          "|phases are over|which has ended|a read of what nobody")  # fmt: skip
    fails(right.replace("b64 p, [shared_memory+512]", "b64 p, [%r20+512]"),
          "an address of shared::cluster")  # fmt: skip


def test_the_end_after_arrivals_that_nobody_waits_for() -> None:
    """A barrier of the cluster makes up for the wait."""
    body = REMOTE + ARRIVE + "mov.b32 %r10, 1;" + SYNC + END
    assert run(ptx(body)).all()


def test_what_a_cta_read_of_its_own_memory_needs_no_release() -> None:
    arrive = ARRIVE.replace("arrive.release.cluster.", "arrive.")
    wait = WAIT_FOR.replace("parity.acquire.cluster.", "parity.")
    begin, end = REMOTE + FILL + SYNC, SYNC + OWN + END
    assert (run(ptx(begin + OWN + arrive + wait + WRITE + end))[0] == OTHER).all()
    assert (run(ptx(begin + OWN + f"{RELAXED} {WAIT}" + WRITE + end))[0] == OTHER).all()
    late = "a write of what another thread has just read"
    fails(begin + OWN + WRITE + end, late + "|a read of what another thread has just written")
    own_write = "st.shared.b32 [%r5], %r1;"
    fails(begin + READ + arrive + wait + own_write + end, late)
    assert run(ptx(begin + READ + ARRIVE + WAIT_FOR + own_write + end)).shape == (1, 2, 64)
    fails(REMOTE + FILL + arrive + wait + WRITE + end, "a write of what another thread has just")
