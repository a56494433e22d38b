"""Settings, grouped as ``knobs.<group>.<name>``, each backed by an environment variable.

Reading a knob asks, in this order: the value set in Python, the environment variable, the default.
Setting a knob also sets its environment variable, so that child processes and C++ see it. Assigning
``knobs.env`` forgets the value set in Python. Knobs that only a GPU back end reads are kept so that
files which set them run; on the CPU they change nothing.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from blockscope import settings

T = TypeVar("T")
KnobGroupT = TypeVar("KnobGroupT", bound="KnobGroup")


class Env:
    """The type of ``knobs.env``: assigning it to a knob means "read the environment again"."""

    def __repr__(self) -> str:
        return "knobs.env"


env = Env()
on_change: list[Callable[[], None]] = []
"""Called whenever a knob is set in Python, to a value that may be the same."""
propagate_env: bool = True
"""False keeps values that are set in Python out of the environment."""


def _to_env(value: Any) -> str | None:
    """The text that the environment gets for a value; None removes the variable."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return None if value is None else str(value)


class Knob(Generic[T]):
    """One setting: a data descriptor on a group, read from ``key`` with ``parse``."""

    def __init__(self, key: str, parse: Callable[[str], T], default: T | Callable[[], T]) -> None:
        self.key = key
        self.parse = parse
        self.default = default
        self.name = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, group: Any, owner: type | None = None) -> Any:
        if group is None:
            return self
        if self.name in group.__dict__:
            return group.__dict__[self.name]
        return self.get()

    def get(self) -> T:
        """The value from the environment, or the default."""
        text = os.environ.get(self.key)
        if text is None or text == "":
            return self.default() if callable(self.default) else self.default
        try:
            return self.parse(text)
        except ValueError as error:
            raise ValueError(f"environment variable {self.key} is '{text}': {error}") from None

    def __set__(self, group: Any, value: Any) -> None:
        if isinstance(value, Env):
            group.__dict__.pop(self.name, None)
            return
        group.__dict__[self.name] = value
        if not propagate_env or not (value is None or isinstance(value, (bool, int, str))):
            return
        text = _to_env(value)
        if text is None:
            os.environ.pop(self.key, None)
        else:
            os.environ[self.key] = text

    def __delete__(self, group: Any) -> None:
        group.__dict__.pop(self.name, None)


def _parse_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "on", "yes", "y"):
        return True
    if lowered in ("0", "false", "off", "no", "n"):
        return False
    raise ValueError("expected 0 or 1")


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("expected a whole number") from None


def _parse_class(text: str) -> type:
    import importlib

    module, separator, name = text.partition(":")
    if not separator:
        raise ValueError("expected MODULE:CLASS")
    return getattr(importlib.import_module(module), name)


def _bool(key: str, default: bool = False) -> Any:
    return Knob(key, _parse_bool, default)


def _opt_bool(key: str) -> Any:
    return Knob[bool | None](key, _parse_bool, None)


def _int(key: str, default: int = 0) -> Any:
    return Knob(key, _parse_int, default)


def _str(key: str, default: str | Callable[[], str]) -> Any:
    return Knob(key, str, default)


def _opt_str(key: str) -> Any:
    return Knob[str | None](key, str, None)


def _class(key: str) -> Any:
    return Knob[type | None](key, _parse_class, None)


class OwnKnob(Knob[Any]):
    """A variable of Blockscope's own: ``settings`` knows what it may be, and its default."""

    def __init__(self, key: str) -> None:
        super().__init__(key, lambda text: settings.parse(key, text), lambda: settings.read(key))

    def get(self) -> Any:
        return settings.read(self.key)

    def __set__(self, group: Any, value: Any) -> None:
        if not isinstance(value, Env):
            self.parse(_to_env(value) or "")
        super().__set__(group, value)


def _changed() -> None:
    for call in on_change:
        call()


class KnobGroup:
    """A group of knobs that can be listed, copied, reset and scoped."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _changed()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        _changed()

    @property
    def knob_descriptors(self) -> dict[str, Knob[Any]]:
        return {name: knob for name, knob in vars(type(self)).items() if isinstance(knob, Knob)}

    @property
    def knobs(self) -> dict[str, Any]:
        """The present value of every knob of the group."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self: KnobGroupT) -> KnobGroupT:
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self: KnobGroupT) -> KnobGroupT:
        """Forget every value set in Python; the environment decides again."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo, at the end of the ``with`` block, all changes made to the group inside it."""
        values = dict(self.__dict__)
        variables = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(values)
            for key, text in variables.items():
                if text is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = text
            _changed()


class HookChain:
    """Functions that are called one after the other; adding one twice calls it once."""

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Callable[..., Any]] = []
        self.reversed = reversed

    def add(self, func: Callable[..., Any]) -> None:
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func: Callable[..., Any]) -> None:
        if func in self.calls:
            self.calls.remove(func)

    def __bool__(self) -> bool:
        return bool(self.calls)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for call in reversed(self.calls) if self.reversed else list(self.calls):
            call(*args, **kwargs)


class LazyDict:
    """What launch hooks receive: a dict whose last entries are computed when it is read."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = []

    def get(self) -> dict[str, Any]:
        for func, args in self.extras:
            self.data = {**self.data, **func(*args)}
        self.extras.clear()
        return self.data

    def add(self, func: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> None:
        self.extras.append((func, args))

    def __getitem__(self, name: str) -> Any:
        return self.get()[name]


@dataclass(frozen=True)
class CompileTimes:
    """How long compiling a kernel took, for ``compilation.listener``. Units: microseconds."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results


def _triton_dir(name: str) -> Callable[[], str]:
    return lambda: cache.get_triton_dir(name)


