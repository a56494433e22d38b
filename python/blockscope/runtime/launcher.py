"""What the C++ launcher (python/src/launcher.h) has to know: of parameters, of torch, and of what
launches depend on besides their arguments."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.driver import driver
from blockscope.frontend import tracebacks
from blockscope.host import is_interpreting
from blockscope.runtime import code_settings, tensor_descriptor
from blockscope.runtime.memory.buffer import dtype_name
from blockscope.runtime.options import LAUNCH_DEFAULTS

# C++ imports these in launches and reports. They are loaded here, so that no fork finds them half
# loaded: the child would wait for ever for the lock of such a module.
_ASKED_FOR_BY_NAME = (json, tensor_descriptor, tracebacks)

_torch_is_known = False


def make(fn: Any, general: Callable[..., Any]) -> Any:
    """The launcher of a kernel; what it does not know it launches by ``general``."""
    register_torch()
    return _core.Launcher(general, vars(fn), parameters_of(fn))


def parameters_of(fn: Any) -> list[tuple[Any, ...]] | None:
    """One tuple per parameter: name, whether it is constexpr, whether a 1 is compiled in, whether
    alignment matters, the dtype that an annotation fixes ('*': it says a pointer), whether there is
    a default, the default.

    None for a signature that only Python binds.
    """
    if any(param.is_variadic or param.is_keyword_only for param in fn.params):
        return None
    unaligned = set(fn.do_not_specialize_on_alignment)
    tuples = []
    for param in fn.params:
        specializes = not param.do_not_specialize
        aligns = specializes and param.num not in unaligned and param.name not in unaligned
        fixed = param.type and ("*" if param.type.is_ptr() else param.type.name)
        has_default = param.has_default
        default = param.default if has_default else None
        constexpr = param.is_constexpr
        tuples.append((param.name, constexpr, specializes, aligns, fixed, has_default, default))
    return tuples


def register_torch() -> None:
    """Tell the launcher about torch's types, once torch is in use."""
    global _torch_is_known
    torch: Any = sys.modules.get("torch")
    if _torch_is_known or torch is None or not hasattr(torch, "Tensor"):
        return
    dtypes = {}
    for value in vars(torch).values():
        if isinstance(value, torch.dtype):
            try:
                dtypes[value] = dtype_name(value)
            except TypeError:
                continue
    current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    _core.register_torch(
        torch.Tensor, torch.nn.Parameter, list(dtypes.items()), current_stream, exchange
    )
    _torch_is_known = True


_holds_for_stages = False


def _knobs_changed() -> None:
    """``add_stages_inspection_hook`` is asked at each launch, which only Python does."""
    global _holds_for_stages
    wanted = knobs.runtime.add_stages_inspection_hook is not None
    if wanted != _holds_for_stages:
        _holds_for_stages = wanted
        (_core.surroundings.hold if wanted else _core.surroundings.release)()
    _core.surroundings.settings_changed()


_core.surroundings.configure(
    knobs=knobs,
    hook_chain=knobs.HookChain,
    steps=is_interpreting,
    is_gpu_active=driver.is_gpu_active,
    cpu_settings=code_settings.of_cpu,
    gpu_settings=code_settings.of_gpu,
    begin_watched=checks.begin_watched,
    end_watched=checks.end_watched,
    launch_defaults=LAUNCH_DEFAULTS,
)
knobs.on_change.append(_knobs_changed)
_knobs_changed()
