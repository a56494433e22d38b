"""What users have asked to be called around launches and compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from blockscope import _core, knobs
from blockscope.errors import NotYetSupported

#: What takes the place of a launch: called with (run, fn, args, grid, kwargs, warmup), it goes on
#: with run(fn, grid, args, kwargs, warmup=warmup).
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
    request: Any,
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


def may_compile(specialization: Any, *, is_warmup: bool) -> bool:
    """Ask ``knobs.runtime.jit_cache_hook``: what it returns true for is not compiled."""
    hook = knobs.runtime.jit_cache_hook
    return hook is None or not hook(**specialization.hook_arguments(is_warmup=is_warmup))


def compiled_new(specialization: Any, *, is_warmup: bool) -> None:
    """Tell ``knobs.runtime.jit_post_compile_hook``."""
    hook = knobs.runtime.jit_post_compile_hook
    if hook is not None:
        hook(**specialization.hook_arguments(is_warmup=is_warmup))


def stages_key() -> tuple[str, ...]:
    """What ``knobs.runtime.add_stages_inspection_hook`` adds to the keys of kernels."""
    hook = knobs.runtime.add_stages_inspection_hook
    return () if hook is None else tuple(str(part) for part in hook())


def inspect_stages(specialization: Any, stages: dict[str, Any]) -> dict[str, Any]:
    """Show ``add_stages_inspection_hook`` the stages, as functions of the stage before and of the
    metadata; gives what those functions give that it has put in their place.

    Errors: NotYetSupported for a stage that was added or taken away.
    """
    functions = {name: _function_of(value) for name, value in stages.items()}
    shown = dict(functions)
    target = specialization.target
    options = SimpleNamespace(**specialization.options)
    backend = SimpleNamespace(target=target, binary_ext="cubin")
    capability = target.arch if target.backend == "cuda" else None
    hook: Any = knobs.runtime.add_stages_inspection_hook
    hook(backend, shown, options, 0, capability)
    if shown.keys() != functions.keys():
        wrong = sorted(shown.keys() ^ functions.keys())
        raise NotYetSupported(
            f"add_stages_inspection_hook has added or removed the stage '{wrong[0]}', expected "
            f"only {', '.join(functions)}"
        )
    given, before = {}, None
    for name, function in shown.items():
        if function is not functions[name]:
            given[name] = function(before, dict(specialization.options))
        before = given.get(name, stages[name])
    return given


def refuse_changes(specialization: Any, stages: dict[str, Any]) -> None:
    """Show the stages where none can be put in the place of another one."""
    given = inspect_stages(specialization, stages)
    for name in given:
        if given[name] != stages[name]:
            raise NotYetSupported(
                f"add_stages_inspection_hook has changed the stage '{name}', expected no change"
            )


def _function_of(value: Any) -> Callable[..., Any]:
    return lambda source=None, metadata=None: value


def compiled(
    kernel: Any,
    front_end_ns: int,
    stages: Sequence[tuple[str, int]],
    store_ns: int,
    *,
    is_hit: bool,
) -> None:
    """Tell ``knobs.compilation.listener``. Units: nanoseconds, also for each of the ``stages``."""
    listener = knobs.compilation.listener
    if listener is None:
        return
    listener(
        src=kernel.src,
        metadata=kernel.metadata._asdict(),
        metadata_group=kernel.metadata_group,
        times=knobs.CompileTimes(
            ir_initialization=_microseconds(front_end_ns),
            lowering_stages=[(stage, _microseconds(ns)) for stage, ns in stages],
            store_results=_microseconds(store_ns),
        ),
        cache_hit=is_hit,
    )


def _microseconds(ns: int) -> int:
    return -(-ns // 1000)  # what took time is not 0


def load_begins(kernel: Any) -> None:
    """Tell ``knobs.runtime.kernel_load_start_hook``."""
    _tell(knobs.runtime.kernel_load_start_hook, kernel, None, None)


def load_ends(kernel: Any, module: Any, function: Any) -> None:
    """Tell ``knobs.runtime.kernel_load_end_hook``."""
    _tell(knobs.runtime.kernel_load_end_hook, kernel, module, function)


def unloads(kernel: Any, module: Any, function: Any) -> None:
    """Tell ``knobs.runtime.kernel_unload_hook``."""
    _tell(knobs.runtime.kernel_unload_hook, kernel, module, function)


def _tell(hook: Any, kernel: Any, module: Any, function: Any) -> None:
    if hook:  # a file may have put None there
        hook(module, function, kernel.name, kernel.metadata_group, kernel.hash)
