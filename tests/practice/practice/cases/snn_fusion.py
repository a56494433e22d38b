"""triton-snn-fusion: leaky integrate-and-fire neurons over time."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pengjh0111/triton-snn-fusion", "5778ff26a0c53e642e916e064219aa6be7a6b9dd")
SMALL, LARGE = dict(t=4, n=2, c=3, h=7), dict(t=4, n=32, c=128, h=32)


def _fired(x, v, threshold, reset, tau):
    spikes = []
    for x_t in x:
        v = v + x_t if tau <= 1 else v + (x_t - v) / tau
        spike = (v >= threshold).to(v.dtype)
        v = v - spike * threshold if reset < 0 else torch.where(spike > 0, reset, v)
        spikes.append(spike)
    return torch.stack(spikes), v


def _case(reset, tau):
    def build(file, device, t, n, c, h):
        x, v = tm.normal(t, n, c, h, h, device=device), tm.normal(n, c, h, h, device=device)
        return (
            lambda: file.run_fused_temporal_lif_state_kernel(x, v, 1.0, reset, tau, True),
            lambda: _fired(x.double(), v.double(), 1.0, reset, tau),
        )

    return build


for _name, _reset, _tau in (("lif_hard_reset", 0.0, 2.0), ("lif_soft_reset", -1.0, 1.0)):
    repository.case("kernels/generated_temporal_lif_kernel.py", "_fused_temporal_lif_state_kernel", small=SMALL, production=LARGE, share=1e-4, name=_name)(_case(_reset, _tau))  # fmt: skip
