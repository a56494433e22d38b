"""Options of a launch."""

from typing import Any

from blockscope import knobs
from blockscope.knobs import INSTRUMENTATION_MODES

#: Options of a launch that are no kernel parameters. The CPU ignores what only shapes GPU code.
LAUNCH_OPTIONS: dict[str, Any] = {
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


#: With the least and the largest; all but num_stages are powers of two.
_NUMBERS = (("num_warps", 1, 32), ("num_stages", 0, 64), ("num_ctas", 1, 16))


def not_defaults(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are not as they are when nobody gives them."""
    return {name: value for name, value in options.items() if value != LAUNCH_OPTIONS[name]}


def has_payloads(mode: str) -> bool:
    """Whether this ``instrumentation_mode``, or that of the knobs, is the one of docs/algebra.md.

    Errors: ValueError for a mode that does not exist.
    """
    given = mode or knobs.compilation.instrumentation_mode or ""
    modes = [part for part in given.split(",") if part]
    for part in modes:
        if part not in INSTRUMENTATION_MODES:
            raise ValueError(
                f"instrumentation_mode is '{part}', expected one of "
                f"{', '.join(INSTRUMENTATION_MODES)}, or several with commas"
            )
    return "fpsan" in modes


def check_numbers(options: dict[str, Any]) -> None:
    """Refuse numbers of a launch that no GPU takes, on the CPU too.

    Errors: TypeError or ValueError that name the option.
    """
    for name, low, high in _NUMBERS:
        value = options.get(name, LAUNCH_OPTIONS[name])
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} is {value!r}, expected a whole number")
        powers = name != "num_stages"
        if not low <= value <= high or (powers and value & (value - 1)):
            kind = "a power of two" if powers else "a number"
            raise ValueError(f"{name} is {value}, expected {kind} from {low} to {high}")
    registers = options.get("maxnreg")  # above 255 it is no limit
    if registers is not None and (not hasattr(registers, "__index__") or registers < 16):
        raise ValueError(f"maxnreg is {registers!r}, expected a number from 16 on")


def num_warps_of(options: dict[str, Any]) -> int:
    """The warps of a program: the option, or what it is when nobody gives it."""
    return int(options.get("num_warps", LAUNCH_OPTIONS["num_warps"]))


#: Those that a grid function finds among its arguments.
LAUNCH_DEFAULTS = {name: LAUNCH_OPTIONS[name] for name in ("num_warps", "num_stages", "num_ctas")}
