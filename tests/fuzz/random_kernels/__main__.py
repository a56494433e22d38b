"""Random kernels in all modes: ``python -m random_kernels --help``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from random_kernels import grow, modes, report, shrink
from random_kernels.tree import Kernel


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first kernel")
    parser.add_argument("--count", type=int, default=100, help="of kernels, at most")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to stop")
    parser.add_argument("--level", type=int, help="0 to 2: how exact operations are (grow.py)")
    parser.add_argument("--show", action="store_true", help="only print the kernels")
    parser.add_argument("--found", type=Path, help="folder for the kernels that fail, cut down")
    parser.add_argument("--shrink", type=float, default=60, help="seconds for each that fails")
    options = parser.parse_args()
    began = time.monotonic()
    failed = count = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - began > options.seconds:
            break
        count += 1
        kernel = grow.kernel(seed, options.level)
        if options.show:
            print(kernel.source())
            continue
        found = modes.problem(kernel, modes.CPU_MODES)
        if found is None:
            continue
        failed += 1
        print(f"seed {seed}, {found.mode}: {found.text[:400]}", flush=True)
        text = cut_down(kernel, found, options.shrink)
        if options.found:
            options.found.mkdir(parents=True, exist_ok=True)
            path = options.found / f"kernel_{seed}.py"
            path.write_text(text)
            print(f"  cut down in {path}", flush=True)
        else:
            print(text, flush=True)
    print(f"{count} kernels, {failed} failed, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return int(failed > 0)


def cut_down(kernel: Kernel, found: modes.Problem, seconds: float) -> str:
    """The file that shows the problem with as little as there can be."""
    these = {found.mode: modes.CPU_MODES[found.mode]} if found.mode in modes.CPU_MODES else {}
    if kernel.level == 2 and these:
        first = next(iter(modes.CPU_MODES))
        these = {first: modes.CPU_MODES[first], **these}

    def fails(candidate: Kernel) -> bool:
        try:
            again = modes.problem(candidate, these)
        except Exception:  # NumPy cannot run it
            return False
        return again is not None and again.cause == found.cause

    small = shrink.shrunk(kernel, fails, seconds)
    last = modes.problem(small, these) or found
    return report.reproducer(small, f"Seed {kernel.name[7:]}, {last.mode}: {last.text[:300]}")


if __name__ == "__main__":
    raise SystemExit(main())
