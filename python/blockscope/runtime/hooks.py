"""What users have asked to be called around launches and compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from blockscope import _core, knobs
from blockscope.runtime.backends.backend import Request

#: What takes the place of a launch: called with (run, fn, args, grid, kwargs, warmup), it goes on
#: with run(fn, *args, grid=grid, warmup=warmup, **kwargs).
Interceptor = Callable[..., Any]

_interceptor: Interceptor | None = None


@contextmanager
def intercepted(interceptor: Interceptor) -> Iterator[None]:
    """Inside, the launches of all kernels go to ``interceptor``."""
    global _interceptor
    outer, _interceptor = _interceptor, interceptor
    _core.surroundings.hold()  # the C++ launcher repeats none by itself
    try:
        yield
    finally:
        _core.surroundings.release()
        _interceptor = outer


def interceptor() -> Interceptor | None:
    return _interceptor


def before_run(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Call the hooks of one kernel (``fn.add_pre_run_hook``)."""
    for hook in fn.pre_run_hooks:
        hook(*args, **kwargs)


def around_launch(
    request: Request,
    kernel: Any,
    launch: Callable[[], None],
    *,
    function: Callable[[], int | None] = lambda: None,
    stream: int = 0,
) -> None:
    """Launch, with ``knobs.runtime``'s hooks before and after; ``function()`` is the GPU's handle
    of the kernel, for them."""
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if not enter and not leave:
        launch()
        return
    metadata = knobs.LazyDict({"name": kernel.name, "function": function(), "stream": stream})
    if request.fn.launch_metadata is not None:
        named = {a.name: a.value for a in request.arguments}
        metadata.add(request.fn.launch_metadata, (request.grid, kernel.metadata, named))
    if enter:
        enter(metadata)
    try:
        launch()
    finally:
        if leave:
            leave(metadata)


def compiled(
    fn: Any, metadata: dict[str, Any], stages: Sequence[tuple[str, int]], is_hit: bool
) -> None:
    """Tell ``knobs.compilation.listener``. Units: nanoseconds for each of the ``stages``."""
    listener = knobs.compilation.listener
    if listener is not None:
        times = [(stage, ns // 1000) for stage, ns in stages]
        listener(src=fn, metadata=metadata, metadata_group={}, times=times, cache_hit=is_hit)
