"""lambert-prox-pdhg-triton: proximal maps that solve u + log u = r by Halley's method."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "bobrun043/lambert-prox-pdhg-triton", "97f59bbcefd073784f821cba61fefb28b8394d18"
)
FILE = "triton_prox_canonical_v1.py"
SMALL, LARGE = dict(n=700), dict(n=1 << 22)


def _log_lambert(r):
    """q with q + exp(q) = r, by Newton's method."""
    q = torch.where(r > 1, r.clamp(min=1).log(), r)
    for _ in range(60):
        q = q - (q + q.exp() - r) / (1 + q.exp())
    return q


def _prox(call, right, observed):
    def build(file, device, n):
        x, y = tm.normal(2, n, device=device, scale=3.0), tm.normal(2, n, device=device)
        seen = [torch.rand(2, n).to(device) * 4] if observed else []
        file._check_tensor = lambda *_: None  # it wants a CUDA device by name
        return (
            lambda: getattr(file, call)(x, y, *seen, 0.7),
            lambda: right(x.double() + y.double(), *(s.double() for s in seen)),
        )

    return build


LAM = 0.7
LOG = torch.tensor(LAM, dtype=torch.float64).log()
for _name, _right, _observed in (
    ("gaussian", lambda v, o: (v + LAM * o) / (1 + LAM), True),
    ("poisson_log", lambda v, o: _log_lambert(v + LAM * o + LOG) - LOG, True),
    ("kl", lambda v, o: LAM * _log_lambert(v / LAM + o.log() - LOG).exp(), True),
    ("xlogx", lambda v: LAM * _log_lambert(v / LAM - 1 - LOG).exp(), False),
    ("exp", lambda v: _log_lambert(v + LOG) - LOG, False),
    ("neglog", lambda v: (v + (v * v + 4 * LAM).sqrt()) / 2, False),
    ("poisson_intensity", lambda v, o: (v - LAM + ((v - LAM) ** 2 + 4 * LAM * o).sqrt()) / 2, True),
):  # fmt: skip
    repository.case(FILE, "_prox_axpy_kernel", small=SMALL, production=LARGE, rtol=1e-4, atol=1e-5, name=_name)(_prox(f"prox_{_name}_axpy", _right, _observed))  # fmt: skip
