"""What the annotation of a parameter says of its type.

The rules are Triton's: the name alone decides, so ``tl.int64``, ``"i64"``, ``"int64_t"`` and what
``from __future__ import annotations`` leaves of them are the same, and a name that no rule knows
says nothing.
"""

from __future__ import annotations

import inspect
from typing import Any

from blockscope.language import core
from blockscope.signatures import as_written

#: The short name of every element type, by its names in Triton, torch and NumPy.
SHORT_NAMES = {
    "bool": "u1", "int1": "u1", "uint1": "u1", "i1": "u1", "int": "i32",
    "half": "fp16", "float": "fp32", "double": "fp64", "bfloat16": "bf16",
    "float8e4nv": "fp8e4nv", "float8_e4m3fn": "fp8e4nv",
    "float8e4b8": "fp8e4b8", "float8_e4m3fnuz": "fp8e4b8",
    "float8e4b15": "fp8e4b15",
    "float8e5": "fp8e5", "float8_e5m2": "fp8e5",
    "float8e5b16": "fp8e5b16", "float8_e5m2fnuz": "fp8e5b16",
    **{f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_DTYPES = {
    "u1": core.int1,
    **{f"i{bits}": core.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": core.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{name: core.dtype(name) for name in core.dtype.FP_TYPES},
}


def text_of(annotation: Any) -> str:
    """The annotation in its one spelling: 'i64', '*fp32', '*kfp32' (const), 'constexpr', or ''."""
    annotation = as_written(annotation)
    if annotation is inspect.Parameter.empty or not annotation:
        return ""
    if isinstance(annotation, str):
        return _spelled(annotation.strip())
    if isinstance(annotation, core.pointer_type):
        return "*" + text_of(annotation.element_ty)
    if isinstance(annotation, core.dtype):
        return _short(annotation.name)
    return _short(annotation.__name__ if isinstance(annotation, type) else str(annotation))


def type_of(text: str) -> Any:
    """The dtype or the pointer type that an annotation fixes; None for one that fixes nothing."""
    if not text.startswith("*"):
        return _DTYPES.get(text)
    is_const = text.startswith("*k")
    element = _DTYPES.get(text[1 + is_const :])
    return element and core.pointer_type(element, 1, is_const)


def _spelled(text: str) -> str:
    if text.startswith("const "):
        inner = _spelled(text.removeprefix("const ").strip())
        return f"*k{inner[1:]}" if inner.startswith("*") else _short(text)
    if text.endswith("*"):
        return "*" + _spelled(text[:-1].strip())
    if text.startswith("*"):
        return "*" + _spelled(text[1:].strip())
    return _short(text.removeprefix("tl."))


def _short(name: str) -> str:
    name = name.replace("_t", "")
    return SHORT_NAMES.get(name, name)
