"""@jit: kernels that can be launched."""

from __future__ import annotations

import contextlib
import functools
import types
from abc import ABC
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from blockscope import _core
from blockscope.errors import SourceNotFound
from blockscope.frontend.constexpr_function import ConstexprFunction, constexpr_function
from blockscope.frontend.dependencies import source_key
from blockscope.frontend.kernel_function import KernelFunction, KernelParam
from blockscope.language import core
from blockscope.lazy import lazy_property
from blockscope.process_lock import loading
from blockscope.runtime.device_caches import DeviceCaches, OldCaches
from blockscope.runtime.tensors import MockTensor, TensorWrapper, reinterpret
from blockscope.users_call import method_for_user

__all__ = [
    "ConstexprFunction",
    "JITCallable",
    "JITFunction",
    "KernelInterface",
    "KernelParam",
    "MockTensor",
    "TensorWrapper",
    "constexpr_function",
    "get_device_key",
    "jit",
    "reinterpret",
]

T = TypeVar("T")

_source_changes: list[str] = []
"""The functions whose source ``_unsafe_update_src`` has changed."""


class KernelInterface(Generic[T]):
    """What can be launched: ``fn[grid](*args)``."""

    run: Callable[..., Any]

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(_core.call_for_user, self.run, grid=grid, warmup=False)


