"""Megatron-LM: routing maps and slices at places that only the device knows."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA/Megatron-LM",
    "d98e8a64ddf34856e74b24714e3bedb2f5a39553",
    packages={"megatron": "."},
    stand_ins={"megatron.core.utils": {}, "megatron.core.jit": {}},
)
FUSIONS = "megatron/core/fusions/"
TENSORS = "megatron/core/inference/contexts/attention_context/triton/tensor_ops.py"
SMALL, LARGE = dict(n=130, experts=12, top=3), dict(n=8192, experts=128, top=8)


@repository.case(FUSIONS + "fused_pad_routing_map.py", "_pad_routing_map_kernel", small=SMALL, production=LARGE)  # fmt: skip
def padded_routing(file, device, n, experts, top):
    routing = torch.zeros(n, experts, dtype=torch.bool)
    routing.scatter_(1, torch.stack([torch.randperm(experts)[:top] for _ in range(n)]), True)
    routing = routing.to(device)

    def want():
        missing = -routing.sum(0) % 16
        spare = (~routing).cumsum(0) <= missing
        return routing | (spare & ~routing)

    return lambda: file.fused_pad_routing_map(routing, 16), want


@repository.case(FUSIONS + "fused_indices_converter.py", "_indices_to_multihot_kernel", small=SMALL, production=LARGE)  # fmt: skip
def multihot(file, device, n, experts, top):
    ids = torch.stack([torch.randperm(experts)[:top] for _ in range(n)])
    ids = ids.masked_fill(torch.rand(n, top) < 0.2, -1).to(device)
    probabilities = tm.normal(n, top, device=device)

    def want():
        places = torch.where(ids < 0, experts, ids)
        hot = torch.zeros(n, experts + 1, dtype=torch.bool, device=device).scatter(1, places, True)
        spread = torch.zeros(n, experts + 1, device=device).scatter(1, places, probabilities)
        return hot[:, :-1], spread[:, :-1]

    return lambda: file.fused_indices_to_multihot(ids, probabilities, experts), want


ROWS = dict(small=dict(n=20, d=70), production=dict(n=4096, d=4096))


@repository.case(TENSORS, "_tensor_get_slice_after_kernel", **ROWS)
def slice_after(file, device, n, d):
    x, at = tm.normal(n, d, device=device), torch.tensor([7], device=device)

    def run():
        out = torch.zeros_like(x)
        file.tensor_get_slice_after(x, out, at)
        return out[: n - 7]

    return run, lambda: x[7:]


@repository.case(TENSORS, "_tensor_merge_kernel", **ROWS)
def merged(file, device, n, d):
    x, y = tm.normal(n, d, device=device), tm.normal(5, d, device=device)
    at = torch.tensor([7], device=device)

    def run():
        out = torch.zeros(n, d, device=device)
        file.tensor_merge(x, y, at, out)
        return out[:12]

    return run, lambda: torch.cat([x[:7], y])


def _updated(rank):
    def build(file, device, n, d):
        shape = (6, 5, d)[-(rank - 1) :]
        states, new = (tm.normal(k, *shape, device=device) for k in (n, 6))
        ids = torch.tensor([3, -1, 0, 9, -1, 11], device=device)

        def run():
            out = states.clone()
            file.tensor_masked_update(out, ids, new)
            return out

        def want():
            out = states.clone()
            out[ids[ids >= 0]] = new[ids >= 0]
            return out

        return run, want

    return build


for rank in (2, 3, 4):
    repository.case(TENSORS, f"_tensor_masked_update_kernel_{rank}d", name=f"updated_{rank}d", **ROWS)(_updated(rank))  # fmt: skip
