"""@jit: a kernel function, its parameters, its launches and its uses inside other kernels."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from blockscope import _core
from blockscope.frontend import dependencies
from blockscope.frontend.source import FunctionSource
from blockscope.language import core

T = TypeVar("T")

#: Options of a launch that are no kernel parameters. The CPU ignores what only shapes GPU code.
LAUNCH_OPTIONS = {
    "num_warps": 4,
    "num_ctas": 1,
    "num_stages": 3,
    "maxnreg": None,
    "enable_fp_fusion": True,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "sanitize_overflow": True,
    "debug": False,
    "extern_libs": None,
    "instrumentation_mode": "",
    "ptx_options": None,
    "ir_override": None,
    "enable_reflect_ftz": True,
    "allow_fp8e4nv": False,
    "allow_fp8e4b15": False,
    "default_dot_input_precision": "ieee",
    "max_num_imprecise_acc_default": 0,
    "minRegAutoWS": 24,
    "maxRegAutoWS": 152,
    "num_buffers_warp_spec": 0,
    "num_consumer_groups": 0,
    "reg_dec_producer": 0,
    "reg_inc_consumer": 0,
    "waves_per_eu": 0,
    "matrix_instr_nonkdim": 0,
    "kpack": 1,
    "allow_flush_denorm": False,
    "schedule_hint": "none",
    "llvm_fn_attrs": None,
    "num_cpu_threads": 0,
    "vec_lib": None,
    "enable_fast_math": False,
    "ukernels": None,
    "assume_in_bounds": False,
    "cluster_dims": (1, 1, 1),
    "arch": None,
    "backend_name": None,
    "supported_fp8_dtypes": None,
    "warp_size": 32,
}

_state = threading.local()


class KernelParam:
    """One parameter of a kernel."""

    def __init__(self, index: int, parameter: inspect.Parameter, *, specialize: bool) -> None:
        self.num = index
        self._parameter = parameter
        self.name = parameter.name
        self.default = parameter.default
        self.has_default = parameter.default is not inspect.Parameter.empty
        self.do_not_specialize = not specialize
        annotation = parameter.annotation
        self.annotation_object = None if annotation is inspect.Parameter.empty else annotation
        self.annotation = (
            annotation if isinstance(annotation, str) else _annotation_name(annotation)
        )
        self.is_constexpr = "constexpr" in self.annotation
        self.is_const = "const" in self.annotation and not self.is_constexpr
        self.is_variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        self.is_keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY

    def __repr__(self) -> str:
        return f"KernelParam({self.name!r})"


def _annotation_name(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, core.dtype):
        return str(annotation)
    return getattr(annotation, "__name__", str(annotation))


class KernelInterface(Generic[T]):
    """What can be launched: ``fn[grid](*args)``."""

    run: Callable[..., Any]

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(_core.call_for_user, self.run, grid=grid, warmup=False)


class JITFunction(KernelInterface[T]):
    """A Python function over blocks. Launch it as ``fn[grid](...)``; call it inside other kernels.

    Where it runs is decided at each launch (docs/architecture.md, "Where a kernel runs").
    """

    def __init__(
        self,
        fn: Callable[..., T],
        *,
        version: Any = None,
        do_not_specialize: Any = None,
        do_not_specialize_on_alignment: Any = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        if not inspect.isfunction(fn):
            raise TypeError(f"@jit needs a Python function, found {type(fn).__name__}")
        self.fn = fn
        self.module = fn.__module__
        self.version = version
        self.debug = debug
        self.noinline = noinline
        self.launch_metadata = launch_metadata
        self._repr = repr
        self.signature = inspect.signature(fn)
        for parameter in self.signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                raise TypeError(f"@jit function '{fn.__name__}' may not have a '**' parameter")
        excluded = set(do_not_specialize or ())
        self.do_not_specialize = do_not_specialize or []
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment or []
        self.params = [
            KernelParam(i, p, specialize=i not in excluded and p.name not in excluded)
            for i, p in enumerate(self.signature.parameters.values())
        ]
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self.device_caches: dict[Any, Any] = {}
        self.kernel = None
        self.hash: str | None = None  # of the source; None: to be computed
        functools.update_wrapper(self, fn)
        self.__name__ = fn.__name__
        self.__globals__ = fn.__globals__

    # -- source ---------------------------------------------------------------------------------

    @functools.cached_property
    def function_source(self) -> FunctionSource:
        return FunctionSource(self.fn)

    @property
    def raw_src(self) -> list[str]:
        return self.function_source.text.splitlines(keepends=True)

    @property
    def src(self) -> str:
        """The function's text from its ``def`` on."""
        text = self.function_source.text
        return text[text.index("def ") :] if "def " in text else text

    def _unsafe_update_src(self, new_source: str) -> None:
        source = self.function_source
        source.text = new_source
        source.__dict__.pop("tree", None)
        self.device_caches.clear()
        self._launcher.clear()
        self.hash = None

    @property
    def cache_key(self) -> str:
        """A hash of this function's source and of all that it calls and reads, kept in ``hash``."""
        if self.hash is None:
            self.hash = dependencies.source_key(self)
        return self.hash

    @property
    def cache(self) -> dict[Any, Any]:
        return self.device_caches

    @property
    def used_global_vals(self) -> dict[Any, Any]:
        code = self.fn.__code__
        values = self.fn.__globals__
        return {(n, id(values)): (values[n], values) for n in code.co_names if n in values}

    def __getstate__(self) -> dict[str, Any]:
        # A copy makes a launcher of its own.
        return {k: v for k, v in self.__dict__.items() if k not in ("_launcher", "_bind")}

    def repr(self, specialization: Any = None) -> str:
        return self._repr(specialization) if self._repr else self.__name__

    def __repr__(self) -> str:
        return f"JITFunction({self.module}:{self.fn.__qualname__})"

    # -- launches -------------------------------------------------------------------------------

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """``hook(*args, **kwargs)`` runs before each launch."""
        self.pre_run_hooks.append(hook)

    @functools.cached_property
    def _launcher(self) -> Any:
        """Repeats GPU launches without Python; everything else comes back to ``_run``."""
        from blockscope.runtime import launcher

        return _core.GpuLauncher(self, launcher.parameters_of(self))

    @functools.cached_property
    def _bind(self) -> Callable[[Any], Callable[..., Any]]:
        is_plain = type(self).run is JITFunction.run
        return self._launcher.bind if is_plain else super().__getitem__

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return self._bind(grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch on ``grid`` with these arguments; returns the compiled kernel."""
        if warmup:
            return self._run(*args, grid=grid, warmup=True, **kwargs)
        return self._launcher.bind(grid)(*args, **kwargs)

    def _run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        from blockscope.runtime import launch

        return launch.run(self, grid, args, kwargs, warmup=warmup)

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile for these arguments without running; a dtype stands for a tensor of it."""
        constant = {param.name for param in self.params if param.is_constexpr}
        names = [*self.arg_names, *("" for _ in args)]
        args = tuple(
            arg if name in constant else MockTensor.wrap_dtype(arg)
            for name, arg in zip(names, args, strict=False)
        )
        kwargs = {
            name: arg if name in constant else MockTensor.wrap_dtype(arg)
            for name, arg in kwargs.items()
        }
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def preload(self, specialization_data: str) -> Any:
        raise NotImplementedError("preload of GPU binaries needs the GPU back end")

    # -- uses inside kernels ----------------------------------------------------------------------

    def bind_in_kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Bind a call inside a kernel: defaults filled, Python numbers as constexpr.

        Done by hand, since step mode calls this often and a debugger would step into `inspect`.
        Run-time values are let through for constexpr parameters, as Triton does.
        """
        values = {}
        rest = list(args)
        named = dict(kwargs)
        for param in self.params:
            name = param.name
            if param.is_variadic:
                values[name] = core.tuple([_in_kernel(v) for v in rest])
                rest = []
                continue
            if rest and not param.is_keyword_only:
                if name in named:
                    raise TypeError(f"call of '{self.__name__}': two values for '{name}'")
                value = rest.pop(0)
            elif name in named:
                value = named.pop(name)
            elif param.has_default:
                value = param.default
            else:
                raise TypeError(f"call of '{self.__name__}': missing argument '{name}'")
            value = _in_kernel(value)
            if param.is_constexpr and not isinstance(
                value, core.constexpr | core.tuple | core.tensor
            ):
                value = core.constexpr(value)
            values[name] = value
        if rest or named:
            extra = f"'{next(iter(named))}'" if named else f"{len(args)} positional values"
            raise TypeError(
                f"call of '{self.__name__}': {extra} too much, expected "
                f"{', '.join(self.arg_names) or 'no arguments'}"
            )
        return values

    def _call_in_kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Run this function inside the kernel that is being compiled or stepped now."""
        generator = current_generator()
        if generator is not None:
            return generator.inline(self, args, kwargs)
        stepper = getattr(_state, "stepper", None)
        if stepper is None:
            raise RuntimeError(
                f"kernel '{self.__name__}' is launched with a grid: {self.__name__}[grid](...)"
            )
        return stepper(self, args, kwargs)

    __call__ = _call_in_kernel


def _in_kernel(value: Any) -> Any:
    """A Python value as a kernel passes it on: numbers, strings and dtypes are constexpr."""
    if isinstance(value, core.tensor | core.constexpr):
        return value
    if isinstance(value, tuple) and not isinstance(value, core.tuple):
        return core.tuple.from_named(value)
    if isinstance(value, bool | int | float | str | core.dtype) or value is None:
        return core.constexpr(value)
    return value


def set_stepper(stepper: Any) -> None:
    """Set what runs nested @jit functions of the kernel that this thread steps through, or None."""
    _state.stepper = stepper


def current_generator() -> Any:
    """The generator of the kernel that this thread compiles now, or None."""
    return getattr(_state, "generator", None)


def set_current_generator(generator: Any) -> None:
    _state.generator = generator


class ConstexprFunction:
    """A Python function run while compiling: constexpr arguments in, constexpr out."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        in_kernel = any(isinstance(a, core.constexpr) for a in (*args, *kwargs.values()))
        for value in (*args, *kwargs.values()):
            if isinstance(value, core.tensor):
                raise TypeError(
                    f"constexpr function '{self.fn.__name__}' got a value known only at run time"
                )
        plain = [_plain(a) for a in args]
        result = self.fn(*plain, **{k: _plain(v) for k, v in kwargs.items()})
        if not in_kernel and current_generator() is None:
            return result
        return result if isinstance(result, core.constexpr) else core.constexpr(result)


def _plain(value: Any) -> Any:
    if isinstance(value, core.constexpr):
        return _plain(value.value)
    if isinstance(value, core.tuple):
        return tuple(_plain(v) for v in value)
    return value


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Decorate a Python function that kernels call on constexpr values."""
    return ConstexprFunction(fn)


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


class MockTensor:
    """Stands for a tensor of a dtype where a kernel is only compiled (``warmup``)."""

    is_mock = True

    def __init__(self, dtype: Any, shape: Any = None, address: int = 0) -> None:
        self.dtype = dtype
        self._address = address
        self.shape = list(shape) if shape is not None else [1]

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        is_torch = type(arg).__name__ == "dtype" and type(arg).__module__ == "torch"
        return MockTensor(arg) if is_torch or isinstance(arg, core.dtype) else arg

    def stride(self) -> list[int]:
        strides = [1]
        for size in self.shape[1:]:
            strides.append(strides[-1] * size)
        return list(reversed(strides))

    def data_ptr(self) -> int:
        """An address that is as aligned as the tensors to compile for; nothing is there."""
        return self._address

    @staticmethod
    def ptr_range() -> int:
        return 0


class TensorWrapper:
    """A tensor seen with another dtype."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.dtype = dtype
        self.base = base
        self.data = getattr(base, "data", base)
        self.device = getattr(base, "device", None)
        self.shape = base.shape

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *args: Any) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        return self.base.element_size()

    def untyped_storage(self) -> Any:
        return self.base.untyped_storage()

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """Return ``tensor`` with its elements taken as ``dtype`` of the same size."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"cannot reinterpret a {type(tensor).__name__}")
