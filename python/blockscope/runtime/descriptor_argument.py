"""Tensor descriptors made on the host, as arguments of a kernel."""

from typing import Any

from blockscope.language import core
from blockscope.language.descriptor import tensor_descriptor


def classify(param: Any, name: str, value: Any) -> Any:
    """Return the argument for a TensorDescriptor: its tensor, shape and strides at run time, its
    block shape, padding and a last stride of 1 as constants.

    Errors: TypeError or ValueError that name the argument.
    """
    from blockscope.runtime import launch

    block = [int(size) for size in value.block_shape]
    padding = getattr(value, "padding", None) or "zero"
    base = launch._run_time(param, name, value.base)
    if base.buffer is None:
        raise TypeError(f"argument '{name}': the descriptor's base is no tensor")
    parts = [base]
    for what, numbers, dtype in (
        ("shape", value.shape, core.int32),
        ("strides", value.strides, core.int64),
    ):
        for axis, number in enumerate(numbers):
            part = f"{name}.{what}[{axis}]"
            if what == "strides" and axis == len(block) - 1 and int(number) == 1:
                parts.append(launch.Argument(part, 1, ("constexpr", "int", 1)))
            else:
                parts.append(launch._number(param, part, int(number), dtype))
    template = tensor_descriptor.make((), block, padding)
    key = ("descriptor", tuple(block), padding, *(part.key for part in parts))
    argument = launch.Argument(name, template, key)
    argument.parts = parts
    return argument
