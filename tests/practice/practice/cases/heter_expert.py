"""HeterExpert: experts of different widths, gated, and the sum of each token's experts."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "12345ljx/HeterExpert",
    "85272f8667ace0f8801d8ed4bafbd4c4bd72fced",
    packages={"MoEfication": "."},
    stand_ins={
        name: {}
        for name in (
            "wandb", "peft", "accelerate", "accelerate.state", "accelerate.utils", "fvcore",
            "fvcore.nn", "fvcore.nn.jit_handles", "omegaconf", "tabulate",
        )
    },
)  # fmt: skip
FILE = "MoEfication/moe_triton_impls.py"
SIZES = dict(small=dict(n=40, h=256, widths=(48, 100, 20, 64), top=2), production=dict(n=4096, h=2048, widths=(512, 1024, 768, 256, 1408, 640, 896, 384), top=2))  # fmt: skip


def _one(kernel, **blocks):
    kernel.configs = [c for c in kernel.configs if blocks.items() <= c.kwargs.items()][:1]


def _routed(device, n, widths, top):
    """Whether a token goes to an expert, the tokens of each expert, and the place among them of
    each token."""
    routed = torch.zeros(n, len(widths), dtype=torch.int64)
    routed.scatter_(1, torch.rand(n, len(widths)).topk(top).indices, 1)
    order = routed.argsort(dim=0, descending=True, stable=True)
    return (x.to(device) for x in (routed, order, order.argsort(dim=0), routed.sum(0)))


def _mask(widths, device):
    most = torch.arange(max(widths), device=device)
    return most < torch.tensor(widths, device=device)[:, None]


@repository.case(FILE, "moe_first_glu_hetero_kernel, row_major, silu", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def gated_rows(file, device, n, h, widths, top):
    x = tm.normal(n, h, device=device)
    gate, up = (tm.normal(len(widths), h, max(widths), device=device, scale=h**-0.5) for _ in range(2))  # fmt: skip
    _, order, _, counts = _routed(device, n, widths, top)
    _one(file.moe_first_glu_hetero_kernel, BLOCK_SIZE_BD=64, BLOCK_SIZE_HD=32, BLOCK_SIZE_ED=64, ORDERING="ROW_MAJOR")  # fmt: skip
    width = torch.tensor(widths, dtype=torch.int32, device=device)

    def rows(out):
        return [out[e, :c, : widths[e]] for e, c in enumerate(counts.tolist())]

    def run():
        first = file.MoeFirstLayerGLUHeteroImplementation
        return rows(first.apply(x, gate, up, order, counts, width, "silu"))

    def want():
        picked = x.double()[order.T]
        return rows(F.silu(picked @ gate.double()) * (picked @ up.double()))

    return run, want


@repository.case(FILE, "moe_second_hetero_kernel, moe_merge_results_kernel, row_major", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def sums_of_experts(file, device, n, h, widths, top):
    x = tm.normal(len(widths), n, max(widths), device=device)
    weight = tm.normal(len(widths), max(widths), h, device=device, scale=max(widths) ** -0.5)
    routed, _, place, counts = _routed(device, n, widths, top)
    width = torch.tensor(widths, dtype=torch.int32, device=device)
    _one(file.moe_second_hetero_kernel, BLOCK_SIZE_BD=64, BLOCK_SIZE_HD=64, BLOCK_SIZE_ED=32, ORDERING="ROW_MAJOR")  # fmt: skip
    second = next(v for k, v in vars(file).items() if k.startswith("MoeSecond"))

    def want():
        both = (x.double() * _mask(widths, device)[:, None]) @ weight.double()
        each = both[torch.arange(len(widths), device=device)[:, None], place.T]
        return (each * routed.T[..., None]).sum(0)

    return lambda: second.apply(x, weight, place, counts, width, routed), want
