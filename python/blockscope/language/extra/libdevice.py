"""Device functions of NVIDIA's libdevice, all of them on the CPU too.

Which overload a call takes is decided by the types of its arguments. When none fits, several
arguments are first brought to one type by the rules of the operators.
"""

import os
from typing import Any

from blockscope._core import semantic as _semantic
from blockscope.language import bitcode, context, core
from blockscope.language.core import builtin

#: name: argument types -> result type, symbol without its prefix `__nv_`, or the op of the block IR
#: that does the same; ...
_TABLE = """
clz: i32->i32 clz; i64->i32 clzll
popc: i32->i32 popc; i64->i32 popcll
byte_perm: i32,i32,i32->i32 byte_perm
mulhi: i32,i32->i32 tl.mulhisi; u32,u32->u32 tl.mulhiui; i64,i64->i64 tl.mulhisi; \
u64,u64->u64 tl.mulhiui
mul24: i32,i32->i32 mul24; u32,u32->u32 umul24
brev: i32->i32 brev; i64->i64 brevll
sad: i32,i32,u32->i32 sad; u32,u32,u32->u32 usad
abs: i32->i32 abs; i64->i64 llabs; f32->f32 fabsf; f64->f64 fabs
floor: f32->f32 floorf; f64->f64 floor
rcp64h: f64->f64 rcp64h
rsqrt: f32->f32 rsqrtf; f64->f64 rsqrt
ceil: f64->f64 ceil; f32->f32 ceilf
trunc: f64->f64 trunc; f32->f32 truncf
exp2: f32->f32 exp2f; f64->f64 exp2
saturatef: f32->f32 saturatef
fma_rn: f32,f32,f32->f32 fmaf_rn; f64,f64,f64->f64 fma_rn
fma_rz: f32,f32,f32->f32 fmaf_rz; f64,f64,f64->f64 fma_rz
fma_rd: f32,f32,f32->f32 fmaf_rd; f64,f64,f64->f64 fma_rd
fma_ru: f32,f32,f32->f32 fmaf_ru; f64,f64,f64->f64 fma_ru
fast_dividef: f32,f32->f32 fast_fdividef
div_rn: f32,f32->f32 fdiv_rn; f64,f64->f64 ddiv_rn
div_rz: f32,f32->f32 fdiv_rz; f64,f64->f64 ddiv_rz
div_rd: f32,f32->f32 fdiv_rd; f64,f64->f64 ddiv_rd
div_ru: f32,f32->f32 fdiv_ru; f64,f64->f64 ddiv_ru
rcp_rn: f32->f32 frcp_rn; f64->f64 drcp_rn
rcp_rz: f32->f32 frcp_rz; f64->f64 drcp_rz
rcp_rd: f32->f32 frcp_rd; f64->f64 drcp_rd
rcp_ru: f32->f32 frcp_ru; f64->f64 drcp_ru
sqrt_rn: f32->f32 fsqrt_rn; f64->f64 dsqrt_rn
sqrt_rz: f32->f32 fsqrt_rz; f64->f64 dsqrt_rz
sqrt_rd: f32->f32 fsqrt_rd; f64->f64 dsqrt_rd
sqrt_ru: f32->f32 fsqrt_ru; f64->f64 dsqrt_ru
sqrt: f32->f32 sqrtf; f64->f64 sqrt
add_rn: f64,f64->f64 dadd_rn; f32,f32->f32 fadd_rn
add_rz: f64,f64->f64 dadd_rz; f32,f32->f32 fadd_rz
add_rd: f64,f64->f64 dadd_rd; f32,f32->f32 fadd_rd
add_ru: f64,f64->f64 dadd_ru; f32,f32->f32 fadd_ru
mul_rn: f64,f64->f64 dmul_rn; f32,f32->f32 fmul_rn
mul_rz: f64,f64->f64 dmul_rz; f32,f32->f32 fmul_rz
mul_rd: f64,f64->f64 dmul_rd; f32,f32->f32 fmul_rd
mul_ru: f64,f64->f64 dmul_ru; f32,f32->f32 fmul_ru
double2float_rn: f64->f32 double2float_rn
double2float_rz: f64->f32 double2float_rz
double2float_rd: f64->f32 double2float_rd
double2float_ru: f64->f32 double2float_ru
double2int_rn: f64->i32 double2int_rn
double2int_rz: f64->i32 double2int_rz
double2int_rd: f64->i32 double2int_rd
double2int_ru: f64->i32 double2int_ru
double2uint_rn: f64->i32 double2uint_rn
double2uint_rz: f64->i32 double2uint_rz
double2uint_rd: f64->i32 double2uint_rd
double2uint_ru: f64->i32 double2uint_ru
int2double_rn: i32->f64 int2double_rn
uint2double_rn: u32->f64 uint2double_rn
float2int_rn: f32->i32 float2int_rn
float2int_rz: f32->i32 float2int_rz
float2int_rd: f32->i32 float2int_rd
float2int_ru: f32->i32 float2int_ru
float2uint_rn: f32->i32 float2uint_rn
float2uint_rz: f32->i32 float2uint_rz
float2uint_rd: f32->i32 float2uint_rd
float2uint_ru: f32->i32 float2uint_ru
int2float_rn: i32->f32 int2float_rn
int2float_rz: i32->f32 int2float_rz
int2float_rd: i32->f32 int2float_rd
int2float_ru: i32->f32 int2float_ru
uint2float_rn: u32->f32 uint2float_rn
uint2float_rz: u32->f32 uint2float_rz
uint2float_rd: u32->f32 uint2float_rd
uint2float_ru: u32->f32 uint2float_ru
hiloint2double: i32,i32->f64 hiloint2double
double2loint: f64->i32 double2loint
double2hiint: f64->i32 double2hiint
float2ll_rn: f32->i64 float2ll_rn
float2ll_rz: f32->i64 float2ll_rz
float2ll_rd: f32->i64 float2ll_rd
float2ll_ru: f32->i64 float2ll_ru
float2ull_rn: f32->i64 float2ull_rn
float2ull_rz: f32->i64 float2ull_rz
float2ull_rd: f32->i64 float2ull_rd
float2ull_ru: f32->i64 float2ull_ru
double2ll_rn: f64->i64 double2ll_rn
double2ll_rz: f64->i64 double2ll_rz
double2ll_rd: f64->i64 double2ll_rd
double2ll_ru: f64->i64 double2ll_ru
double2ull_rn: f64->i64 double2ull_rn
double2ull_rz: f64->i64 double2ull_rz
double2ull_rd: f64->i64 double2ull_rd
double2ull_ru: f64->i64 double2ull_ru
ll2float_rn: i64->f32 ll2float_rn
ll2float_rz: i64->f32 ll2float_rz
ll2float_rd: i64->f32 ll2float_rd
ll2float_ru: i64->f32 ll2float_ru
ull2float_rn: u64->f32 ull2float_rn
ull2float_rz: u64->f32 ull2float_rz
ull2float_rd: u64->f32 ull2float_rd
ull2float_ru: u64->f32 ull2float_ru
ll2double_rn: i64->f64 ll2double_rn
ll2double_rz: i64->f64 ll2double_rz
ll2double_rd: i64->f64 ll2double_rd
ll2double_ru: i64->f64 ll2double_ru
ull2double_rn: u64->f64 ull2double_rn
ull2double_rz: u64->f64 ull2double_rz
ull2double_rd: u64->f64 ull2double_rd
ull2double_ru: u64->f64 ull2double_ru
int_as_float: i32->f32 int_as_float
float_as_int: f32->i32 float_as_int
uint_as_float: u32->f32 uint_as_float
float_as_uint: f32->i32 float_as_uint
longlong_as_double: i64->f64 longlong_as_double
double_as_longlong: f64->i64 double_as_longlong
fast_sinf: f32->f32 fast_sinf
fast_cosf: f32->f32 fast_cosf
fast_log2f: f32->f32 fast_log2f
fast_logf: f32->f32 fast_logf
fast_expf: f32->f32 fast_expf
fast_tanf: f32->f32 fast_tanf
fast_exp10f: f32->f32 fast_exp10f
fast_log10f: f32->f32 fast_log10f
fast_powf: f32,f32->f32 fast_powf
hadd: i32,i32->i32 hadd; u32,u32->u32 uhadd
rhadd: i32,i32->i32 rhadd; u32,u32->u32 urhadd
sub_rn: f32,f32->f32 fsub_rn; f64,f64->f64 dsub_rn
sub_rz: f32,f32->f32 fsub_rz; f64,f64->f64 dsub_rz
sub_rd: f32,f32->f32 fsub_rd; f64,f64->f64 dsub_rd
sub_ru: f32,f32->f32 fsub_ru; f64,f64->f64 dsub_ru
rsqrt_rn: f32->f32 frsqrt_rn
ffs: i32->i32 ffs; i64->i32 ffsll
rint: f32->f32 rintf; f64->f64 rint
llrint: f32->i64 llrintf; f64->i64 llrint
nearbyint: f32->f32 nearbyintf; f64->f64 nearbyint
isnan: f32->i32 isnanf; f64->i32 isnand
signbit: f32->i32 signbitf; f64->i32 signbitd
copysign: f32,f32->f32 copysignf; f64,f64->f64 copysign
finitef: f32->i32 finitef
isinf: f32->i32 isinff; f64->i32 isinfd
nextafter: f32,f32->f32 nextafterf; f64,f64->f64 nextafter
sin: f32->f32 sinf; f64->f64 sin
cos: f32->f32 cosf; f64->f64 cos
sinpi: f32->f32 sinpif; f64->f64 sinpi
cospi: f32->f32 cospif; f64->f64 cospi
tan: f32->f32 tanf; f64->f64 tan
log2: f32->f32 log2f; f64->f64 log2
exp: f32->f32 expf; f64->f64 exp
exp10: f32->f32 exp10f; f64->f64 exp10
cosh: f32->f32 coshf; f64->f64 cosh
sinh: f32->f32 sinhf; f64->f64 sinh
tanh: f32->f32 tanhf; f64->f64 tanh
atan2: f32,f32->f32 atan2f; f64,f64->f64 atan2
atan: f32->f32 atanf; f64->f64 atan
asin: f32->f32 asinf; f64->f64 asin
acos: f32->f32 acosf; f64->f64 acos
log: f32->f32 logf; f64->f64 log
log10: f32->f32 log10f; f64->f64 log10
log1p: f32->f32 log1pf; f64->f64 log1p
acosh: f32->f32 acoshf; f64->f64 acosh
asinh: f32->f32 asinhf; f64->f64 asinh
atanh: f32->f32 atanhf; f64->f64 atanh
expm1: f32->f32 expm1f; f64->f64 expm1
hypot: f32,f32->f32 hypotf; f64,f64->f64 hypot
rhypot: f32,f32->f32 rhypotf; f64,f64->f64 rhypot
norm3d: f32,f32,f32->f32 norm3df; f64,f64,f64->f64 norm3d
rnorm3d: f32,f32,f32->f32 rnorm3df; f64,f64,f64->f64 rnorm3d
norm4d: f32,f32,f32,f32->f32 norm4df; f64,f64,f64,f64->f64 norm4d
rnorm4d: f32,f32,f32,f32->f32 rnorm4df; f64,f64,f64,f64->f64 rnorm4d
cbrt: f32->f32 cbrtf; f64->f64 cbrt
rcbrt: f32->f32 rcbrtf; f64->f64 rcbrt
j0: f32->f32 j0f; f64->f64 j0
j1: f32->f32 j1f; f64->f64 j1
y0: f32->f32 y0f; f64->f64 y0
y1: f32->f32 y1f; f64->f64 y1
yn: i32,f32->f32 ynf; i32,f64->f64 yn
jn: i32,f32->f32 jnf; i32,f64->f64 jn
cyl_bessel_i0: f32->f32 cyl_bessel_i0f; f64->f64 cyl_bessel_i0
cyl_bessel_i1: f32->f32 cyl_bessel_i1f; f64->f64 cyl_bessel_i1
erf: f32->f32 erff; f64->f64 erf
erfinv: f32->f32 erfinvf; f64->f64 erfinv
erfc: f32->f32 erfcf; f64->f64 erfc
erfcx: f32->f32 erfcxf; f64->f64 erfcx
erfcinv: f32->f32 erfcinvf; f64->f64 erfcinv
normcdfinv: f32->f32 normcdfinvf; f64->f64 normcdfinv
normcdf: f32->f32 normcdff; f64->f64 normcdf
lgamma: f32->f32 lgammaf; f64->f64 lgamma
ldexp: f32,i32->f32 ldexpf; f64,i32->f64 ldexp
scalbn: f32,i32->f32 scalbnf; f64,i32->f64 scalbn
fmod: f32,f32->f32 fmodf; f64,f64->f64 fmod
remainder: f32,f32->f32 remainderf; f64,f64->f64 remainder
fma: f32,f32,f32->f32 fmaf; f64,f64,f64->f64 fma
pow: f32,i32->f32 powif; f64,i32->f64 powi; f32,f32->f32 powf; f64,f64->f64 pow
tgamma: f32->f32 tgammaf; f64->f64 tgamma
round: f32->f32 roundf; f64->f64 round
llround: f32->i64 llroundf; f64->i64 llround
fdim: f32,f32->f32 fdimf; f64,f64->f64 fdim
ilogb: f32->i32 ilogbf; f64->i32 ilogb
logb: f32->f32 logbf; f64->f64 logb
isfinited: f64->i32 isfinited
fast_tanhf: f32->f32 fast_tanhf
"""

