"""PTX of small kernels for clusters of CTAs, for tests of the machine that runs PTX on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import gpu_rows
import numpy as np
import ptx_matrix_machine
from blockscope.runtime.backends.cuda import tools
from ptx_machine import Schedule

RELEASE, RELAXED = "barrier.cluster.arrive.aligned;", "barrier.cluster.arrive.relaxed.aligned;"
WAIT = "barrier.cluster.wait.aligned;"
SYNC = f"{RELEASE} {WAIT}"
START = """
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  xor.b32 %r3, %r2, 1;
  shl.b32 %r4, %r1, 2;
  mov.b32 %r5, shared_memory;
  add.s32 %r5, %r5, %r4;
  mapa.shared::cluster.u32 %r6, %r5, %r3;
  mov.u32 %r7, %ctaid.x;
  mov.u32 %r8, %ntid.x;
  mad.lo.s32 %r9, %r7, %r8, %r1;
  ld.param.b64 %rd1, [out];
  mul.wide.u32 %rd2, %r9, 4;
  add.s64 %rd3, %rd1, %rd2;
"""
END = "st.global.b32 [%rd3], %r10;"


def ptx(body: str, size: str = ".reqnctapercluster 2, 1, 1", parameters: str = "") -> str:
    """A kernel of 64 threads; the first parameter is `out`, more begin with a comma."""
    return f"""
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 shared_memory[];
.visible .entry kernel(
.param .u64 .ptr .global .align 1 out{parameters}
)
.reqntid 64
{size}
{{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
{body}
  ret;
}}
"""


def is_taken(text: str, folder: Path) -> None:
    """ptxas takes it."""
    if not gpu_rows.has_tools():
        return
    source = folder / "kernel.ptx"
    source.write_text(text)
    command = [str(tools.ptxas()), "-arch=sm_90a", str(source), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(text: str, programs: int = 1, shared: int = 1024, seed: int | None = None,
        num_ctas: int | None = None) -> np.ndarray:  # fmt: skip
    """What the threads store."""
    machine = ptx_matrix_machine.Machine(text, 2, (), num_ctas)
    if seed is not None:
        machine.schedule = Schedule(seed=seed)
    out = np.zeros((programs, machine.ctas, 64), np.int32)
    machine.run((programs, 1, 1), [out], shared)
    return out
