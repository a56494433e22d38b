"""Mathematical functions. float32 and float64 unless a function says otherwise."""

from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language.core import builtin, tensor_method, unwrap
from blockscope.language.elementwise import (
    add,
    cdiv,
    clamp,
    maximum,
    minimum,
    mul,
    sub,
)


def _make(name: str, op: str, what: str) -> Any:
    """The function of one operand that is one op of the block IR."""

    named = f"tl.{name}"

    def function(x: Any) -> Any:
        return _semantic.elementwise(op, named, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, of each element."
    return tensor_method(function)


exp = _make("exp", "math.exp", "e to the power x")
exp2 = _make("exp2", "math.exp2", "2 to the power x")
log = _make("log", "math.log", "The natural logarithm")
log2 = _make("log2", "math.log2", "The logarithm to base 2")
sin = _make("sin", "math.sin", "The sine")
cos = _make("cos", "math.cos", "The cosine")
sqrt = _make("sqrt", "math.sqrt", "The square root")
rsqrt = _make("rsqrt", "math.rsqrt", "One over the square root")
erf = _make("erf", "math.erf", "The error function")
floor = _make("floor", "math.floor", "The largest integer not above x")
ceil = _make("ceil", "math.ceil", "The smallest integer not below x")


@tensor_method
def abs(x: Any) -> Any:
    """The absolute value (any numbers), of each element."""
    return _semantic.abs(x)


@tensor_method
def sqrt_rn(x: Any) -> Any:
    """The square root, correctly rounded (float32 only), of each element."""
    return _semantic.sqrt_rn(x)


@builtin
def div_rn(x: Any, y: Any) -> Any:
    """The quotient, correctly rounded (float32 only)."""
    return _semantic.div_rn(x, y)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: Any = False, approx: Any = False) -> Any:
    """The quotient of floats. On the CPU always correctly rounded; on a GPU that of float32 is
    within 2 units in the last place, as that of ``/``, unless ``ieee_rounding``. ``approx`` asks
    for float32 and allows just that."""
    is_exact, is_rough = bool(unwrap(ieee_rounding)), bool(unwrap(approx))
    if is_exact and is_rough:
        raise ValueError("tl.fdiv: approx and ieee_rounding cannot both be True")
    quotient = _semantic.fdiv(x, y, is_exact)
    if is_rough and quotient.dtype.name != "fp32":
        raise ValueError(
            "tl.fdiv: approx division requires float32 operands; the quotient is "
            f"{quotient.dtype.name}"
        )
    return quotient


@builtin
def fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""
    return _semantic.fma(x, y, z)


@builtin
def umulhi(x: Any, y: Any) -> Any:
    """The high half of the unsigned product of 32- or 64-bit integers."""
    return _semantic.elementwise("tl.mulhiui", "tl.umulhi", x, y)


@tensor_method
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + _semantic.elementwise("math.exp", "tl.sigmoid", -x))


@tensor_method
def softmax(
    x: Any,
    dim: Any = None,
    keep_dims: Any = False,
    ieee_rounding: Any = False,
    axis: Any = None,
) -> Any:
    """``exp(x - max) / sum`` along ``dim`` (default 0); ``axis`` is another spelling of ``dim``."""
    from blockscope.language.reduce import max, sum

    dim = unwrap(dim) if unwrap(dim) is not None else unwrap(axis)
    dim = 0 if dim is None else dim
    below = x - max(x, dim, keep_dims=True)
    numerator = _semantic.elementwise("math.exp", "tl.softmax", below)
    return fdiv(numerator, sum(numerator, dim, keep_dims=True), ieee_rounding)


__all__ = [
    "abs",
    "add",
    "cdiv",
    "ceil",
    "clamp",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "maximum",
    "minimum",
    "mul",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "sqrt_rn",
    "sub",
    "umulhi",
]


def __getattr__(name: str) -> Any:
    """``tl.math`` also has the functions of libdevice, as older kernels spell them."""
    from blockscope.language.extra import libdevice

    if name in libdevice.FUNCTIONS:
        return getattr(libdevice, name)
    raise AttributeError(f"module 'blockscope.language.math' has no attribute '{name}'")
