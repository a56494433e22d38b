"""CATS: the MLP of a decoded token, with those of its neurons that are on."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ScalingIntelligence/CATS", "679959c3323790be0a7d7d9af78e0580f8b88ed8")
FILE = "flash_gemv/flash_gemv/kernels.py"
HALF = torch.float16
SIZES = dict(small=dict(hidden=256, d=2048), production=dict(hidden=14336, d=4096))


def _inputs(device, rows, hidden, d):
    x = tm.normal(rows, d, device=device, dtype=HALF)
    gate = tm.normal(rows, hidden, device=device, dtype=HALF)
    weights = (tm.normal(hidden, d, device=device, dtype=HALF, scale=d**-0.5) for _ in range(2))
    return x, gate, *weights


@repository.case(
    FILE,
    "gather_gemv_elemul_flag_kernel, gather_transposed_gemv_flag_atomicadd_kernel",
    rtol=1e-2,
    atol=1e-2,
    **SIZES,
)
def mlp_by_flags(file, device, hidden, d):
    """Two beams, each with its own flags."""
    x, gate, up, down = _inputs(device, 2, hidden, d)
    on = gate.abs() > 0.7

    def run():
        middle = file.gather_gemv_elemul_flag_3d(x[:, None], gate[:, None], up, on)
        return middle[:, 0], file.gather_transposed_gemv_flag_3d(middle, down, on)[:, 0]

    def want():
        middle = x.double() @ up.double().T * gate.double() * on
        return middle, middle @ down.double()

    return run, want


@repository.case(
    FILE,
    "gather_gemv_elemul_index_3d_kernel, gather_transposed_gemv_index_atomicadd_kernel",
    rtol=1e-2,
    atol=1e-2,
    **SIZES,
)
def mlp_by_indices(file, device, hidden, d):
    x, gate, up, down = _inputs(device, 1, hidden, d)
    ids = (gate[0].abs() > 0.7).nonzero()[:, 0]
    gate = gate[:, ids].contiguous()

    def run():
        return file.mistral_mlp_sparse_direct_index_2d(x, gate, up, down, ids)

    def want():
        middle = x.double() @ up.double()[ids].T * gate.double()
        return middle @ down.double()[ids]

    return run, want
