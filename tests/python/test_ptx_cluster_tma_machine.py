"""TMA in clusters of CTAs, in the machine that runs PTX on the CPU: copies to other CTAs and to
several ones, right and wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import ptx_matrix_machine
import pytest
from cluster_ptx import END, RELAXED, SYNC, WAIT, is_taken, ptx
from ptx_machine import PtxError, Schedule

LANDED = ("{.reg .pred p; wait: mbarrier.try_wait.parity.shared::cta.b64 p, "
          "[shared_memory+2048], 0; @!p bra wait;}")  # fmt: skip
TILE = 32  # int32 numbers of a row
MAP = {"element_bytes": 4, "strides": ["a1"], "sizes": [f"{TILE}", "a2"], "base": "a3",
       "swizzle_bytes": 0, "box": [TILE, 4]}  # fmt: skip


def copying(copy: str, expected: int, arrivals: int = 1) -> str:
    """Each CTA begins copies and waits for those that come to it."""
    return f"""
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  setp.eq.s32 %p1, %r1, 0;
  mov.b32 %r30, shared_memory;
  mov.b64 %rd5, map0;
  @%p1 mbarrier.init.shared::cta.b64 [shared_memory+2048], {arrivals};
  @%p1 fence.mbarrier_init.release.cluster;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [shared_memory+2048], {expected};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mul.lo.s32 %r11, %r2, 4;
  mul.lo.s32 %r12, %r2, 512;
  add.s32 %r13, %r30, %r12;
  mov.b32 %r15, 0;
  mov.b16 %h1, 3;
  {copy}
  {LANDED}
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r30, %r4;
  mov.u32 %r7, %ctaid.x;
  mul.lo.s32 %r8, %r7, 256;
  add.s32 %r9, %r8, %r1;
  ld.param.b64 %rd1, [out];
  mul.wide.u32 %rd2, %r9, 4;
  add.s64 %rd3, %rd1, %rd2;
""" + "".join(
        f"ld.shared.b32 %r10, [%r5+{256 * k}]; st.global.b32 [%rd3+{256 * k}], %r10;"
        for k in range(4)
    )


TMA = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
MULTICAST = (
    f"@%p1 {TMA}.multicast::cluster [%r13], [%rd5, {{%r15, %r11}}], [shared_memory+2048], %h1;"
)


PARAMETERS = """,
.param .u64 stride,
.param .u64 rows,
.param .u64 .ptr .global .align 1 x,
.param .align 64 .b8 map0[128]"""


def run_with(body: str, out: np.ndarray, x: np.ndarray, shared: int, seed: int | None) -> int:
    """The number of copies."""
    text = ptx(body, parameters=PARAMETERS)
    machine = ptx_matrix_machine.Machine(text, 2, [MAP])
    if seed is not None:
        machine.schedule = Schedule(seed=seed)
    machine.run((1, 1, 1), [out, np.int64(TILE), np.int64(len(x)), x], shared)
    return machine.tma_copies


def run_copies(body: str, seed: int | None = None) -> np.ndarray:
    """The rows of a tensor that come to each of two CTAs."""
    out = np.zeros((2, 8, TILE), np.int32)
    run_with(body, out, X, 2048 + 64, seed)
    return out


X = np.arange(8 * TILE, dtype=np.int32).reshape(8, TILE)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_multicast(tmp_path: Path, seed: int | None) -> None:
    """Each CTA brings half of the tensor to both."""
    is_taken(ptx(copying(MULTICAST, 1024), parameters=PARAMETERS), tmp_path)
    assert (run_copies(copying(MULTICAST, 1024), seed) == X).all()


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_wrong_multicasts(seed: int | None) -> None:
    def fails(body: str, message: str) -> None:
        with pytest.raises(PtxError, match=message):
            run_copies(body, seed)

    right = copying(MULTICAST, 1024)
    fails(copying(MULTICAST, 1536), "nothing ends the wait of 'mbarrier.*' of CTA [01]: 1 of 1 "
          "arrivals, 1024 of 1536 bytes")  # fmt: skip
    fails(copying(MULTICAST, 512), "a read of what nobody|bytes come|before copies|has ended")
    fails(
        right.replace("%h1, 3", "%h1, 1"), "nothing ends the wait of 'mbarrier.try_wait|has ended"
    )
    fails(right.replace("%h1, 3", "%h1, 7"), "copies to the CTAs 0b111 of 2")
    fails(right.replace("%h1, 3", "%h1, 0"), "copies to the CTAs 0b0 of 2")
    fails(right.replace(SYNC.replace("; ", ";\n  "), ""), "may not have begun|no mbarrier|written")
    fails(right.replace("fence.mbarrier_init.release.cluster", "mov.u32 %r39, 0"),
          "an mbarrier before its fence")  # fmt: skip


REMOTE_COPY = f"""
  mapa.shared::cluster.u32 %r20, %r30, %r3;
  mapa.shared::cluster.u32 %r21, shared_memory, %r3;
  add.s32 %r22, %r20, 512;
  mov.b32 %r16, 4;
  @%p1 {TMA} [%r20], [%rd5, {{%r15, %r15}}], [%r21+2048];
  @%p1 {TMA} [%r22], [%rd5, {{%r15, %r16}}], [%r21+2048];
