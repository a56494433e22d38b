"""A kernel with functions that torch's compiler has for its own, imported before triton."""

import torch
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice
from torch._inductor.runtime.triton_helpers import math as tl_math

import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def clamped_max_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    a = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    a = tl.where(libdevice.isnan(a).to(tl.int1), 0.0, a)
    best = triton_helpers.max2(a, 1)
    tl.store(y + rows, libdevice.tanh(tl_math.abs(triton_helpers.promote_to_tensor(best))))


def clamped_max(x):
    y = torch.empty(x.shape[0])
    clamped_max_kernel[(1,)](x, y, *x.shape)
    return y
