"""Timing functions: on the CPU's clock, or with events of a GPU.

``cuda`` is torch.cuda, or what a driver gives in its place (``get_device_interface``).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

RETURN_MODES = ("min", "max", "mean", "median", "all")
_ESTIMATE_RUNS = 5


def quantiles_of(times: Iterable[float], quantiles: Iterable[float]) -> list[float]:
    """The quantiles of values in any order, linear between neighbours."""
    ordered = sorted(map(float, times))
    found = []
    for q in quantiles:
        position = q * (len(ordered) - 1)
        low = math.floor(position)
        high = min(low + 1, len(ordered) - 1)
        found.append(ordered[low] + (ordered[high] - ordered[low]) * (position - low))
    return found


def summarize(times: Any, quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """What ``do_bench`` gives for these times. Public benchmarks call it with times of their own,
    in a tensor too, as older versions of Triton wanted them."""
    if quantiles is not None:
        values = quantiles_of(times, quantiles)
        return values[0] if len(values) == 1 else values
    if return_mode == "all":
        return times
    summaries: dict[str, Callable[[list[float]], float]] = {
        "min": min,
        "max": max,
        "mean": statistics.fmean,
        "median": statistics.median,
    }
    return summaries[return_mode]([float(time) for time in times])


def check_arguments(fn: Any, return_mode: str, quantiles: Any) -> None:
    if not callable(fn):
        raise TypeError(f"do_bench got {type(fn).__name__} as 'fn', expected a function to call")
    if return_mode not in RETURN_MODES:
        raise ValueError(
            f"do_bench got return_mode '{return_mode}', expected one of {', '.join(RETURN_MODES)}"
        )
    for q in quantiles or ():
        if not 0 <= q <= 1:
            raise ValueError(f"do_bench got the quantile {q}, expected 0 to 1")


def time_on_cpu(
    fn: Callable[[], Any], warmup_ms: float, rep_ms: float, before: Callable[[], None]
) -> list[float]:
    """Milliseconds of each run of ``fn``, at least one, about ``rep_ms`` in total.

    A run that alone takes longer than the budget is timed once, so that slow kernels do not make a
    benchmark endless; nor do quick ones, before each of which the caches are overwritten: after
    three times the budget, all included, no further run starts.
    """
    deadline = time.perf_counter() + 3 * warmup_ms / 1e3

    def timed() -> float:
        before()
        start = time.perf_counter_ns()
        fn()
        return (time.perf_counter_ns() - start) / 1e6

    first = timed()  # compiles
    spent = 0.0
    while spent + first / 2 < warmup_ms and spent < warmup_ms and time.perf_counter() < deadline:
        first = timed()
        spent += max(first, 1e-4)
    times = [timed()]
    total = times[0]
    deadline = time.perf_counter() + 3 * rep_ms / 1e3
    while total < rep_ms and time.perf_counter() < deadline:
        times.append(timed())
        total += max(times[-1], 1e-4)
    return times


def time_on_gpu(
    cuda: Any, fn: Callable[[], Any], warmup_ms: float, rep_ms: float, before: Callable[[], None]
) -> list[float]:
    """Milliseconds of each run, between two events of the current stream; nothing waits between.

    What ``before`` puts on the stream runs outside the events, but counts for how many runs there
    are: overwriting the caches can take fifty times as long as a short kernel.
    """
    fn()  # compiles
    cuda.synchronize()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    for _ in range(_ESTIMATE_RUNS):
        before()
        fn()
    end.record()
    cuda.synchronize()
    estimate = max(start.elapsed_time(end) / _ESTIMATE_RUNS, 1e-3)
    if warmup_ms > 0:
        for _ in range(max(1, int(warmup_ms / estimate))):
            before()
            fn()
    return event_times(cuda, fn, max(1, int(rep_ms / estimate)), before)


def first_times_on_gpu(driver: Any, fn: Callable[[], Any]) -> list[float]:
    """Median, 20 % and 80 % quantiles, in ms, of five runs: enough to see a slow kernel."""
    cache = driver.get_empty_cache_for_benchmark()
    fn()  # compiles
    cuda = driver.get_device_interface()
    times = event_times(cuda, fn, _ESTIMATE_RUNS, lambda: driver.clear_cache(cache))
    return quantiles_of(times, (0.5, 0.2, 0.8))


def event_times(
    cuda: Any, fn: Callable[[], Any], count: int, before: Callable[[], None] = lambda: None
) -> list[float]:
    """Milliseconds of each of ``count`` runs, on the current stream of the GPU."""
    starts = [cuda.Event(enable_timing=True) for _ in range(count)]
    ends = [cuda.Event(enable_timing=True) for _ in range(count)]
    for start, end in zip(starts, ends, strict=True):
        before()
        start.record()
        fn()
        end.record()
    cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]


def time_graph(cuda: Any, fn: Callable[[], Any], rep_ms: float) -> list[float]:
    """Milliseconds of one run, from ten replays of a graph of about ``rep_ms``."""
    import torch

    with cuda.stream(cuda.Stream()):
        fn()  # compiles
        estimate = max(statistics.fmean(event_times(cuda, fn, _ESTIMATE_RUNS)), 1e-4)
        count = max(1, min(int(rep_ms / estimate), 10_000))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                fn()
        return [time / count for time in event_times(cuda, graph.replay, 10)]


def do_bench(
    driver: Any,
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    *,
    fast_flush: bool = True,
    device_type: str | None = None,
    percentiles: Sequence[float] | None = None,
) -> Any:
    """As ``testing.do_bench``, on the device of a driver."""
    quantiles = quantiles if quantiles is not None else percentiles
    check_arguments(fn, return_mode, quantiles)
    cache = driver.get_empty_cache_for_benchmark()

    def before() -> None:
        clear_gradients(grad_to_none)
        driver.clear_cache(cache)

    if driver.get_current_target().backend == "cuda":
        times = time_on_gpu(driver.get_device_interface(), fn, warmup, rep, before)
    else:
        times = time_on_cpu(fn, warmup, rep, before)
    return summarize(times, quantiles, return_mode)


def clear_gradients(tensors: Any) -> None:
    for x in tensors if tensors is not None else ():
        x.grad = None


def do_bench_cpu_quick(
    fn: Callable[[], Any], quantiles: Sequence[float] | None = None, return_mode: str = "mean"
) -> Any:
    """As ``do_bench`` with 5 ms to warm up and 20 ms to time, the caches left warm."""
    return summarize(time_on_cpu(fn, 5, 20, lambda: None), quantiles, return_mode)
