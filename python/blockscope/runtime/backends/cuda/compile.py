"""From a kernel and the types of its arguments to a binary for a GPU."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from typing import Any

from blockscope import _core, knobs
from blockscope.errors import CompilationError, OutOfResources
from blockscope.frontend.argument import Argument, without_values
from blockscope.frontend.block_ir import Arithmetic, emit
from blockscope.runtime import hooks
from blockscope.runtime.backends.cuda import (
    disk_cache,
    managed_cache,
    notes,
    override,
    refusals,
    tools,
)
from blockscope.runtime.backends.cuda.kernel import CudaKernel, Pairs
from blockscope.runtime.backends.cuda.occupancy import occupancy
from blockscope.runtime.backends.cuda.options import GpuOptions, arch_of, target_of
from blockscope.runtime.extern_libs import LIBDEVICE, libraries_of
from blockscope.runtime.options import has_payloads
from blockscope.runtime.specialization import Specialization
from blockscope.target import GPUTarget


@dataclass(frozen=True)
class Trust:
    """What a compiled kernel may rely on of the arguments of a launch."""

    tma: bool = True  # tensors that TMA can copy
    sizes: bool = True  # integers that are not too small, which the kernel lists
    disjoint: Pairs | None = None  # pairs that do not overlap; None: any, which the kernel lists


NO_TRUST = Trust(tma=False, sizes=False, disjoint=())


def compile(
    specialization: Specialization,
    arguments: list[Argument],
    aligned: list[int],
    options: GpuOptions,
    *,
    trust: Trust | None = None,
) -> CudaKernel:
    """Compile, or read from disk."""
    trust = trust or Trust()
    start = time.perf_counter()
    fn, target = specialization.source.fn, specialization.target
    builder, used_values = _emitted(fn, arguments, target, specialization.name, options)
    settings = _compiler_settings(options, trust)
    arch = arch_of(target)
    # The block IR is all that the compiler sees of the source, of what it calls, of constants and
    # types; so it is the key, together with the compiler's settings.
    text = _core.gpu.simplify(builder, aligned, bool(settings["line_info"]))
    parts = [text, arch, sorted(settings.items()), _tools_identity(options)]
    key = disk_cache.key_of(*parts, *hooks.stages_key())
    front_end_ns = int((time.perf_counter() - start) * 1e9)
    dumps = _dump_settings(fn, key)
    stem = _core.gpu.file_stem(specialization.name)
    # With dumps a hit would print nothing.
    is_dumped = any(dumps.values())
    data, group = (None, {}) if is_dumped else _stored(key, stem)
    is_hit, store_ns = data is not None, 0
    if data is None:
        known = not is_dumped and not knobs.compilation.always_compile and refusals.remembered(key)
        if known:
            raise compile_error(fn, known)
        data, error = _core.gpu.compile(builder, arch, settings | dumps | _tool_settings(options))
        if error is not None:
            refusals.remember(key, error)
            raise compile_error(fn, error)
        _print_for_knobs(data)
        stored = time.perf_counter_ns()
        group = _store(key, stem, data)
        store_ns = time.perf_counter_ns() - stored
    data = override.apply(data, key, stem, specialization, str(settings["ptxas_options"]))
    if knobs.gpu.warnings:
        notes.tell(fn.__name__, notes.notes_of(fn, data))
    plain = without_values(arguments)

    def make_careful(overlapping: Pairs) -> CudaKernel:
        checked = [(first, second) for first, second in data.get("disjoint", ())]
        known = tuple(pair for pair in checked if pair not in overlapping)
        for sizes in (True, False) if overlapping else ():
            within = Trust(tma=trust.tma, sizes=sizes, disjoint=known)
            kernel = compile(specialization, plain, aligned, options, trust=within)
            if _asks_no_more(kernel.data, data):
                return kernel
        return compile(specialization, plain, aligned, options, trust=NO_TRUST)

    kernel = CudaKernel(
        specialization,
        arguments,
        used_values,
        key,
        data,
        asdict(options),
        make_careful if _relies_on_arguments(data) else None,
    )
    kernel.metadata_group = group
    stages = [] if is_hit else data["times"]
    hooks.compiled(kernel, front_end_ns, stages, store_ns, is_hit=is_hit)
    return kernel


def _asks_no_more(data: dict[str, Any], checked: dict[str, Any]) -> bool:
    """Whether what holds for one kernel, and its memory, is enough for another one."""
    numbers = [tuple(number) for number in checked.get("at_least", ())]
    scratch = ("global_scratch_size", "global_scratch_align")
    return all(tuple(number) in numbers for number in data.get("at_least", ())) and all(
        data[name] <= checked[name] for name in scratch
    )


def _relies_on_arguments(data: dict[str, Any]) -> bool:
    """Whether a compiled kernel is wrong for some arguments, which need the careful one."""
    return any(data.get(name) for name in ("tensor_maps", "disjoint", "at_least"))


def _stored(key: str, stem: str) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """The kernel kept under ``key``, None if there is none, and its files in a user's cache."""
    data: dict[str, Any] | None
    if managed_cache.is_on():
        data, group = managed_cache.read(key, stem) or (None, {})
    else:
        data, group = disk_cache.read(key), {}
    return (data, group) if data and managed_cache.is_whole(data) else (None, {})


