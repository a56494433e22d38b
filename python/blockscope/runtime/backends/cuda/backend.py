"""The general way to the GPU: from bound arguments to a compiled kernel and its launch.

The first launch of every kernel and key comes through here, and every launch that something
watches; the C++ launcher (python/src/launcher.cpp) repeats the rest by itself.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from blockscope import _core, knobs
from blockscope.errors import CompilationError, OutOfResources, PTXASError
from blockscope.frontend.block_ir import emit
from blockscope.language.linear import default_input_precision
from blockscope.runtime import launcher
from blockscope.runtime.backends.cuda import disk_cache, excepthook, notes, tools
from blockscope.runtime.backends.cuda import options as cuda_options
from blockscope.runtime.backends.cuda.kernel import GpuCompiledKernel
from blockscope.runtime.memory import buffers
from blockscope.runtime.memory import device as device_buffers
from blockscope.target import GPUTarget

ALIGNMENT = 16
"""Arguments that can be divided by this are known to be, when a kernel is compiled."""

GRID_LIMITS = (2**31 - 1, 65535, 65535)


# -- where a launch runs ---------------------------------------------------------------------------


def chosen_device(values: Any) -> int | None:
    """The GPU that a launch on these arguments goes to; None when it goes to the CPU.

    With a tensor in GPU memory it is that GPU. With CPU tensors alone it is the CPU. Without any
    tensor, as with dtypes in place of tensors in ``warmup``, the active driver decides.

    Errors: ValueError for tensors on several GPUs that do not reach each other's memory.
    """
    devices, on_cpu = [], False
    for value in tensors_in(values):
        device = device_buffers.device_of(value)
        if device is not None:
            devices.append(device)
        elif not getattr(value, "is_mock", False):
            on_cpu = True
    if not devices:
        from blockscope.driver import driver

        return None if on_cpu else driver.active.get_current_device()
    if len(set(devices)) > 1:
        return _one_of(sorted(set(devices)))
    return devices[0]


_NUMBERS = (bool, int, float, str)


def tensors_in(values: Any) -> Any:
    """The tensors among some arguments, in tuples and descriptors too."""
    for value in values:
        if isinstance(value, tuple):
            yield from tensors_in(value)
        elif hasattr(value, "block_shape") and hasattr(value, "base"):
            yield value.base
        elif not isinstance(value, _NUMBERS) and value is not None and buffers.is_tensor(value):
            yield value


def _one_of(devices: list[int]) -> int:
    from blockscope.driver import driver

    current = driver.active.get_current_device()
    device = current if current in devices else devices[0]
    torch: Any = sys.modules.get("torch")
    for other in devices:
        if torch and other != device and not torch.cuda.can_device_access_peer(device, other):
            raise ValueError(
                f"arguments are on GPU {device} and on GPU {other}, which do not reach each "
                "other's memory; expected all on one GPU"
            )
    return device


# -- options ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GpuOptions:
    """What a launch chooses about its code. Errors: TypeError or ValueError with the option."""

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    debug: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    ptx_options: str | None = None

    def __post_init__(self) -> None:
        for name, low, high in (("num_warps", 1, 32), ("num_stages", 0, 64), ("num_ctas", 1, 16)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} is {value!r}, expected a whole number")
            powers = name != "num_stages"
            if not low <= value <= high or (powers and value & (value - 1)):
                kind = "a power of two" if powers else "a number"
                raise ValueError(f"{name} is {value}, expected {kind} from {low} to {high}")
        if self.maxnreg is not None and (
            not isinstance(self.maxnreg, int) or not 16 <= self.maxnreg <= 255
        ):
            raise ValueError(f"maxnreg is {self.maxnreg!r}, expected a number from 16 to 255")
        for name in ("enable_fp_fusion", "debug", "launch_cooperative_grid", "launch_pdl"):
            value = getattr(self, name)
            if not isinstance(value, bool) and value not in (0, 1):
                raise TypeError(f"{name} is {value!r}, expected True or False")
        if not isinstance(self.ptx_options, str | None):
            raise TypeError(f"ptx_options is {self.ptx_options!r}, expected text for ptxas")


def parse_options(fn: Any, options: dict[str, Any]) -> GpuOptions:
    """The options of a launch that matter on a GPU, defaults and settings filled in."""
    known = {name: options[name] for name in GpuOptions.__dataclass_fields__ if name in options}
    known["debug"] = bool(options.get("debug") or fn.debug or knobs.runtime.debug)
    if "enable_fp_fusion" not in known:
        known["enable_fp_fusion"] = bool(knobs.language.default_fp_fusion)
    return GpuOptions(**known)


def target_of(options: dict[str, Any], device: int) -> GPUTarget:
    """The target that ``arch`` names among a launch's options, else that of the device."""
    arch = options.get("arch") or knobs.runtime.override_arch
    if arch:
        text = str(arch)
        target = _core.gpu.target_named(f"sm_{text}" if text[:1].isdigit() else text)
        capability = target["capability"]
    else:
        capability = _core.gpu.device_properties(device)["capability"]
    return GPUTarget("cuda", capability, 32)


