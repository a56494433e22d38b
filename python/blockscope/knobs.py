"""Settings, grouped as ``knobs.<group>.<name>``, each backed by an environment variable.

Reading a knob asks, in this order: the value set in Python, the environment variable, the default.
Setting a knob also sets its environment variable, so that child processes and C++ see it. Assigning
``knobs.env`` forgets the value set in Python. Knobs that do nothing in Blockscope are there so that
files which set them run; each says so once, when it gets a value that is not its default.
"""

from __future__ import annotations

import os
import re
import sys
import types
import warnings
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

    has_effect = True

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
        if not self.has_effect and not callable(self.default) and value not in (None, self.default):
            _say_no_effect(self.key, stacklevel=4)
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


def env_bool(key: str, default: bool = False) -> Any:
    return Knob(key, _parse_bool, default)


def env_opt_bool(key: str) -> Any:
    return Knob[bool | None](key, _parse_bool, None)


def env_int(key: str, default: int = 0) -> Any:
    return Knob(key, _parse_int, default)


def env_str(key: str, default: str | Callable[[], str]) -> Any:
    return Knob(key, str, default)


def env_opt_str(key: str) -> Any:
    return Knob[str | None](key, str, None)


def env_str_callable_default(key: str, default: Callable[[], str]) -> Any:
    return Knob(key, str, default)


def env_class(key: str, base: str = "object") -> Any:
    """A class, as MODULE:CLASS, that has a base of this name."""

    def parse(text: str) -> type:
        found = _parse_class(text)
        if not any(kind.__name__ == base for kind in found.mro()):
            raise ValueError(f"expected a class derived from {base}")
        return found

    return Knob[type | None](key, parse, None)


@dataclass
class NvidiaTool:
    """A program of the CUDA toolkit; ``version`` is a release, as in ``13.0``."""

    path: str
    version: str

    @staticmethod
    def from_path(path: str) -> NvidiaTool | None:
        """The tool at a path; None when it does not run or does not say its release."""
        from blockscope import cuda_files  # late: few programs ask

        release = cuda_files.release(path)
        return None if release == (0, 0) else NvidiaTool(path, "{}.{}".format(*release))


class ToolKnob(Knob[Any]):
    """A path when it is set, a ``NvidiaTool`` when it is read.

    Errors: RuntimeError when there is no such program.
    """

    def __init__(self, binary: str) -> None:
        key = re.sub(r"\W", "_", binary.upper())
        super().__init__(f"TRITON_{key}_PATH", str, None)
        self.binary = binary

    def __get__(self, group: Any, owner: type | None = None) -> Any:
        if group is None:
            return self
        from blockscope import cuda_files

        paths = [chosen] if (chosen := self.chosen(group)) else cuda_files.programs(self.binary)
        found = [tool for path in paths if (tool := NvidiaTool.from_path(path))]
        if not found:
            raise RuntimeError(f"Cannot find {self.binary}{f' at {chosen}' if chosen else ''}")
        return max(found, key=lambda tool: cuda_files.release(tool.path))

    def chosen(self, group: Any) -> str | None:
        """The path that was set in Python, else in the environment."""
        return group.__dict__.get(self.name) or os.environ.get(self.key) or None


env_base = Knob
env_nvidia_tool = ToolKnob


def _without_effect(knob: Any) -> Any:
    """A knob that changes nothing here."""
    knob.has_effect = False
    return knob


_said: set[str] = set()