def _store(key: str, stem: str, data: dict[str, Any]) -> dict[str, str]:
    kept = managed_cache.stored_part(data)
    if managed_cache.is_on():
        return managed_cache.write(key, stem, kept)
    disk_cache.write(key, kept)
    return {}


def _register_limit(options: GpuOptions) -> int | None:
    """A thread has 255 registers at most: a larger number limits nothing, and ptxas warns of it."""
    limit = options.maxnreg
    return None if limit is None or limit > 255 else limit


def held_by_multiprocessor(
    fn: Any, arguments: list[Argument], aligned: list[int], options: GpuOptions, arch: str
) -> tuple[int, str]:
    """How many CTAs of a kernel a multiprocessor of a GPU holds at a time, and what limits them, in
    words. Compiles the kernel, keeps nothing and calls no hook.

    Errors: those of ``compile``.
    """
    builder, _ = _emitted(fn, arguments, target_of({"arch": arch}, 0), fn.__name__, options)
    _core.gpu.simplify(builder, aligned, False)
    settings = _compiler_settings(options, Trust()) | _tool_settings(options)
    data, error = _core.gpu.compile(builder, arch, settings)
    if error is not None:
        raise compile_error(fn, error)
    target = _core.gpu.target_named(arch)
    fits = occupancy(target, data["registers"], options.num_warps, data["shared"])
    return fits.ctas, f"{fits.ctas} on each multiprocessor, limited by its {fits.limit}"


def _emitted(
    fn: Any, arguments: list[Argument], target: GPUTarget, name: str, options: GpuOptions
) -> tuple[Any, Any]:
    """The block IR of a kernel, and the values from outside that it has used."""
    arithmetic = Arithmetic(
        checks_overflow=options.debug and bool(options.sanitize_overflow),
        has_payloads=has_payloads(options.instrumentation_mode),
        libraries=libraries_of(options.extern_libs),
    )
    builder, used_values, _ = emit(
        fn, arguments, target, name=name, num_warps=options.num_warps, arithmetic=arithmetic
    )
    return builder, used_values


def _compiler_settings(options: GpuOptions, trust: Trust) -> dict[str, Any]:
    extra = " ".join(filter(None, (options.ptx_options, knobs.nvidia.ptxas_options)))
    return {
        "num_warps": options.num_warps,
        "num_stages": options.num_stages,
        "num_ctas": options.num_ctas,
        "maxnreg": _register_limit(options),
        "enable_fp_fusion": options.enable_fp_fusion,
        "debug": options.debug,
        "pass_pipeline": knobs.gpu.pass_pipeline,
        "ptx_version": tools.ptx_version(),
        "line_info": not knobs.compilation.disable_line_info,
        "ptxas_options": f"{extra} -O0" if knobs.nvidia.disable_ptxas_opt else extra,
        "tma": trust.tma and bool(knobs.gpu.tma),
        "may_overlap": trust.disjoint is not None,
        "known_disjoint": list(trust.disjoint or ()),
        "may_be_negative": not trust.sizes,
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


def _print_for_knobs(data: dict[str, Any]) -> None:
    """Print what NVPTX_ENABLE_DUMP and TRITON_DUMP_PTXAS_LOG ask for."""
    if knobs.nvidia.dump_nvptx:
        print(f"// PTX of {data['name']}\n{data['ptx']}")
    if knobs.nvidia.dump_ptxas_log:
        spilled = f"{data['spill_bytes']} bytes spilled"
        print(f"ptxas: {data['name']}: {data['registers']} registers, {spilled}")
        for warning in data.get("warnings", ()):
            print(warning)


def _tool_settings(options: GpuOptions) -> dict[str, Any]:
    """What changes nothing in what a tool gives."""
    return _tool_paths(options) | {"ptxas_seconds": knobs.gpu.ptxas_seconds}


def _tool_paths(options: GpuOptions) -> dict[str, str]:
    libdevice = dict(options.extern_libs).get(LIBDEVICE) or tools.libdevice()
    return {"ptxas_path": tools.ptxas(), "libdevice_path": libdevice}


def _tools_identity(options: GpuOptions) -> list[str]:
    return [tools.identity(path) for path in _tool_paths(options).values()]


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
        return refusals.error_of(kernel, text)
    return CompilationError(f"{kernel} cannot be compiled for the GPU: {text}")
