"""Options of a launch that a GPU cannot honour: one clear error each, so that none is ignored.

Not here: what has an effect (`gpu.GpuOptions`), permissions for what is allowed anyway
(``allow_fp8e4nv``, ``supported_fp8_dtypes``) or not needed (``enable_reflect_ftz``: denormal
numbers are kept), and hints for other compilers and for warp specialisation (``waves_per_eu``,
``num_cpu_threads``, ``minRegAutoWS``), which never change results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscope import _core
from blockscope.errors import OptionNotSupported
from blockscope.language.linear import default_input_precision

#: For each option what is taken, in words too, and what to do instead.
_TAKEN: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "num_ctas": (lambda value: value == 1, "1", "clusters are not supported yet"),
    "cluster_dims": (
        lambda value: tuple(value or ()) in ((), (1, 1, 1)),
        "(1, 1, 1)",
        "clusters are not supported yet",
    ),
    "extern_libs": (
        lambda value: not value,
        "none",
        "only libdevice is linked, which is found by itself or at TRITON_LIBDEVICE_PATH",
    ),
    "ir_override": (
        lambda value: not value,
        "none",
        "BLOCKSCOPE_GPU_PIPELINE runs other passes, and blk-opt compiles IR from a file",
    ),
    "instrumentation_mode": (
        lambda value: not value,
        "none",
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
    if options.get("sanitize_overflow") and options.get("debug"):
        raise OptionNotSupported(
            "sanitize_overflow is True with debug, expected False; overflow is not checked on a GPU"
        )


def _require_feature(option: str, feature: str, capability: int) -> None:
    targets = _core.gpu.targets()
    if feature not in next(t["features"] for t in targets if t["capability"] == capability):
        having = ", ".join(t["arch"] for t in targets if feature in t["features"])
        raise OptionNotSupported(
            f"{option} needs {feature}, found sm_{capability}, expected one of {having}"
        )
