"""Arguments that have the types of an ``ASTSource``, to compile a kernel without a launch."""

from __future__ import annotations

import re
from typing import Any

from blockscope.language import core
from blockscope.runtime.ast_source import ASTSource, Path
from blockscope.runtime.tensor_descriptor import TensorDescriptor
from blockscope.runtime.tensors import MockNumber, MockTensor

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]*)\](?:, (nan))?(?:, (tf32))?")


def of(source: ASTSource) -> dict[str, Any]:
    """The arguments of ``source.fn`` by name.

    Errors: ValueError for a type that is not known, or a constant without a value.
    """
    named = dict(source.constexprs)
    for name, kind in source.signature.items():
        if name not in named:
            position = source.fn.arg_names.index(name)
            default = source.fn.params[position]
            if kind == "constexpr" and default.has_default:
                continue
            named[name] = _example(source, kind, (position,))
    return named


def _example(source: ASTSource, kind: Any, path: Path) -> Any:
    if path in source.constants:
        return core.constexpr(source.constants[path])
    if isinstance(kind, tuple | list):
        return tuple(_example(source, part, (*path, i)) for i, part in enumerate(kind))
    name = source.fn.arg_names[path[0]]
    if kind == "constexpr":
        raise ValueError(f"ASTSource has no value for the constexpr argument '{name}'")
    if described := _DESCRIPTOR.match(kind):
        block = [int(size) for size in described[2].split(",")]
        strides = [16] * (len(block) - 1) + [1]
        base = MockTensor(_long_name(described[1]))
        padding, rounds = described[3] or "zero", described[4] is not None
        return TensorDescriptor(base, block, strides, block, padding, rounds)
    aligned = source.is_aligned(path)
    if kind.startswith("*"):
        return MockTensor(_long_name(kind[1:].removeprefix("k")), address=0 if aligned else 1)
    try:
        dtype = core.dtype(_long_name(kind))
    except ValueError:
        raise ValueError(f"ASTSource has the type '{kind}' for '{name}', expected one such as "
                         "'*fp32', 'i32' or 'constexpr'") from None  # fmt: skip
    # 17 is neither 1 nor divisible by 16, so nothing specialises unasked.
    return MockNumber(dtype, 16 if aligned else 1 if source.is_one(path) else 17)


def _long_name(name: str) -> str:
    if name in ("i1", "u1"):
        return "int1"
    if name[0] in "iu" and name[1:].isdigit():
        return ("int" if name[0] == "i" else "uint") + name[1:]
    return name