def arch_of(target: GPUTarget) -> str:
    """``sm_90a`` for the target of capability 90."""
    return _core.gpu.target_of_capability(int(target.arch))["arch"]


# -- launching -------------------------------------------------------------------------------------


def launch(
    fn: Any, size: Any, bound: dict[str, Any], options: dict[str, Any], device: int, *, warmup: bool
) -> GpuCompiledKernel:
    """Compile for these arguments unless that is done, and launch unless it is a warm-up."""
    from blockscope.runtime import launch as general

    launcher.register_torch()
    with device_buffers.addresses_on(device):
        arguments = [general._classify(param, bound[param.name]) for param in fn.params]
    target = target_of(options, device)
    cuda_options.refuse_unsupported(options, int(target.arch))
    kernel = compiled(fn, arguments, parse_options(fn, options), target)
    if warmup:
        return kernel
    excepthook.install(_core.gpu.recent_launches)
    _check_grid(fn, size)
    stream = current_stream(device, bound.values())
    leaves = general.leaves(arguments)
    bits = [a.bits if a.buffer is None else a.buffer.pointer for a in leaves]
    owners = [a.value for a in leaves]
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if not enter and not leave:
        kernel.launch(size, bits, device, stream, owners)
        return kernel
    metadata = _hook_metadata(fn, kernel, size, arguments, device, stream)
    if enter:
        enter(metadata)
    try:
        kernel.launch(size, bits, device, stream, owners)
    finally:
        if leave:
            leave(metadata)
    return kernel


def _hook_metadata(
    fn: Any, kernel: Any, size: Any, arguments: list[Any], device: int, stream: int
) -> knobs.LazyDict:
    function = kernel.handle(device).function
    metadata = knobs.LazyDict({"name": kernel.name, "function": function, "stream": stream})
    if fn.launch_metadata is not None:
        named = {a.name: a.value for a in arguments}
        metadata.add(fn.launch_metadata, (size, kernel.metadata, named))
    return metadata


def _check_grid(fn: Any, size: Any) -> None:
    for axis, (number, limit) in enumerate(zip(size, GRID_LIMITS, strict=True)):
        if number > limit:
            raise ValueError(
                f"kernel '{fn.__name__}': grid dimension {axis} is {number}, expected at most "
                f"{limit} on a GPU"
            )