_TYPES = {
    "i32": core.int32,
    "i64": core.int64,
    "u32": core.uint32,
    "u64": core.uint64,
    "f32": core.float32,
    "f64": core.float64,
}
#: These give 0 or 1; the language makes a condition of it.
_CONDITIONS = frozenset(("isnan", "isinf", "finitef", "isfinited"))


def _parse(line: str) -> tuple[str, dict[tuple[Any, ...], tuple[str, Any]]]:
    name, overloads = line.split(": ")
    table = {}
    for overload in overloads.split("; "):
        types, symbol = overload.split(" ")
        arguments, result = types.split("->")
        key = tuple(_TYPES[argument] for argument in arguments.split(","))
        table[key] = (symbol if "." in symbol else f"__nv_{symbol}", _TYPES[result])
    return name, table


def _choose(
    name: str, overloads: dict[tuple[Any, ...], tuple[str, Any]], args: Any
) -> tuple[str, list[Any], Any]:
    """The symbol for these arguments, the arguments as it takes them, the type of its result."""
    count = len(next(iter(overloads)))
    if len(args) != count:
        raise TypeError(f"{name}: {len(args)} arguments, expected {count}")
    values = [core.to_tensor(arg) for arg in args]
    key = tuple(value.dtype for value in values)
    if key not in overloads and count > 1:
        values = list(_semantic.promote(list(args)))
        key = tuple(value.dtype for value in values)
    if key not in overloads:
        expected = " or ".join("(" + ", ".join(map(str, types)) + ")" for types in overloads)
        found = "(" + ", ".join(map(str, key)) + ")"
        raise ValueError(f"{name}: arguments are {found}, expected {expected}")
    symbol, result_type = overloads[key]
    return symbol, values, result_type


