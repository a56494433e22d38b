"""What a GPU counts while it runs both sides of a case: for ``foreign.py --profile``.

Counters are those of Nsight Compute (ncu), read with the clocks and caches as they are.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

STALLS = [
    "long_scoreboard",
    "short_scoreboard",
    "barrier",
    "wait",
    "math_pipe_throttle",
    "lg_throttle",
    "mio_throttle",
    "gmma",
    "membar",
    "no_instruction",
    "branch_resolve",
    "not_selected",
    "dispatch_stall",
    "sleeping",
    "drain",
]
#: The counter, what a report calls it, and by what it is divided there.
COUNTERS: dict[str, tuple[str, float]] = {
    "gpu__time_duration.sum": ("us", 1e3),
    "launch__grid_size": ("CTAs", 1),
    "launch__block_size": ("threads of a CTA", 1),
    "launch__registers_per_thread": ("registers", 1),
    "launch__shared_mem_per_block": ("shared memory, bytes", 1),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("occupancy, %", 1),
    "smsp__issue_active.avg.pct_of_peak_sustained_active": ("issue slots in use, %", 1),
    "smsp__inst_executed.sum": ("instructions, 1000s", 1e3),
    "sm__inst_executed_pipe_tensor_op_gmma.sum": ("wgmma, 1000s", 1e3),
    "sm__inst_executed_pipe_tensor_op_hmma.sum": ("mma, 1000s", 1e3),
    "sm__inst_executed_pipe_alu.sum": ("on the ALU, 1000s", 1e3),
    "sm__inst_executed_pipe_fma.sum": ("on the FMA pipe, 1000s", 1e3),
    "sm__inst_executed_pipe_fp64.sum": ("in fp64, 1000s", 1e3),
    "sm__inst_executed_pipe_xu.sum": ("on the special units, 1000s", 1e3),
    "sm__inst_executed_pipe_lsu.sum": ("on the load and store unit, 1000s", 1e3),
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": ("global loads, 1000s", 1e3),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": ("their sectors, 1000s", 1e3),
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": ("global stores, 1000s", 1e3),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": ("their sectors, 1000s", 1e3),
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": ("sectors of spills loaded, 1000s", 1e3),
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": ("sectors of spills stored, 1000s", 1e3),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": ("shared memory wavefronts, 1000s", 1e3),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": ("bank conflicts, 1000s", 1e3),
    "l1tex__t_sector_hit_rate.pct": ("found in L1, %", 1),
    "lts__t_sector_hit_rate.pct": ("found in L2, %", 1),
    "lts__t_sectors.sum": ("sectors in L2, 1000s", 1e3),
    "dram__bytes_read.sum": ("read from memory, MB", 1e6),
    "dram__bytes_write.sum": ("written to memory, MB", 1e6),
} | {
    f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio": (
        f"waits: {stall.replace('_', ' ')}",
        1,
    )
    for stall in STALLS
}
LIMIT_SECONDS = 240
#: ncu writes units of its own choice beside a number; this is how often its base unit fits.
UNITS = {"ns": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}
UNITS |= {"nsecond": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}

Launch = dict[str, float | str]


def counted(worker: list[str], ncu: str, mark: str) -> dict[str, list[Launch]]:
    """The launches of each case, by what the worker's process says after ``mark``."""
    command = [ncu, "--profile-from-start", "off", "--csv", "--page", "raw"]
    command += ["--clock-control", "none", "--cache-control", "none"]
    command += ["--metrics", ",".join(COUNTERS), *worker]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    except OSError as error:
        sys.exit(f"the profiler '{ncu}' does not start ({error.strerror}); --ncu names another")
    except subprocess.TimeoutExpired:
        print(f"not done in {LIMIT_SECONDS} s: {' '.join(worker)}", file=sys.stderr)
        return {}
    lines = done.stdout.splitlines()
    said = [json.loads(line.partition(mark)[2]) for line in lines if mark in line]
    launches = launches_of([line for line in lines if line.startswith('"')])
    if done.returncode or not said:
        print(f"{' '.join(worker)}:\n{(done.stdout + done.stderr)[-2000:]}", file=sys.stderr)
    found = {}
    for case in said:
        if "error" in case:
            print(f"{case['case']}: {case['error']}", file=sys.stderr)
            continue
        found[case["case"]] = list(islice(launches, case["launches"]))
    return found


def launches_of(rows: list[str]) -> Iterator[Launch]:
    """What a table of ncu says; its second row has the units."""
    table = csv.reader(rows)
    names, units = next(table, []), next(table, [])
    for row in table:
        launch: Launch = {}
        for name, unit, text in zip(names, units, row, strict=True):
            if name == "Kernel Name":
                launch["kernel"] = text
            elif name in COUNTERS and text not in ("", "n/a"):
                launch[name] = float(text.replace(",", "")) * UNITS.get(unit, 1)
        yield launch


def report(triton: dict[str, list[Launch]], ours: dict[str, list[Launch]]) -> str:
    """A table for each launch that both sides made."""
    lines = []
    for case in triton:
        if len(triton[case]) != len(ours.get(case, [])):
            counts = len(triton[case]), len(ours.get(case, []))
            lines.append(f"{case}: {counts[0]} launches by Triton, {counts[1]} by Blockscope")
        for number, (a, b) in enumerate(zip(triton[case], ours.get(case, []), strict=False), 1):
            lines.append(f"{case}, launch {number}: {b.get('kernel', '?')}")
            lines += [f"  {'':36}{'triton':>14}{'blockscope':>14}"]
            lines += [row for counter in COUNTERS if (row := _row(counter, a, b))]
    return "\n".join(lines)


def _row(counter: str, a: Launch, b: Launch) -> str:
    name, unit = COUNTERS[counter]
    values = [float(side.get(counter, 0.0)) / unit for side in (a, b)]
    if max(values) < 0.005:
        return ""
    return f"  {name:36}" + "".join(f"{value:14,.2f}" for value in values)
