"""One launch: arguments are bound and classified, then a backend compiles and runs the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscope import _core, user_warnings
from blockscope.runtime import arguments, hooks
from blockscope.runtime.backends import choice
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.compiled_kernel import CompileSkipped
from blockscope.runtime.grid import missing, size_of
from blockscope.runtime.options import check_numbers


def run(fn: Any, grid: Any, args: Sequence[Any], kwargs: dict[str, Any], *, warmup: bool) -> Any:
    """Bind, compile and launch. Returns the compiled kernel, None for one that was stepped."""
    interceptor = hooks.interceptor()
    if interceptor is not None:
        return interceptor(_go_on, fn, args, grid, kwargs, warmup)
    return _run(fn, grid, args, kwargs, warmup)


def _go_on(
    fn: Any, grid: Any, args: Sequence[Any], kwargs: dict[str, Any], *, warmup: bool = False
) -> Any:
    return _run(fn, grid, args, dict(kwargs), warmup)


def _run(fn: Any, grid: Any, args: Sequence[Any], kwargs: dict[str, Any], warmup: bool) -> Any:
    options = arguments.take_options(fn, kwargs)
    bound = arguments.bind(fn, args, kwargs)
    options = arguments.add_named_options(fn, bound, options)
    check_numbers(options)
    hooks.before_run(fn, args, kwargs)
    size = size_of(fn, grid, bound, options)
    if size is None:
        if not warmup:
            raise missing(fn, grid)
        size = (1, 1, 1)
    if 0 in size and not warmup:
        user_warnings.warn(f"kernel '{fn.__name__}': grid {size} has no programs, nothing runs")
        return None
    backend = choice.choose(fn, bound, options, warmup=warmup)
    classified = arguments.classify(fn, bound, backend.memory())
    request = Request(fn, size, classified, options, warmup)
    try:
        kernel = backend.compile(request)
    except CompileSkipped:
        return None
    except BaseException:
        if not warmup:  # it is a launch, too: those after it have other numbers
            _core.number_next_launch(_core.next_launch_number() + 1)
        raise
    if not warmup:
        backend.launch(kernel, request)
    return kernel