class build_knobs(KnobGroup):
    cc = _opt_str("CC")
    cudacrt_path = _opt_str("TRITON_CUDACRT_PATH")
    cudart_path = _opt_str("TRITON_CUDART_PATH")
    impl: Callable[..., Any] | None = None

    @property
    def backend_dirs(self) -> set[str]:
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(KnobGroup):
    key_format = _str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = _str("TRITON_REDIS_HOST", "localhost")
    port = _int("TRITON_REDIS_PORT", 6379)


class cache_knobs(KnobGroup):
    home_dir = _str("TRITON_HOME", lambda: os.path.expanduser("~"))
    dump_dir = _str("TRITON_DUMP_DIR", _triton_dir("dump"))
    override_dir = _str("TRITON_OVERRIDE_DIR", _triton_dir("override"))
    dir = _str("TRITON_CACHE_DIR", _triton_dir("cache"))
    manager_class = _class("TRITON_CACHE_MANAGER")
    remote_manager_class = _class("TRITON_REMOTE_CACHE_BACKEND")

    def get_triton_dir(self, dirname: str) -> str:
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(KnobGroup):
    override = _bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = _bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = _bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = _bool("TRITON_STORE_BINARY_ONLY")
    always_compile = _bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = _opt_str("USE_IR_LOC")
    enable_asan = _bool("TRITON_ENABLE_ASAN")
    disable_line_info = _bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = _bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = _bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    listener: Callable[..., None] | None = None
    instrumentation_mode: str = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")


class autotuning_knobs(KnobGroup):
    cache = _bool("TRITON_CACHE_AUTOTUNING")
    print = _bool("TRITON_PRINT_AUTOTUNING")
    listener: Callable[..., None] | None = None


class runtime_knobs(KnobGroup):
    interpret = _bool("TRITON_INTERPRET")
    override_arch = _opt_str("TRITON_OVERRIDE_ARCH")
    debug: bool = _parse_bool(os.environ.get("TRITON_DEBUG") or "0")

    launch_enter_hook: HookChain | Callable[..., Any] | None = HookChain()
    launch_exit_hook: HookChain | Callable[..., Any] | None = HookChain(reversed=True)
    kernel_load_start_hook: HookChain = HookChain()
    kernel_load_end_hook: HookChain = HookChain(reversed=True)
    kernel_unload_hook: HookChain = HookChain(reversed=True)
    jit_cache_hook: Callable[..., Any] | None = None
    jit_post_compile_hook: Callable[..., Any] | None = None
    add_stages_inspection_hook: Callable[..., Any] | None = None


class language_knobs(KnobGroup):
    fp32_default = _opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = _bool("TRITON_DEFAULT_FP_FUSION", True)


class nvidia_knobs(KnobGroup):
    cuobjdump = _opt_str("TRITON_CUOBJDUMP_PATH")
    nvdisasm = _opt_str("TRITON_NVDISASM_PATH")
    ptxas = _opt_str("TRITON_PTXAS_PATH")
    ptxas_blackwell = _opt_str("TRITON_PTXAS_BLACKWELL_PATH")
    dump_nvptx = _bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = _bool("DISABLE_PTXAS_OPT")
    ptxas_options = _opt_str("PTXAS_OPTIONS")
    mock_ptx_version = _opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = _bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = _opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = _opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(KnobGroup):
    use_buffer_ops = _bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = _bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    dump_amdgcn = _bool("AMDGCN_ENABLE_DUMP")
    libhip_path = _opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = _opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = _opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = _opt_bool("TRITON_HIP_USE_ASYNC_COPY")
    global_prefetch = _int("TRITON_HIP_GLOBAL_PREFETCH")
    local_prefetch = _int("TRITON_HIP_LOCAL_PREFETCH")
    scalarize_packed_fops = _bool("AMDGCN_SCALARIZE_PACKED_FOPS")
    dump_mir = _opt_str("TRITON_DUMP_MIR")
    swap_mir = _opt_str("TRITON_SWAP_MIR")


class proton_knobs(KnobGroup):
    disable = _bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = _opt_str("TRITON_CUPTI_LIB_PATH")
    cupti_lib_blackwell_dir = _opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH")
    enable_nvtx = _bool("TRITON_ENABLE_NVTX", True)
    enable_hw_trace = _bool("TRITON_ENABLE_HW_TRACE")
    profile_buffer_size = _int("TRITON_PROFILE_BUFFER_SIZE", 64 * 1024 * 1024)
    metric_buffer_size = _int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 * 1024 * 1024)


class cpu_knobs(KnobGroup):
    """Settings of the CPU executors."""

    num_threads = OwnKnob("BLOCKSCOPE_THREADS")
    program = OwnKnob("BLOCKSCOPE_PROGRAM")


class gpu_knobs(KnobGroup):
    """Settings of the GPU compiler that Triton has no knob for."""

    dump_passes = _str("MLIR_ENABLE_DUMP", "")
    dump_llvm = _bool("LLVM_IR_ENABLE_DUMP")
    pass_pipeline = OwnKnob("BLOCKSCOPE_GPU_PIPELINE")
    ptxas_seconds = OwnKnob("BLOCKSCOPE_PTXAS_SECONDS")
    tma = OwnKnob("BLOCKSCOPE_TMA")
    warnings = OwnKnob("BLOCKSCOPE_WARNINGS")


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()
cpu = cpu_knobs()
gpu = gpu_knobs()

base_knobs = KnobGroup


def refresh_knobs() -> None:
    """Read again from the environment what is read only once, at import."""
    runtime.debug = _parse_bool(os.environ.get("TRITON_DEBUG") or "0")
    compilation.instrumentation_mode = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")


class _Knobs(types.ModuleType):
    """This module: a group of knobs may be replaced by another one."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _changed()


sys.modules[__name__].__class__ = _Knobs
