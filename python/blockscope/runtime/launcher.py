"""What the C++ launcher (python/src/launch_key.h) has to know of parameters and of torch."""

from __future__ import annotations

import sys
from typing import Any

from blockscope import _core
from blockscope.language import core
from blockscope.runtime.memory.buffer import dtype_name

#: In the order of ScalarCode.
_SCALAR_CODES = ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "float32", "float64")  # fmt: skip

_torch_is_known = False


def parameters_of(fn: Any) -> list[tuple[Any, ...]] | None:
    """One tuple per parameter; None for a signature that only Python binds."""
    if any(param.is_variadic or param.is_keyword_only for param in fn.params):
        return None
    codes = {getattr(core, name): code for code, name in enumerate(_SCALAR_CODES)}
    unaligned = set(fn.do_not_specialize_on_alignment)
    tuples = []
    for param in fn.params:
        annotation = param.annotation_object
        is_number = isinstance(annotation, core.dtype) and not annotation.is_ptr()
        code = codes.get(annotation, -1) if is_number else -1
        specializes = not param.do_not_specialize
        aligns = specializes and param.num not in unaligned and param.name not in unaligned
        tuples.append(
            (param.name, param.is_constexpr, specializes, aligns, code, is_number and code < 0)
            + ((True, param.default) if param.has_default else (False, None))
        )
    return tuples


def register_torch() -> None:
    """Tell the launcher about torch's types, once torch is in use."""
    global _torch_is_known
    torch: Any = sys.modules.get("torch")
    if _torch_is_known or torch is None or not hasattr(torch, "Tensor"):
        return
    dtypes = []
    for value in vars(torch).values():
        if isinstance(value, torch.dtype) and value not in dtypes:
            try:
                dtype_name(value)
            except TypeError:
                continue
            dtypes.append(value)
    current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    _core.gpu.register_torch(torch.Tensor, torch.nn.Parameter, dtypes, current_stream)
    _torch_is_known = True
