"""Flash linear RNN: recurrences in the order of time, of complex numbers and with tied gates."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sustcsonglin/flash-linear-rnn", "6ea89803e0cff9baf9606cb8a59d26deb704cc7d")
FOLDER = "linear_rnn/scan_triton/"
SMALL, LARGE = dict(b=2, n=7, c=256), dict(b=8, n=2048, c=2048)


def _recurrence(v, f):
    h, rows = torch.zeros_like(v[:, 0]), []
    for x, a in zip(v.unbind(1), f.unbind(1), strict=True):
        h = h * a + x
        rows.append(h)
    return torch.stack(rows, 1)


@repository.case(FOLDER + "complex_rnn.py", "fwd_sequential_scan_complex, bwd_sequential_scan_complex", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-4)  # fmt: skip
def complex_recurrence(file, device, b, n, c):
    v = [tm.normal(b, n, c, device=device) for _ in range(2)]
    size, angle = torch.rand(b, n, c), torch.rand(b, n, c) * 6
    f = [(size * x).to(device) for x in (angle.cos(), angle.sin())]
    upstream = tm.normal(2, b, n, c, device=device)

    def scan(*parts):
        return torch.stack(file.complex_scan(*parts))

    def exact(vr, vi, fr, fi):
        h = _recurrence(torch.complex(vr, vi), torch.complex(fr, fi))
        return torch.stack([h.real, h.imag])

    return (
        lambda: tm.with_gradients(scan, upstream, *v, *f),
        lambda: tm.with_gradients(exact, upstream, *v, *f, exact=True),
    )


for _fused in (False, True):

    @repository.case(FOLDER + "real_rnn_tie_input_gate.py", ", ".join(f"{x}_sequential_scan{'_fused' * _fused}" for x in ("fwd", "bwd")), small=SMALL, production=LARGE, name="tied_gates" + "_by_sigmoid" * _fused, rtol=1e-4, atol=1e-4)  # fmt: skip
    def tied_gates(file, device, b, n, c, fused=_fused):
        v, upstream = (tm.normal(b, n, c, device=device) for _ in range(2))
        f = tm.normal(b, n, c, device=device) if fused else torch.rand(b, n, c).to(device)
        scan = file.real_scan_tie_input_gate_fused if fused else file.real_scan_tie_input_gate

        def exact(v, f):
            f = f.sigmoid() if fused else f
            return _recurrence(v * (1 - f), f)

        return (
            lambda: tm.with_gradients(scan, upstream, v, f),
            lambda: tm.with_gradients(exact, upstream, v, f, exact=True),
        )