"""


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_copies_to_the_other_cta(tmp_path: Path, seed: int | None) -> None:
    right = copying(REMOTE_COPY, 1024)
    is_taken(ptx(right, parameters=PARAMETERS), tmp_path)
    assert (run_copies(right, seed) == X).all()
    with pytest.raises(PtxError, match="a copy to one CTA with an mbarrier of another one"):
        run_copies(right.replace("[%r21+2048]", "[shared_memory+2048]"), seed)
    with pytest.raises(PtxError, match="ends before copies that come to it|nobody has written"):
        run_copies(right.replace(LANDED, ""), seed)


def test_a_fence_before_the_other_cta_copies_over_what_was_written() -> None:
    """What a CTA wrote, another one's TMA writes over: behind a fence of the writer."""
    begin = "mov.u32 %r2, %cluster_ctarank;"
    for fence, is_right in (("", False), ("fence.proxy.async;", True),
                            ("fence.proxy.async.shared::cta;", True),
                            ("fence.proxy.async.shared::cluster;", True),
                            ("fence.proxy.async.global;", False)):  # fmt: skip
        store = f"{begin} shl.b32 %r4, %r1, 2; st.shared.b32 [%r4], %r1; {fence}"
        body = copying(MULTICAST, 1024).replace(begin, store)
        if is_right:
            assert (run_copies(body) == X).all()
        else:
            with pytest.raises(PtxError, match="TMA writes over what was written before no fence"):
                run_copies(body)


STEPS, STAGES, FULL, EMPTY = 5, 2, 4096, 4160


