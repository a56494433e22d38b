"""Vortex (Hyena of Evo 2): three causal convolutions of few elements for each channel, as products
of matrices, and the product of what they give."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Zymrael/vortex", "cb229ae50581aa072972c33a81e23eb43a1330ab", stand_ins={"causal_conv1d": {}})  # fmt: skip
FILE = "vortex/ops/hyena_x/triton_indirect_fwd.py"
HELPERS = "load_strided_block, shift_d_bdl"
# Of the kernels for groups the second group takes wrong filters, so there is one group.
SIZES = dict(small=dict(b=2, d=16, n=64, taps=4), production=dict(b=256, d=16, n=8192, taps=7))


def _inputs(b, d, n, taps, device):
    parts = (tm.normal(b, d, n, device=device, dtype=torch.float16) for _ in range(3))
    return *parts, tm.normal(3 * d, taps, device=device, dtype=torch.float16, scale=0.5)


def _product(*inputs):
    *parts, h = (x.double() for x in inputs)
    filters = h[:, None].chunk(3)
    q, k, v = (
        F.conv1d(F.pad(x, (f.shape[-1] - 1, 0)), f, groups=len(f))
        for x, f in zip(parts, filters, strict=True)
    )
    return q * k * v


for _name, _function, _kernels in (
    ("channels", "hyena_x_bdl_fwd", "hyena_x_fwd_bdl_kernel, load_strided_block, move_to_base_offset"),
    ("groups_of_channels", "hyena_x_bdl_dchunk_fwd", f"hyena_x_fwd_bdl_dchunk_kernel, {HELPERS}, move_to_base_offset_bd"),
    ("one_after_another", "hyena_x_bdl_dchunk_independent_fwd", f"hyena_x_fwd_bdl_dchunk_independent_kernel, {HELPERS}"),
):  # fmt: skip

    @repository.case(FILE, _kernels, rtol=2e-2, atol=2e-2, name=_name, **SIZES)
    def product(file, device, b, d, n, taps, function=_function):
        inputs = _inputs(b, d, n, taps, device)
        return lambda: getattr(file, function)(*inputs), lambda: _product(*inputs)