def _say_no_effect(key: str, stacklevel: int) -> None:
    if key not in _said:
        _said.add(key)
        warnings.warn(f"{key} has no effect in Blockscope", RuntimeWarning, stacklevel)


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
        """The present value of every knob of the group; None for a tool that is not there."""
        return {name: self._value(name) for name in self.knob_descriptors}

    def _value(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except RuntimeError:
            return None

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

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _changed()  # launches keep the list

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
    cc = env_opt_str("CC")
    cudacrt_path = _without_effect(env_opt_str("TRITON_CUDACRT_PATH"))
    cudart_path = _without_effect(env_opt_str("TRITON_CUDART_PATH"))
    impl: Callable[..., Any] | None = None

    @property
    def backend_dirs(self) -> set[str]:
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(KnobGroup):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


redis = redis_knobs()


class cache_knobs(KnobGroup):
    home_dir = env_str("TRITON_HOME", lambda: os.path.expanduser("~/"))
    dump_dir = env_str("TRITON_DUMP_DIR", _triton_dir("dump"))
    override_dir = env_str("TRITON_OVERRIDE_DIR", _triton_dir("override"))
    dir = env_str("TRITON_CACHE_DIR", _triton_dir("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")
    redis = redis

    def get_triton_dir(self, dirname: str) -> str:
        return os.path.join(self.home_dir, ".triton", dirname)


#: Those of Triton. Only "fpsan" does something here (docs/algebra.md); the checks of `blockscope
#: check` find what the others look for.
INSTRUMENTATION_MODES = ("fpsan", "consan", "iisan", "gsan")


class compilation_knobs(KnobGroup):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = _without_effect(
        env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    )
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = _without_effect(env_opt_str("USE_IR_LOC"))
    enable_asan = _without_effect(env_bool("TRITON_ENABLE_ASAN"))
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    fpsan_homomorphic_casts = _without_effect(env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS"))
    listener: Callable[..., None] | None = None
    instrumentation_mode: str = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "instrumentation_mode" and set((value or "").split(",")) - {"", "fpsan"}:
            _say_no_effect("TRITON_INSTRUMENTATION_MODE", stacklevel=3)
        super().__setattr__(name, value)


class autotuning_knobs(KnobGroup):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")
    listener: Callable[..., None] | None = None


class runtime_knobs(KnobGroup):
    interpret = env_bool("TRITON_INTERPRET")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    debug: bool = _parse_bool(os.environ.get("TRITON_DEBUG") or "0")

    launch_enter_hook: HookChain | Callable[..., Any] | None = HookChain()
    launch_exit_hook: HookChain | Callable[..., Any] | None = HookChain(reversed=True)
    kernel_load_start_hook: HookChain = HookChain()
    kernel_load_end_hook: HookChain = HookChain(reversed=True)
    kernel_unload_hook: HookChain = HookChain()
    jit_cache_hook: Callable[..., Any] | None = None
    jit_post_compile_hook: Callable[..., Any] | None = None
    add_stages_inspection_hook: Callable[..., Any] | None = None


class language_knobs(KnobGroup):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION")

    def fp_fusion_enabled(self, requested: bool | None) -> bool:
        """Whether products and sums may be fused, when a launch asks for ``requested``."""
        if self.force_disable_fp_fusion:
            return False
        return bool(self.default_fp_fusion if requested is None else requested)


class nvidia_knobs(KnobGroup):
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = _without_effect(env_nvidia_tool("ptxas-blackwell"))
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = _without_effect(env_opt_str("TRITON_MOCK_PTX_VERSION"))
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")

    def chosen_path(self, tool: str) -> str | None:
        """Where a tool was said to be, in Python or in the environment."""
        path: str | None = self.knob_descriptors[tool].chosen(self)  # type: ignore[attr-defined]
        return path


class amd_knobs(KnobGroup):
    """There is no back end for AMD: none of these does anything."""

    codegen_path = _without_effect(env_opt_str("TRITON_AMD_CODEGEN_PATH"))
    use_buffer_ops = _without_effect(env_bool("AMDGCN_USE_BUFFER_OPS", True))
    use_buffer_atomics = _without_effect(env_bool("AMDGCN_USE_BUFFER_ATOMICS", True))
    buffer_ops_analyze_small_tensor_range = _without_effect(
        env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    )
    dump_amdgcn = _without_effect(env_bool("AMDGCN_ENABLE_DUMP"))
    libhip_path = _without_effect(env_opt_str("TRITON_LIBHIP_PATH"))
    use_block_pingpong = _without_effect(env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG"))
    use_in_thread_transpose = _without_effect(env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE"))
    use_async_copy = _without_effect(env_opt_bool("TRITON_HIP_USE_ASYNC_COPY"))
    use_coexec_scheduler = _without_effect(env_opt_bool("TRITON_HIP_USE_COEXEC_SCHEDULER"))
    use_expert_scheduling = _without_effect(env_opt_bool("TRITON_HIP_USE_EXPERT_SCHEDULING"))
    global_prefetch = _without_effect(env_int("TRITON_HIP_GLOBAL_PREFETCH"))
    local_prefetch = _without_effect(env_int("TRITON_HIP_LOCAL_PREFETCH"))
    scalarize_packed_fops = _without_effect(env_bool("AMDGCN_SCALARIZE_PACKED_FOPS"))
    dump_mir = _without_effect(env_opt_str("TRITON_DUMP_MIR"))
    swap_mir = _without_effect(env_opt_str("TRITON_SWAP_MIR"))
    swap_mir_enable_misched = _without_effect(env_bool("TRITON_SWAP_MIR_ENABLE_MISCHED"))


class proton_knobs(KnobGroup):
    """There is no profiler yet: none of these does anything."""

    disable = _without_effect(env_bool("TRITON_PROTON_DISABLE"))
    cupti_lib_dir = _without_effect(env_opt_str("TRITON_CUPTI_LIB_PATH"))
    cupti_lib_blackwell_dir = _without_effect(env_opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH"))
    hsa_runtime_path = _without_effect(env_opt_str("TRITON_HSA_RUNTIME_PATH"))
    hsa_runtime_library = _without_effect(env_opt_str("TRITON_HSA_RUNTIME_LIBRARY"))
    rocprofiler_sdk_include_path = _without_effect(
        env_opt_str("TRITON_ROCPROFILER_SDK_INCLUDE_PATH")
    )
    rocprofiler_sdk_lib_path = _without_effect(env_opt_str("TRITON_ROCPROFILER_SDK_LIB_PATH"))
    rocprofiler_sdk_library = _without_effect(env_opt_str("TRITON_ROCPROFILER_SDK_LIBRARY"))
    roctracer_lib_path = _without_effect(env_opt_str("TRITON_ROCTRACER_LIB_PATH"))
    roctracer_library = _without_effect(env_opt_str("TRITON_ROCTRACER_LIBRARY"))
    roctx_lib_path = _without_effect(env_opt_str("TRITON_ROCTX_LIB_PATH"))
    roctx_library = _without_effect(env_str("TRITON_ROCTX_LIBRARY", "libroctx64.so"))
    enable_nvtx = _without_effect(env_bool("TRITON_ENABLE_NVTX", True))
    enable_hw_trace = _without_effect(env_bool("TRITON_ENABLE_HW_TRACE"))
    profile_buffer_size = _without_effect(env_int("TRITON_PROFILE_BUFFER_SIZE", 64 * 1024 * 1024))
    profile_metric_buffer_size = _without_effect(
        env_int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 * 1024 * 1024)
    )


class cpu_knobs(KnobGroup):
    """Settings of the CPU executors."""

    num_threads = OwnKnob("BLOCKSCOPE_THREADS")
    program = OwnKnob("BLOCKSCOPE_PROGRAM")


class gpu_knobs(KnobGroup):
    """Settings of the GPU compiler that Triton has no knob for."""

    dump_passes = env_str("MLIR_ENABLE_DUMP", "")
    dump_llvm = env_bool("LLVM_IR_ENABLE_DUMP")
    pass_pipeline = OwnKnob("BLOCKSCOPE_GPU_PIPELINE")
    ptxas_seconds = OwnKnob("BLOCKSCOPE_PTXAS_SECONDS")
    tma = OwnKnob("BLOCKSCOPE_TMA")
    warnings = OwnKnob("BLOCKSCOPE_WARNINGS")


build = build_knobs()
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


VARIABLES_WITHOUT_EFFECT = (
    "TRITON_ENABLE_LLVM_DEBUG",
    "TRITON_LLVM_DEBUG_ONLY",
    "TRITON_ENABLE_PYTHON_STACKTRACE",
    "TRITON_REPRODUCER_PATH",
    "TRITON_PLUGIN_PATHS",
    "TRITON_CONSAN_INIT_ALLOCATIONS",
    "TRITON_CPU_UKERNELS_LIB",
    "TRITON_CPU_FAST_MATH",
    "TRITON_CPU_ASSUME_IN_BOUNDS",
    "TRITON_CPU_DOT_PROD_HORIZ_SUM",
    "TRITON_DISABLE_OPENMP",
    "MLIR_ENABLE_DIAGNOSTICS",
    "MLIR_ENABLE_TIMING",
    "MLIR_DUMP_PATH",
    "MLIR_DISABLE_MULTITHREADING",
    "LLVM_ENABLE_TIMING",
    "LLVM_PASS_PLUGIN_PATH",
    "PROTON_DATA_FLUSH_TIMING",
)
"""Variables of Triton's that no knob stands for, and that do nothing here."""


class _Module(types.ModuleType):
    """This module: who puts another group into it has changed its knobs."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _changed()


sys.modules[__name__].__class__ = _Module


def _groups() -> list[KnobGroup]:
    return [value for value in globals().values() if isinstance(value, KnobGroup)]


def without_effect() -> list[str]:
    """The variables that do nothing here."""
    knobs = [knob for group in _groups() for knob in group.knob_descriptors.values()]
    return sorted({*VARIABLES_WITHOUT_EFFECT, *(k.key for k in knobs if not k.has_effect)})


def _look_at_environment() -> None:
    """Say which of the variables that are set do nothing. An empty one, 0 or a default says nothing
    new."""
    defaults = {k.key: k.default for g in _groups() for k in g.knob_descriptors.values()}
    for key in without_effect():
        text = os.environ.get(key, "")
        if text not in ("", "0") and text != _to_env(defaults.get(key)):
            _say_no_effect(key, stacklevel=2)


_look_at_environment()


class _Knobs(types.ModuleType):
    """This module: a group of knobs may be replaced by another one."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _changed()


sys.modules[__name__].__class__ = _Knobs
