"""The language of kernels: ``import blockscope.language as tl``.

Functions here may be called inside ``@jit`` kernels. They put ops into the block IR, or, in step
mode, run them at once; in both cases the rules are those of core/semantic.
"""

# Each module says in __all__ what it adds here.
# ruff: noqa: F401, F403, F405

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

import blockscope.settings as _settings  # refuses bad variables of the environment
from blockscope.language import (
    core,
    extra,
    math,
    random,
    standard,
    target_info,
)
from blockscope.language import half_public as _half_public
from blockscope.language import names_elsewhere as _names_elsewhere
from blockscope.language.aggregate import *
from blockscope.language.atomics import *
from blockscope.language.block_pointer import *
from blockscope.language.core import (
    TRITON_MAX_TENSOR_NUMEL,
    PropagateNan,
    bfloat16,
    block_type,
    const,
    constexpr,
    constexpr_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    tensor,
    to_tensor,
    tuple,
    tuple_type,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from blockscope.language.creation import *
from blockscope.language.debug import *
from blockscope.language.descriptor import *
from blockscope.language.elementwise import *
from blockscope.language.extra import libdevice
from blockscope.language.hints import *
from blockscope.language.inline_asm import *
from blockscope.language.iterators import *
from blockscope.language.linear import *
from blockscope.language.math import *
from blockscope.language.memory import *
from blockscope.language.random import *
from blockscope.language.reduce import *
from blockscope.language.scan import *
from blockscope.language.shape import *
from blockscope.language.signature import *
from blockscope.language.sort import *

slice = slice
_experimental_make_tensor_descriptor = make_tensor_descriptor
core.set_language(_sys.modules[__name__], _half_public)
__all__ = [*(name for name in globals() if not name.startswith("_")), "semantic"]


def __getattr__(name: str) -> _Any:
    if name == "semantic":
        return _importlib.import_module(f"{__name__}.{name}")
    text = f"module '{__name__}' has no attribute '{name}'"
    if name in libdevice.FUNCTIONS:
        text += (
            "; libdevice has it: write 'from triton.language.extra import libdevice' and "
            f"'libdevice.{name}(...)'"
        )
        raise AttributeError(text, name="", obj=None)  # or Python adds what is spelt like it
    if instead := _names_elsewhere.instead_of(name):
        raise AttributeError(text + instead, name="", obj=None)
    raise AttributeError(text)
