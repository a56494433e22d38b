"""Random kernels in all modes: ``python -m random_kernels --help``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":  # tests import this file, into processes that go on
    os.environ.setdefault("BLOCKSCOPE_CACHE", "0")

from random_kernels import devices, grow, modes, processes, report, shrink  # noqa: E402
from random_kernels.tree import Kernel  # noqa: E402

Find = Callable[[Kernel], "modes.Problem | None"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first kernel")
    parser.add_argument("--count", type=int, default=100, help="of kernels, at most")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to stop")
    parser.add_argument("--level", type=int, help="0 to 2: how exact operations are (grow.py)")
    parser.add_argument(
        "--on", choices=["cpu", "ptx", "algebra", "gpu", "gpu-algebra"], default="cpu",
        help="cpu: all modes of the CPU; ptx: compiled, run by tests/python/ptx_machine.py; "
        "algebra: both, bit for bit with floats as integers; gpu: on a GPU; gpu-algebra: the "
        "CPU and a GPU, bit for bit with floats as integers",
    )  # fmt: skip
    parser.add_argument("--show", action="store_true", help="only print the kernels")
    parser.add_argument("--found", type=Path, help="folder for the kernels that fail, cut down")
    parser.add_argument("--shrink", type=float, default=60, help="seconds for each that fails")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--isolated", action="store_true", help="a process for each try")
    parser.add_argument("--step", type=int, default=1, help="from one seed to the next")
    options = parser.parse_args()
    if not options.show and not processes.is_child():
        return processes.run(sys.argv[1:], options)
    began = time.monotonic()
    failed = count = 0
    for seed in range(options.seed, options.seed + options.count, options.step):
        if time.monotonic() - began > options.seconds:
            break
        kernel = grow.kernel(seed, 0 if options.on == "ptx" else options.level)
        count += 1
        if options.show:
            print(kernel.source())
            continue
        if not options.isolated:
            processes.begin(seed)
        find = finder(options.on, seed)
        if options.isolated:
            find = processes.isolated(find)
        found = find(kernel)
        if found is None:
            continue
        failed += 1
        lost = options.on.startswith("gpu") and not options.isolated and devices.is_lost()
        if lost:
            return processes.LOST
        print(f"seed {seed}, {found.mode}: {found.text[:400]}", flush=True)
        text = cut_down(kernel, find, found, options.shrink)
        if options.found:
            options.found.mkdir(parents=True, exist_ok=True)
            path = options.found / f"kernel_{seed}.py"
            path.write_text(text)
            print(f"  cut down in {path}", flush=True)
        else:
            print(text, flush=True)
    print(f"{count} kernels, {failed} failed, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return int(failed > 0)


def finder(on: str, seed: int) -> Find:
    if on == "gpu":
        return devices.gpu_problem
    if on == "gpu-algebra":
        return devices.algebra_problem(None)
    if on == "ptx":
        arch = devices.ARCHS[seed % len(devices.ARCHS)]
        run = devices.machine(arch)
        return lambda kernel: modes.problem(kernel, {arch: run})
    if on == "algebra":
        return devices.algebra_problem(devices.ARCHS[seed % len(devices.ARCHS)])
    return lambda kernel: modes.problem(kernel, modes.CPU_MODES)


def cut_down(kernel: Kernel, find: Find, found: modes.Problem, seconds: float) -> str:
    """The file that shows the problem with as little as there can be."""

    def fails(candidate: Kernel) -> bool:
        try:
            again = find(candidate)
        except Exception:  # NumPy cannot run it
            return False
        return again is not None and again.cause == found.cause

    small = shrink.shrunk(kernel, fails, seconds)
    last = find(small) or found
    return report.reproducer(small, f"Seed {kernel.name[7:]}, {last.mode}: {last.text[:300]}")


if __name__ == "__main__":
    raise SystemExit(main())
