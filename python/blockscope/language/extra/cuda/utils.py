"""What a program is told of its processor and its threads, and the 8-bit float of its own."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import context
from blockscope.language.core import builtin, constexpr, float16, float32, tensor, unwrap
from blockscope.language.inline_asm import inline_asm_elementwise
from blockscope.language.types import dtype, float8e4b15, int32


@builtin
def globaltimer() -> Any:
    """Nanoseconds, int64, of a clock that all programs share; on the CPU that of the host."""
    return _semantic.global_timer()


@builtin
def smid() -> Any:
    """The number of the multiprocessor that runs this program, int32; on the CPU 0."""
    return inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], int32, True, 1)


@builtin
def num_threads() -> constexpr:
    """The threads of a program, 32 for each of its ``num_warps``."""
    return constexpr(32 * context.num_warps())


@builtin
def num_warps() -> constexpr:
    """The launch's ``num_warps``."""
    return constexpr(context.num_warps())


def _convert_float8(name: str, arg: Any, dst_ty: Any, fp_downcast_rounding: Any) -> Any:
    """Between fp8e4b15 and fp16 or fp32; fp32 goes through fp16, which it is cut to."""
    to = unwrap(dst_ty)
    if not isinstance(arg, tensor):
        raise TypeError(f"tl.extra.cuda.{name}: arg is {arg!r}, expected a block")
    if not isinstance(to, dtype):
        raise TypeError(f"tl.extra.cuda.{name}: dst_ty is {to!r}, expected a type")
    source, to = arg.type.scalar, to.scalar
    wide = (float16, float32)
    if not ((source == float8e4b15 and to in wide) or (source in wide and to == float8e4b15)):
        raise TypeError(
            f"tl.extra.cuda.{name}: it converts {source} to {to}, expected float8e4b15 and float16 "
            "or float32"
        )
    # The one rounding of such a conversion; Triton takes this argument and does not look at it.
    del fp_downcast_rounding
    return _semantic.cast(arg, to, None if source == float8e4b15 else "rtne", False)


@builtin
def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """Convert between fp8e4b15 and fp16 or fp32."""
    return _convert_float8("convert_custom_float8_sm80", arg, dst_ty, fp_downcast_rounding)


@builtin
def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """Convert between fp8e4b15 and fp16 or fp32: with other instructions, the same results."""
    return _convert_float8("convert_custom_float8_sm70", arg, dst_ty, fp_downcast_rounding)


__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "globaltimer",
    "num_threads",
    "num_warps",
    "smid",
]
