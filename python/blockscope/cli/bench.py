"""``blockscope bench run.blk``: how long recorded launches take on the CPU."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from blockscope.cli.launch_script import LaunchScript
from blockscope.cli.script import print_user_traceback
from blockscope.cli.usage import UsageError
from blockscope.errors import LaunchFileError

_MOST_RUNS = 200


def bench(script: LaunchScript, seconds: float) -> int:
    """Print for each launch the median of its runs, each on the arguments as they were."""
    status = 0
    for launch in script.launches:
        times: list[float] = []

        def timed(kernel: Any, grid: Any, args: Any, kwargs: Any, times: Any = times) -> None:
            begin = time.perf_counter_ns()
            kernel[grid](*args, **kwargs)
            times.append((time.perf_counter_ns() - begin) / 1e3)

        try:
            script.replay.run(launch)  # compiles
            end = time.monotonic() + seconds
            while len(times) < 3 or (len(times) < _MOST_RUNS and time.monotonic() < end):
                script.replay.run(launch, timed)
        except LaunchFileError as error:
            raise UsageError(str(error)) from None
        except Exception:
            print(f"launch {launch.number} of '{launch.kernel_name}':", file=sys.stderr)
            print_user_traceback()
            status = 1
            continue
        low, middle, high = min(times), statistics.median(times), max(times)
        grid = ", ".join(map(str, launch.grid))
        print(
            f"launch {launch.number} of '{launch.kernel_name}', grid ({grid}): {middle:.1f} us "
            f"(median of {len(times)} runs, {low:.1f} to {high:.1f})",
            flush=True,
        )
    return status