def current_stream(device: int, values: Any) -> int:
    """torch's current stream when torch owns an argument, else the default stream."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        return 0
    if any(isinstance(getattr(v, "base", v), torch.Tensor) for v in tensors_in(values)):
        return torch._C._cuda_getCurrentRawStream(device)
    # A kernel without tensors belongs to whoever works on the device now: torch, if it started it.
    has_tensors = next(iter(tensors_in(values)), None) is not None
    if not has_tensors and torch.cuda.is_initialized():
        return torch._C._cuda_getCurrentRawStream(device)
    return 0


# -- compiling -------------------------------------------------------------------------------------


def divisors(fn: Any, arguments: list[Any]) -> list[int]:
    """For each run-time argument what it can be divided by, as far as the kernel is told: 1 or 16.

    Units: bytes for pointers.
    """
    from blockscope.runtime import launch as general

    unaligned = set(fn.do_not_specialize_on_alignment)
    result = []
    for param, argument in zip(fn.params, arguments, strict=True):
        told = not (param.do_not_specialize or param.num in unaligned or param.name in unaligned)
        for leaf in general.leaves([argument]):
            result.append(ALIGNMENT if told and _divides(leaf) else 1)
    return result


def _divides(argument: Any) -> bool:
    if argument.buffer is not None:
        is_mock = getattr(argument.value, "is_mock", False)
        return argument.value.data_ptr() % ALIGNMENT == 0 if is_mock else \
            argument.buffer.pointer % ALIGNMENT == 0  # fmt: skip
    value = argument.value
    return isinstance(value, int) and not isinstance(value, bool) and value % ALIGNMENT == 0


def compiled(
    fn: Any, arguments: list[Any], options: GpuOptions, target: GPUTarget
) -> GpuCompiledKernel:
    """The kernel for these arguments: from this process, from disk, or compiled now."""
    aligned = divisors(fn, arguments)
    precision = default_input_precision(on_gpu=True)
    key = (target, options, precision, tuple(aligned), *(argument.key for argument in arguments))
    kernel = fn.device_caches.get(key)
    if kernel is None or kernel.is_stale():
        kernel = _compile(fn, arguments, aligned, options, target)
        fn.device_caches[key] = kernel
    return kernel


def _compile(
    fn: Any,
    arguments: list[Any],
    aligned: list[int],
    options: GpuOptions,
    target: GPUTarget,
    *,
    careful: bool = False,
) -> GpuCompiledKernel:
    """Compile; ``careful`` relies on nothing about the tensors of a launch."""
    from blockscope.runtime import launch as general

    start = time.perf_counter()
    builder, used_globals = emit(fn, arguments, target)
    settings = _compiler_settings(options) | {
        "tma": not careful and bool(knobs.gpu.tma),
        "may_overlap": careful,
    }
    arch = arch_of(target)
    # The block IR is all that the compiler sees of the source, of what it calls, of constants and
    # types; so it is the key, together with what else the compiler is told.
    text = _core.gpu.simplify(builder, aligned, bool(settings["line_info"]))
    key = disk_cache.key_of(text, arch, sorted(settings.items()), _tools_identity())
    front_end_ns = int((time.perf_counter() - start) * 1e9)
    dumps = _dump_settings(fn, key)
    data = None if any(dumps.values()) else disk_cache.read(key)  # a hit would print nothing
    is_hit = data is not None
    if data is None:
        data, error = _core.gpu.compile(builder, arch, settings | dumps | _tool_paths())
        if error is not None:
            raise compile_error(fn, error)
        disk_cache.write(key, data)
    if knobs.gpu.warnings:
        notes.tell(fn.__name__, notes.notes_of(fn, data))
    _tell_listener(fn, options, data, front_end_ns, is_hit)
    constants = {
        param.name: argument.value
        for param, argument in zip(fn.params, arguments, strict=True)
        if param.is_constexpr
    }
    plain = general.without_values(arguments)

    def make_careful() -> GpuCompiledKernel:
        return _compile(fn, plain, aligned, options, target, careful=True)

    return GpuCompiledKernel(
        fn,
        data,
        asdict(options),
        target,
        key,
        len(aligned),
        constants,
        used_globals,
        make_careful if data.get("tensor_maps") or data.get("apart") else None,
    )


def _compiler_settings(options: GpuOptions) -> dict[str, Any]:
    extra = " ".join(filter(None, (options.ptx_options, knobs.nvidia.ptxas_options)))
    return {
        "num_warps": options.num_warps,
        "num_stages": options.num_stages,
        "num_ctas": options.num_ctas,
        "maxnreg": options.maxnreg,
        "enable_fp_fusion": options.enable_fp_fusion,
        "debug": options.debug,
        "pass_pipeline": knobs.gpu.pass_pipeline,
        "ptx_version": tools.ptx_version(),
        "line_info": not knobs.compilation.disable_line_info,
        "ptxas_options": f"{extra} -O0" if knobs.nvidia.disable_ptxas_opt else extra,
    }


def _dump_settings(fn: Any, key: str) -> dict[str, Any]:
    """What of the compiler's work is shown; it changes nothing in what comes out.

    Files go to a folder for each key: kernels of one name do not overwrite each other.
    """
    wanted = knobs.gpu.dump_passes  # 1, or the name of a kernel
    dumps_passes = wanted == fn.__name__ or wanted.lower() in ("1", "true", "on")
    return {
        "dump_dir": os.path.join(knobs.cache.dump_dir, key) if knobs.compilation.dump_ir else "",
        "dump_passes": wanted if dumps_passes else "",
        "dump_llvm": knobs.gpu.dump_llvm,
    }


def _tool_paths() -> dict[str, str]:
    return {"ptxas_path": tools.ptxas(), "libdevice_path": tools.libdevice()}


def _tools_identity() -> list[str]:
    return [tools.identity(path) for path in _tool_paths().values()]


def compile_error(fn: Any, text: str) -> Exception:
    """The exception for an error of the GPU compiler; gpu_backend/compile.h says how the
    texts begin."""
    kernel = f"kernel '{fn.__name__}'"
    if text.startswith("out of resource: "):
        fields = text.removeprefix("out of resource: ").split(", ")
        try:
            required, limit = (int(field.split(": ")[1]) for field in fields[1:3])
            return OutOfResources(required, limit, fields[0])
        except (IndexError, ValueError):
            return OutOfResources("?", "?", text)
    if text.startswith("ptxas"):
        return PTXASError(f"{kernel}: {text.removeprefix('ptxas').lstrip(': ')}")
    return CompilationError(f"{kernel} cannot be compiled for the GPU: {text}")


def _tell_listener(
    fn: Any, options: GpuOptions, data: dict[str, Any], front_end_ns: int, is_hit: bool
) -> None:
    listener = knobs.compilation.listener
    if listener is not None:
        stages = [("tl", front_end_ns // 1000)]
        stages += [] if is_hit else [(stage, ns // 1000) for stage, ns in data["times"]]
        listener(
            src=fn, metadata=asdict(options), metadata_group={}, times=stages, cache_hit=is_hit
        )
