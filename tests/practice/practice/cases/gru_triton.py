"""gru-triton: a GRU over a sequence, a launch for each step or one for all, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("LarocheC/gru-triton", "acd847835948b2e89dbca76acd941c1d78b36516", packages={"gru_qat": "src"})  # fmt: skip


def _gru(gi, h, weight, bias):
    rows = []
    for t in range(gi.shape[0]):
        gr, gz, gn = gi[t].chunk(3, -1)
        hr, hz, hn = (h @ weight.T + bias).chunk(3, -1)
        r, z = torch.sigmoid(gr + hr), torch.sigmoid(gz + hz)
        h = (1 - z) * torch.tanh(gn + r * hn) + z * h
        rows.append(h)
    return torch.stack(rows)


def _scan(call):
    def build(file, device, t, b, h):
        gi, h0 = tm.normal(t, b, 3 * h, device=device), tm.normal(b, h, device=device)
        weight, bias = tm.normal(3 * h, h, device=device) / h**0.5, tm.normal(3 * h, device=device)
        out = tm.normal(t, b, h, device=device)
        return (
            lambda: tm.with_gradients(getattr(file, call), out, gi, h0, weight, bias),
            lambda: tm.with_gradients(_gru, out, gi, h0, weight, bias, exact=True),
        )

    return build


# gru_scan: each step loads as [B, K] what the one before has stored as [B, H], with no barrier: other
# warps may hold the same elements.
for _name, _kernels, _finds in (
    ("gru_scan", "gru_scan_fwd_kernel, gru_scan_bwd_kernel", "race-warp-order"),
    ("gru_scan_persistent", "gru_scan_fwd_persistent_kernel, gru_scan_bwd_persistent_kernel", ""),
):
    repository.case("src/gru_qat/triton_kernels/scan.py", _kernels, small=dict(t=4, b=4, h=32), production=dict(t=16, b=64, h=128), rtol=1e-2, atol=1e-2, name=_name, finds=_finds)(_scan(_name))  # fmt: skip
