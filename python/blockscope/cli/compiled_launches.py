"""Compiling for GPUs what a script launches on the CPU, with the same arguments and options."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from blockscope import knobs
from blockscope.errors import CompilationError, TritonError
from blockscope.frontend.argument import leaves
from blockscope.runtime import hooks
from blockscope.runtime.alignment import divisors
from blockscope.runtime.arguments import bind, classify
from blockscope.runtime.autotuner import Autotuner
from blockscope.runtime.memory.device import ANY_DEVICE, DeviceMemory
from blockscope.runtime.tried_configs import SKIPPED


@dataclass
class Result:
    """What became of one kernel for one target: ``kernel``, or the ``error``."""

    fn: Any
    target: str
    signature: str
    kernel: Any = None
    error: Exception | None = None
    ir: str = ""  # the block IR, also of a kernel that cannot be compiled

    @property
    def place(self) -> str:
        code = self.fn.fn.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"


def signature_of(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """What a launch's kernel depends on: the types of its arguments, ``:16`` behind those that can
    be divided by 16, and its constants."""
    named = {name: value for name, value in kwargs.items() if name in fn.arg_names}
    words = []
    arguments = classify(fn, bind(fn, args, named), DeviceMemory(ANY_DEVICE))
    known = iter(divisors(fn, arguments))
    for param, argument in zip(fn.params, arguments, strict=True):
        for leaf in leaves([argument]):
            divisor = next(known)
            words.append(f"{leaf.type}:{divisor}" if divisor > 1 else str(leaf.type))
        if argument.type is None and argument.parts is None:
            value = getattr(argument.value, "__name__", None) or repr(argument.value)
            words.append(f"{param.name}={value}")
    return ", ".join(words)


_LONG_SECONDS = 3.0


@contextmanager
def said_if_long(text: str) -> Iterator[None]:
    """Tell someone who waits at a terminal what takes more than a few seconds."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(_LONG_SECONDS, lambda: print(text, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def compiled_launches(
    targets: Sequence[str], sink: Callable[[Result], None], jobs: int = 1
) -> Iterator[None]:
    """Inside, compile each launch for ``targets`` before it runs; each new kernel goes to ``sink``.

    A kernel that cannot be compiled for a target still runs on the CPU. Of an autotuned kernel all
    configurations are compiled; the CPU times only those that differ there.
    """
    tune = Autotuner._tune
    seen: set[Any] = set()
    told: set[str] = set()  # texts of errors
    is_tuning = False

    def compile_for(run: Any, target: str, fn: Any, args: Any, grid: Any, kwargs: Any) -> Result:
        result = Result(fn, target, signature_of(fn, args, kwargs))
        try:
            with said_if_long(f"compiling '{fn.__name__}' at {result.place} for {target} ..."):
                result.kernel = run(fn, grid, args, {**kwargs, "arch": target}, warmup=True)
            result.ir = result.kernel.asm["tl"]
        except TritonError as error:
            result.error = error
        if result.error is not None:
            with suppress(TritonError):  # no block IR either
                on_cpu = run(fn, grid, args, {**kwargs, "arch": "cpu"}, warmup=True)
                result.ir = on_cpu.asm["tl"]
        return result

    def compiling(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if warmup and not is_tuning:
            return run(fn, grid, args, kwargs, warmup=True)
        wanted = [kwargs["arch"]] if kwargs.get("arch") else targets
        map_all = threads.map if jobs > 1 else map
        for result in map_all(lambda t: compile_for(run, t, fn, args, grid, kwargs), wanted):
            key: Any = (result.target, result.kernel.hash if result.kernel else str(result.error))
            if result.error is not None:  # which may say nothing of the kernel
                options = sorted((k, repr(v)) for k, v in kwargs.items() if k not in fn.arg_names)
                key = (*key, fn, result.signature, *options)
            if key not in seen:
                seen.add(key)
                if result.error is not None:
                    told.add(str(result.error))
                sink(result)
        try:
            return None if warmup else run(fn, grid, args, kwargs)
        except CompilationError as error:
            error.is_reported = str(error) in told
            raise

    def tuning(self: Any, args: Any, kwargs: Any, configs: Any, key: Any) -> None:
        nonlocal is_tuning
        is_tuning = True
        try:
            for config in configs:
                # One that cannot be launched says so when it is timed.
                with suppress(*SKIPPED):
                    self._kernel_call(args, {**kwargs, "warmup": True}, config)()
        finally:
            is_tuning = False
        tune(self, args, kwargs, configs, key)

    Autotuner._tune = tuning  # type: ignore[method-assign]
    try:
        with (
            ThreadPoolExecutor(jobs) as threads,
            hooks.intercepted(compiling),
            knobs.runtime.scope(),
        ):
            knobs.runtime.interpret = False
            yield
    finally:
        Autotuner._tune = tune  # type: ignore[method-assign]