class JITFunction(_core.Launchable, KernelFunction, KernelInterface[T]):
    """A Python function over blocks. Launch it as ``fn[grid](...)``; call it inside other kernels.

    Where it runs is decided at each launch (docs/architecture.md, "Where a kernel runs").
    """

    steps_always = False
    """Whether it runs step by step whatever the settings say."""

    def __init__(
        self,
        fn: Callable[..., T],
        version: Any = None,
        do_not_specialize: Any = None,
        do_not_specialize_on_alignment: Any = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(fn, do_not_specialize)
        self.version = version
        self.debug = debug
        self.noinline = noinline
        self.launch_metadata = launch_metadata
        self._repr = repr
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment or []
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self.kernels: dict[Any, Any] = {}  # by exact key
        self.codes: dict[Any, Any] = {}  # what the CPU runs, which several kernels share
        self.kernel = None
        self.hash: str | None = None  # of the source; None: to be computed
        self._hashed_at = 0  # after how many changes of sources

    def replace_source(self, text: str) -> None:
        super().replace_source(text)
        self.forget_kernels()
        _source_changes.append(self.__name__)

    @property
    def cache_key(self) -> str:
        """A hash of this function's source and of all that it calls and reads, kept in ``hash``."""
        changes = len(_source_changes)
        if self.hash is None or self._hashed_at != changes:  # also of a function that it calls
            self.hash, self._hashed_at = source_key(self), changes
        return self.hash

    @property
    def device_caches(self) -> DeviceCaches:
        """What is compiled, as ``device_caches[device][0]``; one table for all devices."""
        return DeviceCaches(self)

    @property
    def cache(self) -> OldCaches:
        """What is compiled, as ``cache[device]``, which older files ask for."""
        return OldCaches(self)

    def forget_kernels(self) -> None:
        """Compile again at the next launch."""
        self.kernels.clear()
        self.codes.clear()
        self._launcher.clear()

    @property
    def used_global_vals(self) -> dict[Any, Any]:
        """The variables of the module that the kernel may read, by name and by its ``globals()``;
        modules and functions are none."""
        values = self.fn.__globals__
        named = {name: values[name] for name in self.fn.__code__.co_names if name in values}
        return {
            (name, id(values)): (value, values)
            for name, value in named.items()
            if isinstance(value, core.constexpr)
            or not (callable(value) or isinstance(value, types.ModuleType))
        }

    @used_global_vals.setter
    def used_global_vals(self, _: Any) -> None:
        """Nothing is kept that could be forgotten: they are read anew each time."""

    def __getstate__(self) -> dict[str, Any]:
        # A copy makes a launcher of its own, and may be read where the source is not.
        with contextlib.suppress(SourceNotFound):
            self.function_source  # noqa: B018
        left_out = ("_launcher", "_lines")
        state = {k: v for k, v in self.__dict__.items() if k not in left_out}
        return {**state, "kernels": {}, "codes": {}}

    def repr(self, specialization: Any = None) -> str:
        """The name of the kernel compiled for a specialization: its ``constants`` by name, and the
        types of its arguments, ``signature``."""
        return self._repr(specialization) if self._repr else self.__name__

    def __repr__(self) -> str:
        return f"JITFunction({self.module}:{self.fn.__qualname__})"

    # -- launches -------------------------------------------------------------------------------

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """``hook(*args, **kwargs)`` runs before each launch."""
        self.pre_run_hooks.append(hook)

    @lazy_property
    def _launcher(self) -> Any:
        """Repeats launches without Python; everything else comes back to ``_run``."""
        with loading:  # all that C++ and Python need to launch
            from blockscope.runtime import launch, launcher  # noqa: F401

        return launcher.make(self, self._launch)

    def _bind(self, grid: Any) -> Callable[..., Any]:
        """``self[grid]``, when C++ is first asked for it."""
        if self.runs_otherwise:
            return KernelInterface.__getitem__(self, grid)
        self.bind_by(self._launcher)
        return self[grid]

    @property
    def runs_otherwise(self) -> bool:
        """Whether this is of a user's class with a ``run`` of its own."""
        return type(self).run is not JITFunction.run

    @method_for_user
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch on ``grid`` with these arguments; returns the compiled kernel."""
        if warmup:
            return self._run(grid, args, kwargs, warmup=True)
        return self._launcher.bind(grid)(*args, **kwargs)

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Parameters of the kernel may have any name, 'grid' and 'warmup' too."""
        return self._run(grid, args, kwargs, warmup=False)

    def _run(
        self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, warmup: bool = False
    ) -> Any:
        with loading:
            from blockscope.runtime import launch

        return launch.run(self, grid, args, kwargs, warmup=warmup)

    @method_for_user
    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile for these arguments without running; a dtype stands for a tensor of it."""
        constant = {param.name for param in self.params if param.is_constexpr}
        names = [*self.arg_names, *("" for _ in args)]
        args = tuple(
            [
                arg if name in constant else MockTensor.wrap_dtype(arg)
                for name, arg in zip(names, args, strict=False)
            ]
        )
        kwargs = {
            name: arg if name in constant else MockTensor.wrap_dtype(arg)
            for name, arg in kwargs.items()
        }
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    @method_for_user
    def preload(self, specialization_data: str) -> Any:
        """Compile for what a hook was given as ``compile["specialization_data"]``, in this process
        or another one; gives the kernel.

        Errors: RuntimeError for the data of another kernel or of another target.
        """
        with loading:
            from blockscope.driver import driver
            from blockscope.runtime import example_arguments, specialization

        target = driver.active.get_current_target()
        source, options = specialization.read_data(self, specialization_data, target)
        return self.warmup(grid=(1,), **example_arguments.of(source), **options)


class JITCallable(ABC):  # noqa: B024
    """What a kernel can call, for ``isinstance``: functions of ``jit`` and ``constexpr_function``.

    The classes have no base in common, which Triton's have.
    """


JITCallable.register(JITFunction)
JITCallable.register(ConstexprFunction)


def get_device_key() -> int:
    """The current device, for ``device_caches``."""
    from blockscope.driver import driver

    return int(driver.active.get_current_device())


def __getattr__(name: str) -> Any:
    if name == "type_canonicalisation_dict":  # late: most programs do not ask
        from blockscope.runtime.specialization import short_names

        return short_names()
    raise AttributeError(f"module 'triton.runtime.jit' has no attribute '{name}'")


@overload
def jit(fn: Callable[..., T]) -> JITFunction[T]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[..., T]], JITFunction[T]]: ...
def jit(fn: Any = None, **options: Any) -> Any:
    """Decorate a function as a kernel.

    Options: version, repr, launch_metadata, do_not_specialize, do_not_specialize_on_alignment,
    debug, noinline.
    """
    options.pop("interpret", None)

    def decorate(function: Any) -> Any:
        if isinstance(function, JITFunction):
            return function
        return JITFunction(function, **options)

    return decorate(fn) if fn is not None else decorate
