"""What the file of a kernel has besides the kernel: functions and classes that rules call by name.

The text of all of it goes before each kernel; the rules that use a part are named beside it.
"""

import re

# blocks.py: functions of reductions and scans; pointers.py: a pointer that goes through a call.
_COMBINES = """
@triton.jit
def combine_linear(a, b):
    return a * b + (a + b)


@triton.jit
def combine_last(a, b):
    return b


@triton.jit
def combine_pair(a0, a1, b0, b1):
    return a0 * b0, a0 * b1 + a1


@triton.jit
def combine_mixed(a0, a1, a2, b0, b1, b2):
    return a0 + b0, tl.maximum(a1, b1), tl.where(a1 < b1, b2, a2)


@triton.jit
def load_chosen(pointer, offsets, chosen, other: tl.constexpr):
    return tl.load(pointer + offsets.to(tl.int64), mask=chosen, other=other)
"""

# structures.py
_STRUCTURES = """
class Corner(NamedTuple):
    x: Any
    y: Any


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    @triton.jit
    def swapped(self):
        return Pair(self.second, self.first)

    @triton.jit
    def chosen(self, condition, other):
        return Pair(tl.where(condition, self.first, other.first), other.second)


@triton.aggregate
class Window:
    base: tl.tensor
    start: tl.tensor
    STEP: tl.constexpr = 1

    @triton.jit
    def load(self, offsets, scale=None):
        values = tl.load(self.base + self.start + offsets * self.STEP)
        if scale is None:
            return values
        else:
            return values * scale


@triton.jit
def both(a, b, SWAPS: tl.constexpr = False):
    if SWAPS:
        return b, a
    return a, b


@triton.jit
def keyed(a, b, MODE: tl.constexpr = 0, *, last=None):
    if MODE == 0:
        result = a
    elif MODE == 1:
        result = b
    else:
        result = b
    for _ in tl.static_range(MODE):
        a, b = b, a
    if last is not None:
        result = last
    return result, a
"""

# structures.py: functions of tl.map_elementwise
_MAPS = """
@triton.jit
def map_ordered(a, b):
    if a < b:
        return b - a
    elif a == b:
        return a
    else:
        return a


@triton.jit
def map_halved(a, limit):
    count = 0
    while (a > limit) & (count < 5):
        a = a >> 1
        count += 1
    return a, count


@triton.jit
def map_couples(a0, a1, b0, b1):
    if a0 < a1:
        return a1, b0, b0 + b1, a0
    return a0, b1, b0, a1
"""

PRELUDE = "\n".join([_COMBINES, _STRUCTURES, _MAPS])
_NAMES = re.findall(r"^(?:def|class) (\w+)", PRELUDE, re.MULTILINE)


def prelude(source: str) -> str:
    """The prelude, or nothing where a kernel uses none of it."""
    return PRELUDE if re.search(rf"\b({'|'.join(_NAMES)})\b", source) else ""
