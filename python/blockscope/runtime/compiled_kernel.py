"""What a launch returns: a kernel compiled for one set of argument types, constants and options."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from blockscope import _core, checks
from blockscope.frontend.argument import Argument
from blockscope.runtime import hooks
from blockscope.runtime.async_compile import FutureKernel, active_mode
from blockscope.runtime.false_claims import false_claims
from blockscope.runtime.specialization import Specialization
from blockscope.users_call import for_user


class Asm(dict[str, Any]):
    """The stages of a kernel by name. Errors: KeyError that names those that there are."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"kernel has no stage '{name}', expected {', '.join(self)}")


class CompiledKernel:
    """What the kernels of all backends have in common.

    ``used_values`` are records of what the kernel read from outside while it was compiled.
    """

    def __init__(
        self,
        fn: Any,
        arguments: list[Argument],
        used_values: list[Any],
        key: str,
        metadata: dict[str, Any],
        specialization: Specialization,
    ) -> None:
        self.fn = fn
        self.specialization = specialization
        self.name = specialization.name
        self.hash = key
        self._constants = {
            p.name: a.value for p, a in zip(fn.params, arguments, strict=True) if p.is_constexpr
        }
        self.used_values = used_values
        #: The options of the launch that it was compiled for, as far as they matter.
        self.launch_options: dict[str, Any] = {}
        self.metadata = namedtuple("KernelMetadata", sorted(metadata))(**metadata)
        self.packed_metadata = self.metadata
        #: The files of the kernel in a cache, by name.
        self.metadata_group: dict[str, str] = {}

    @property
    def src(self) -> Any:
        """The ASTSource that it was compiled from."""
        return self.specialization.source

    @property
    def shared(self) -> int:
        """Bytes of shared memory, which older files ask the kernel itself for."""
        return int(getattr(self.metadata, "shared"))  # noqa: B009

    def is_stale(self) -> bool:
        """Whether something that the kernel read has another value now."""
        return not _core.are_used_values_fresh(self.used_values)

    def short_way(self, device: int) -> Any:
        """How C++ launches this kernel again by itself: a ``_core.GpuShortWay`` for a GPU, a
        ``_core.CpuShortWay`` for a negative ``device``; None when each launch needs Python."""
        del device
        return None

    def _init_handles(self) -> None:
        """Make ready what ``n_regs`` and the like are read from."""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Launch again, with all arguments or, as older files do, without the constexpr ones."""

        @for_user
        def launch(*args: Any, stream: Any = None) -> None:
            del stream
            names = self.fn.arg_names
            if len(args) == len(names) - len(self._constants):
                given = iter(args)
                args = tuple(
                    [self._constants[n] if n in self._constants else next(given) for n in names]
                )
            launched = self.fn.run(*args, grid=grid, **self._options_beside(names))
            self._note_false_claims(launched, args)

        return launch

    @property
    def run(self) -> Callable[..., None]:
        """Launch again, as the code that torch.compile generates does: ``run(grid_x, grid_y,
        grid_z, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *args)``. A
        launch looks up its stream, its hooks and what they are given by itself."""
        if self.fn.runs_otherwise:
            return self._run_by_python
        names = self.fn.arg_names
        constants = [(self._constants[n],) if n in self._constants else None for n in names]
        options = self._options_beside(names)
        return _core.RepeatedLaunch(self.fn._launcher, constants, options, self._run_by_python)

    def _run_by_python(self, *given: Any) -> None:
        if len(given) < 9:
            raise TypeError(
                f"run() has {len(given)} arguments, expected a grid of three, a stream, a "
                "function, metadata, metadata of the launch, two hooks, and the kernel's own"
            )
        self[given[:3]](*given[9:])

    def _options_beside(self, names: list[str]) -> dict[str, Any]:
        return {n: v for n, v in self.launch_options.items() if n not in names}

    def launch_metadata(self, grid: Any, stream: Any, *args: Any) -> None:
        """What ``run`` is given for hooks: nothing, see there."""

    def _note_false_claims(self, launched: Any, args: tuple[Any, ...]) -> None:
        """Tell the check ``hints`` of arguments that are not what this kernel was compiled for:
        ``launched``, compiled anew for them, ran in its place, but kernels that are kept otherwise
        (a cubin, Triton's) take them as they are."""
        reports = [s for s in checks.active() if "hints" in getattr(s, "checks", ())]
        if not reports or launched is self or not isinstance(launched, CompiledKernel):
            return
        code = self.fn.fn.__code__
        place = (self.fn.__name__, code.co_filename, code.co_firstlineno)
        hint = "launch the function, not a kernel that it has returned"
        for claim, given in false_claims(self.src, launched.src, args):
            message = f"'{self.fn.__name__}' was compiled for {claim}, and is given {given}"
            for report in reports:
                report.handle.note("false-hint", *place, message, hint, subject=claim)


class CompileSkipped(Exception):
    """``jit_cache_hook`` has said that a kernel is not to be compiled."""


def kept(
    fn: Any,
    key: Any,
    specialize: Callable[[], Specialization],
    compile: Callable[[Specialization], Any],
    *,
    is_warmup: bool = False,
) -> Any:
    """The kernel that ``fn`` has under ``key``, compiled when there is none or it is stale.

    A FutureKernel for a warm-up inside ``AsyncCompileMode``.

    Errors: CompileSkipped.
    """
    kernel = fn.kernels.get(key)
    if kernel is None or kernel.is_stale():
        specialization = specialize()
        if not hooks.may_compile(specialization, is_warmup=is_warmup):
            raise CompileSkipped

        def finish(made: Any) -> None:
            fn.kernels[key] = made
            hooks.compiled_new(specialization, is_warmup=is_warmup)

        def fail(future: FutureKernel) -> None:
            if fn.kernels.get(key) is future:
                del fn.kernels[key]

        mode = active_mode.get()
        if mode is None:
            kernel = compile(specialization)
            finish(kernel)
        else:
            kernel = mode.submit(specialization, lambda: compile(specialization), finish, fail)
            fn.kernels[key] = kernel
    if isinstance(kernel, FutureKernel) and not is_warmup:
        return kernel.result()
    return kernel