def _dispatch(name: str, overloads: dict[tuple[Any, ...], tuple[str, Any]], args: Any) -> Any:
    symbol, values, result_type = _choose(f"libdevice.{name}", overloads, args)
    if "." in symbol:
        return _semantic.elementwise(symbol, f"libdevice.{name}", *values)
    result = _semantic.extern_elementwise(symbol, values, result_type)
    return result.to(core.int1) if name in _CONDITIONS else result


def _make(name: str, overloads: dict[tuple[Any, ...], tuple[str, Any]]) -> Any:
    def function(*args: Any) -> Any:
        return _dispatch(name, overloads, args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"libdevice's {name}, of each element."
    return builtin(function)


FUNCTIONS = dict(_parse(line) for line in _TABLE.strip().splitlines())
__all__ = sorted(FUNCTIONS)
globals().update({name: _make(name, overloads) for name, overloads in FUNCTIONS.items()})


@builtin
def extern_elementwise(
    lib_name: Any,
    lib_path: Any,
    args: Any,
    arg_type_symbol_dict: Any,
    is_pure: Any = True,
    **_: Any,
) -> Any:
    """Call a function of a library on each element.

    Symbols that begin with ``__nv_`` are libdevice's. All others are those of the launch's
    ``extern_libs``, or of the bitcode at ``lib_path``.
    """
    overloads = {
        tuple(core.unwrap(one) for one in types): symbol
        for types, symbol in core.unwrap(arg_type_symbol_dict).items()
    }
    if not overloads:
        raise ValueError("extern_elementwise: arg_type_symbol_dict is empty")
    first = next(iter(overloads.values()))[0]
    symbol, values, result_type = _choose(first.removeprefix("__nv_"), overloads, args)
    libraries = [] if symbol.startswith("__nv_") else _libraries(core.unwrap(lib_path))
    digest = "-".join(library.digest for library in libraries)
    paths = [library.path for library in libraries]
    is_pure = bool(core.unwrap(is_pure))
    return _semantic.extern_elementwise(symbol, values, result_type, paths, digest, is_pure)


def _libraries(path: Any) -> list[bitcode.Library]:
    """Those of the launch, and the one that a call names; Triton takes a name without a file."""
    kernel = context.current()
    found = list(kernel.libraries) if kernel else []
    if path and os.path.isfile(path):
        found.append(bitcode.library(os.path.abspath(path)))
    return list(dict.fromkeys(found))