def pipeline(wait_empty: str = "wait", arrivals: int = 4) -> str:
    """Each CTA brings half of each step's rows to both, over what both have read. Nobody need see
    what they wrote, so that no release between CTAs is needed."""

    def wait(at: int, parity: int) -> str:
        return ("{.reg .pred p; wait: mbarrier.try_wait.parity.shared::cta.b64 p, "
                f"[shared_memory+{at}], {parity}; @!p bra wait;}}")  # fmt: skip

    body = """
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  and.b32 %r3, %r1, 31;
  setp.ne.s32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r3, 2;
  mov.b32 %r30, shared_memory;
  mov.b64 %rd5, map0;
  mul.lo.s32 %r12, %r2, 512;
  add.s32 %r13, %r30, %r12;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r30, %r4;
  and.b32 %r6, %r3, 1;
  mov.b32 %r15, 0;
  mov.b16 %h1, 3;
  mov.b32 %r10, 0;
"""
    for stage in range(STAGES):
        for at, count in ((FULL, 1), (EMPTY, arrivals)):
            place = f"[shared_memory+{at + 8 * stage}], {count}"
            body += f"  @!%p1 mbarrier.init.shared::cta.b64 {place};\n"
    body += f"  @!%p1 fence.mbarrier_init.release.cluster;\n  {RELAXED} {WAIT}\n"
    for step in range(STEPS):
        stage, phase = step % STAGES, step // STAGES
        full, empty = FULL + 8 * stage, EMPTY + 8 * stage
        box = "[%rd5, {%r15, %r11}]"
        body += f"""
  @%p1 bra $L{step};
  {wait(empty, (phase + 1) % 2) if wait_empty == "wait" else ""}
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [shared_memory+{full}], 1024;
  mad.lo.s32 %r11, %r2, 4, {8 * step};
  {TMA}.multicast::cluster [%r13+{1024 * stage}], {box}, [shared_memory+{full}], %h1;
$L{step}:
  {wait(full, phase % 2)}
"""
        for row in range(4):
            body += f"  ld.shared.b32 %r14, [%r5+{1024 * stage + 256 * row}];"
            body += "add.s32 %r10, %r10, %r14;\n"
        body += f"""
  fence.proxy.async.shared::cta;
  bar.warp.sync 0xffffffff;
  {{.reg .b32 remote; add.s32 remote, %r30, {empty}; mapa.shared::cluster.u32 remote, remote, %r6;
  @%p2 mbarrier.arrive.shared::cluster.b64 _, [remote];}}
"""
    return body + f"""
  {SYNC}
  ld.param.b64 %rd1, [out];
  mov.u32 %r7, %ctaid.x;
  mad.lo.s32 %r9, %r7, 64, %r1;
  mul.wide.u32 %rd2, %r9, 4;
  add.s64 %rd3, %rd1, %rd2;
  {END}
"""  # fmt: skip


def run_pipeline(body: str, seed: int | None = None) -> None:
    x = np.random.default_rng(0).integers(-99, 99, (8 * STEPS, TILE)).astype(np.int32)
    out = np.zeros((2, 64), np.int32)
    assert run_with(body, out, x, 4352, seed) == 2 * STEPS
    assert (out == x.reshape(-1, 2, TILE).sum(axis=0).reshape(-1)).all()


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4])
def test_a_pipeline_of_multicasts(tmp_path: Path, seed: int | None) -> None:
    is_taken(ptx(pipeline(), parameters=PARAMETERS), tmp_path)
    run_pipeline(pipeline(), seed)
    wide = pipeline().replace("mbarrier.arrive.shared::cluster", "mbarrier.arrive.release.cluster"
                              ".shared::cluster")  # fmt: skip
    run_pipeline(wide.replace("parity.shared", "parity.acquire.cluster.shared"), seed)
    relaxed = wide.replace("arrive.release.cluster", "arrive.relaxed.cluster")
    is_taken(ptx(relaxed, parameters=PARAMETERS), tmp_path)
    run_pipeline(relaxed, seed)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_wrong_pipelines(seed: int | None) -> None:
    def fails(body: str, message: str) -> None:
        with pytest.raises(PtxError, match=message):
            run_pipeline(body, seed)

    late = "a write of what another thread has just|TMA writes over|has written|phases are over"
    fails(pipeline("no wait"), late)
    fails(pipeline().replace("fence.proxy.async.shared::cta;", ""), "TMA writes over what was read")
    fails(pipeline().replace(f"\n  {SYNC}\n", "\n"), "may have ended before|has ended")
    fails(pipeline(arrivals=5), "nothing ends the wait")
    # Each CTA tells itself alone.
    own = pipeline(arrivals=2).replace("remote, remote, %r6", "remote, remote, %r2")
    fails(own.replace("setp.lt.u32 %p2, %r3, 2", "setp.lt.u32 %p2, %r3, 1"), late)
