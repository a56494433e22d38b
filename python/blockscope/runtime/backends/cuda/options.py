"""Options of a launch: those that shape the code of a GPU, and those that it cannot honour.

The latter are one clear error each, so that none is ignored. Not among them: permissions for what
is allowed anyway (``allow_fp8e4nv``, ``supported_fp8_dtypes``) or not needed
(``enable_reflect_ftz``: denormal numbers are kept), and hints for other compilers and for warp
specialisation (``waves_per_eu``, ``num_cpu_threads``, ``minRegAutoWS``), which never change
results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blockscope import _core, knobs
from blockscope.errors import OptionNotSupported
from blockscope.language.linear import default_input_precision
from blockscope.runtime import extern_libs
from blockscope.runtime.backends.cuda import gpu_names
from blockscope.runtime.options import LAUNCH_OPTIONS, check_numbers
from blockscope.target import GPUTarget


@dataclass(frozen=True)
class GpuOptions:
    """What a launch chooses about its code. Errors: TypeError or ValueError with the option."""

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    debug: bool = False
    sanitize_overflow: bool = LAUNCH_OPTIONS["sanitize_overflow"]
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    ptx_options: str | None = None
    extern_libs: tuple[tuple[str, str], ...] = ()
    ir_override: str | None = None
    instrumentation_mode: str = LAUNCH_OPTIONS["instrumentation_mode"]

    def __post_init__(self) -> None:
        check_numbers(vars(self))
        for name, field in self.__dataclass_fields__.items():
            if field.type != "bool":
                continue
            value = getattr(self, name)
            if not isinstance(value, bool) and value not in (0, 1):
                raise TypeError(f"{name} is {value!r}, expected True or False")
        if not isinstance(self.ptx_options, str | None):
            raise TypeError(f"ptx_options is {self.ptx_options!r}, expected text for ptxas")
        if self.ir_override and not str(self.ir_override).endswith((".ptx", ".cubin")):
            raise OptionNotSupported(
                f"ir_override is {self.ir_override!r}, expected a file .ptx or .cubin; "
                "BLOCKSCOPE_GPU_PIPELINE runs other passes, and blk-opt compiles IR from a file"
            )


def parse_options(options: dict[str, Any]) -> GpuOptions:
    """The options of a launch that matter on a GPU, defaults and settings filled in."""
    known = {name: options[name] for name in GpuOptions.__dataclass_fields__ if name in options}
    known["debug"] = bool(options.get("debug") or knobs.runtime.debug)
    requested = known.get("enable_fp_fusion")
    if requested in (None, 0, 1):  # GpuOptions refuses others
        known["enable_fp_fusion"] = knobs.language.fp_fusion_enabled(requested)
    known["extern_libs"] = extern_libs.pairs(options.get("extern_libs"))
    return GpuOptions(**known)


def target_of(options: dict[str, Any], device: int) -> GPUTarget:
    """The target that ``arch`` names among a launch's options, else that of the device."""
    arch = options.get("arch") or knobs.runtime.override_arch
    if arch:
        capability = gpu_names.target_named(str(arch))["capability"]
    else:
        capability = _core.gpu.device_properties(device)["capability"]
    return GPUTarget("cuda", capability, 32)


def arch_of(target: GPUTarget) -> str:
    """``sm_90a`` for the target of capability 90."""
    return _core.gpu.target_of_capability(int(target.arch))["arch"]


#: For each option what is taken, in words too, and what to do instead.
_TAKEN: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "cluster_dims": (
        lambda value: tuple(value or ()) in ((), (1, 1, 1)),
        "(1, 1, 1)",
        "num_ctas says how many CTAs run a program together",
    ),
    "instrumentation_mode": (
        lambda value: not value or value == "fpsan",
        "none or 'fpsan'",
        "blockscope check finds mistakes on the CPU",
    ),
    "llvm_fn_attrs": (lambda value: not value, "none", ""),
    "warp_size": (lambda value: value in (None, 32), "32", ""),
    "backend_name": (lambda value: value in (None, "cuda"), "'cuda'", ""),
    "default_dot_input_precision": (
        lambda value: value in (None, default_input_precision(on_gpu=True)),
        "nothing",
        "give input_precision to tl.dot, or set TRITON_F32_DEFAULT",
    ),
    "max_num_imprecise_acc_default": (
        lambda value: value is None or value >= 2**30,
        "nothing",
        "give max_num_imprecise_acc to tl.dot",
    ),
}


def refuse_unsupported(options: dict[str, Any], capability: int) -> None:
    """Raise OptionNotSupported for the first option that asks for what is not there."""
    for name, (is_taken, expected, instead) in _TAKEN.items():
        if name in options and not is_taken(options[name]):
            hint = f"; {instead}" if instead else ""
            raise OptionNotSupported(f"{name} is {options[name]!r}, expected {expected}{hint}")
    if options.get("launch_pdl"):
        _require_feature("launch_pdl", "dependent launches", capability)


def _require_feature(option: str, feature: str, capability: int) -> None:
    targets = _core.gpu.targets()
    if feature not in next(t["features"] for t in targets if t["capability"] == capability):
        having = ", ".join(t["arch"] for t in targets if feature in t["features"])
        raise OptionNotSupported(
            f"{option} needs {feature}, found sm_{capability}, expected one of {having}"
        )
