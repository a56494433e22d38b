"""ISTA-DASLab-Optimizers: products of matrices with themselves, where half of the blocks suffice."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("IST-DASLab/ISTA-DASLab-Optimizers", "4c98e6e7d8a51147cc8fdd77458baac881852b56")  # fmt: skip
PLACE = "ista_daslab_optimizers/utils/"
# A block below the diagonal has its columns masked by its rows: sizes are multiples of blocks.
SIZES = dict(small=dict(b=2, m=256, n=128), production=dict(b=4, m=2048, n=1024))
HALF = dict(rtol=1e-2, atol=3e-2)


def _bf16(*shape, device, scale=1.0):
    return tm.normal(*shape, device=device, dtype=torch.bfloat16, scale=scale)


for _left in (False, True):

    @repository.case(f"{PLACE}triton_kernels.py", "update_dash_preconditioner_kernel_triangle, _pid_to_block_triangular", **SIZES, **HALF, name="preconditioner_" + ("left" if _left else "right"))  # fmt: skip
    def preconditioner(file, device, b, m, n, left=_left):
        g = _bf16(b, m, n, device=device, scale=m**-0.5)
        side = m if left else n
        x = _bf16(b, side, side, device=device)
        x = (x + x.mT).contiguous()
        square = g.double() @ g.double().mT if left else g.double().mT @ g.double()

        def run():
            file.update_dash_preconditioner(x.clone(), g, 0.9, left)  # while it is tuned, x changes
            return file.update_dash_preconditioner(x.clone(), g, 0.9, left)

        return run, lambda: 0.9 * x.double() + 0.1 * square


# Of blocks of 64 by 128 the first one's mirror covers rows 64 to 127 of columns 0 to 63, which the
# next one writes, too.
@repository.case(f"{PLACE}newton_schulz_triton.py", "ns_line_1_kernel, _pid_to_block", **SIZES, **HALF, finds="race-same-value")  # fmt: skip
def square(file, device, b, m, n):
    x = _bf16(b, n, m, device=device, scale=m**-0.5)
    return lambda: file.ns_line_1(x), lambda: x.double() @ x.double().mT


@repository.case(f"{PLACE}newton_schulz_triton.py", "ns_line_2_kernel, _pid_to_block", **SIZES, **HALF, finds="race-same-value")  # fmt: skip
def polynomial(file, device, b, m, n):
    x = _bf16(b, n, n, device=device, scale=n**-0.5)
    x = (x + x.mT).contiguous()
    return lambda: file.ns_line_2(x, 0.5, -1.5), lambda: 0.5 * x.double() @ x.double() - 1.5 * x
