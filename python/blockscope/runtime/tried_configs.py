"""Configurations that ``autotune`` tries: compiled all at once, and given up after a slow run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.errors import (
    CompileTimeAssertionFailure,
    OptionNotSupported,
    OutOfResources,
    PTXASError,
)
from blockscope.runtime.config import Config

# Others of our modules are imported when something is tuned, so that kernel files start quickly.

#: What a configuration raises that cannot run: the others are tried.
SKIPPED = (OutOfResources, CompileTimeAssertionFailure, OptionNotSupported, PTXASError)

_TOO_SLOW = 1.33  # times the best: a configuration this slow in its first runs is given up


@contextmanager
def uncounted() -> Iterator[None]:
    """Inside, launches take no numbers: those of a script's own launches must not depend on how
    often its kernels are timed. Where it raises, the launch that it was for has had its number."""
    number = _core.next_launch_number()
    try:
        yield
    except BaseException:
        number += 1
        raise
    finally:
        _core.number_next_launch(number)


def times_count() -> bool:
    """False where a time says nothing: in step mode and under a check or a trace."""
    return not knobs.runtime.interpret and not checks.active()


def go_to_gpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a launch with these arguments runs on a GPU."""
    from blockscope.driver import driver
    from blockscope.runtime.memory.buffer import tensors_in
    from blockscope.runtime.memory.device import device_of

    if not driver.is_gpu_active():
        return False
    tensors = tensors_in((*args, *kwargs.values()))
    return any(device_of(value) is not None for value in tensors)


def compile_all(
    kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], configs: Sequence[Config]
) -> None:
    """Compile on several processors: the compiler does not hold Python's lock.

    A configuration that does not compile says so again when it is timed.
    """
    from blockscope.driver.cpu import cpu_count

    launch = {name: value for name, value in kwargs.items() if name != "warmup"}

    def compile_one(config: Config) -> None:
        with suppress(Exception):
            kernel.warmup(*args, **{**launch, **config.all_kwargs()})

    with ThreadPoolExecutor(min(len(configs), cpu_count())) as pool:
        list(pool.map(compile_one, configs))


def first_times_if_slow(
    call: Callable[[], Any], best_ms: float, is_on_gpu: bool
) -> list[float] | None:
    """The timings in ms of a configuration that a few runs show to be too slow; else None."""
    if is_on_gpu:
        from blockscope import timing
        from blockscope.driver import driver

        first = timing.first_times_on_gpu(driver.active, call)
        return first if first[1] > _TOO_SLOW * best_ms else None
    call()  # compiles
    start = time.perf_counter()
    call()
    first_ms = (time.perf_counter() - start) * 1e3
    is_slow = first_ms > max(4 * best_ms, 1.0) or first_ms > 200
    return [first_ms] * 3 if is_slow else None
