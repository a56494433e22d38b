"""MoEUT: products of tokens with the matrices of their experts, up and down again."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("RobertCsordas/moeut", "87f04973d3db3ad7cb4ca67a0750241e40210d3c")


@repository.case(
    "moeut/cvmm.py",
    "cvmm_kernel, cvmm_backward_kernel3",
    rtol=1e-3,
    atol=1e-3,
    small=dict(t=40, experts=5, topk=2, d=48, hidden=32),
    production=dict(t=4096, experts=64, topk=8, d=1024, hidden=128),
)
def layer_of_experts(file, device, t, experts, topk, d, hidden):
    """Sigmoids of the router weigh the experts; with the gradients of all that is learned."""
    x, up = (tm.normal(t, d, device=device) for _ in range(2))
    keys = tm.normal(experts, d, hidden, device=device, scale=d**-0.5)
    values = tm.normal(experts, hidden, d, device=device, scale=hidden**-0.5)
    _, ids = tm.topk_ids(t, experts, topk, device)
    gates = torch.rand(t, topk).to(device)

    def layer(x, keys, values, gates):
        chosen = file.cvmm_prepare_sel2(ids)
        middle = F.relu(file.cvmm(x, chosen, keys))
        back = chosen.clone()
        back.reduction_weight = gates
        back.sel_index = back.out_index
        back.out_index = None
        return file.cvmm(middle, back, values)

    def exact(x, keys, values, gates):
        order = ids.flatten().argsort(stable=True)
        counts = ids.flatten().bincount(minlength=experts).tolist()
        parts = []
        for expert, rows in enumerate((order // topk).split(counts)):
            parts.append(F.relu(x[rows] @ keys[expert]) @ values[expert])
        each = torch.cat(parts)[order.argsort()].unflatten(0, (t, topk))
        return (gates[..., None] * each).sum(1)

    return (
        lambda: tm.with_gradients(layer, up, x, keys, values, gates),
        lambda: tm.with_gradients(exact, up, x, keys, values, gates, exact=True),
    )
