"""FlexGEMM: sparse convolutions over voxels, by an autotuner derived from Triton's."""

from __future__ import annotations

import sys

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "JeffreyXiang/FlexGEMM",
    "6dd94a859c26ee8246888502eada3dd8ad85532e",
    packages={"flex_gemm": "."},
    stand_ins={"flex_gemm": {"AUTOSAVE_AUTOTUNE_CACHE": False, "AUTOTUNE_CACHE_PATH": ""}},
)
SPCONV = "flex_gemm/kernels/triton/spconv/"
V = 27  # neighbours
HALF = dict(rtol=1e-2, atol=2e-2)


def _neighbours(n):
    """The numbers of the voxels around each of n, -1 where there is none. Shapes: (n, V)."""
    side = 2 + round((2 * n) ** (1 / 3))
    cells = torch.randperm(side**3)[:n]
    grid = torch.full((side + 2,) * 3, -1)
    x, y, z = (1 + cells // side**i % side for i in range(3))
    grid[x, y, z] = torch.arange(n)
    step = torch.arange(V)
    dx, dy, dz = (step // 3**i % 3 - 1 for i in (2, 1, 0))
    return grid[x[:, None] + dx, y[:, None] + dy, z[:, None] + dz]


def _convolved(x, weight, near):
    rows = torch.where((near >= 0)[..., None], x[near.clamp(min=0)], 0.0)
    return torch.einsum("nvi,ovi->no", rows, weight)


def _map(near, device):
    """As the kernels want it: unsigned, none is the largest."""
    return torch.where(near < 0, 0xFFFFFFFF, near).to(torch.uint32).to(device)


def _sorted(near, device):
    """Rows in the order of which neighbours they have, and for a size of blocks the neighbours that
    any row of each has."""
    order = ((near >= 0).long() << torch.arange(V)).sum(1).argsort()

    def of(size):
        blocks = [(near[rows] >= 0).any(0).nonzero()[:, 0] for rows in order.split(size)]
        return torch.cat(blocks).to(torch.int32), tm.starts([len(b) for b in blocks], device)

    return order.to(device), lambda size: of(size)[0].to(device), lambda size: of(size)[1]


def _signals(near, device):
    """By neighbour: the voxels that have it, as inputs and outputs."""
    pairs = [((rows := (near[:, v] >= 0).nonzero()[:, 0]), near[rows, v]) for v in range(V)]
    i, o = (torch.cat([p[side] for p in pairs]).to(torch.uint32).to(device) for side in (1, 0))
    return i, o, tm.starts([len(p[0]) for p in pairs], device)


def _split_in(parts):
    """Its tuner of splits would run each of up to 4096 parts 13 times."""
    for name, module in sys.modules.items():
        if name.startswith("flex_gemm.kernels.triton.spconv.") and name.endswith("splitk"):
            for value in vars(module).values():
                if hasattr(value, "config_fn"):
                    value.configs = [{"SPLITK": parts}]


def _submanifold(forward, backward, masked):
    def build(file, device, n, ci, co):
        _split_in(4)
        near, half = _neighbours(n), torch.float16
        x, up = tm.normal(n, ci, device=device, dtype=half), tm.normal(n, co, device=device, dtype=half)  # fmt: skip
        weight = tm.normal(co, V, ci, device=device, dtype=half, scale=0.1)
        bias = tm.normal(co, device=device, dtype=half)
        map_ = [_map(near, device)]
        order = [*_sorted(near, device)] if masked else []
        signals = [*_signals(near, device)] if masked else []
        leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]

        def run():
            y = getattr(file, forward)(x, weight, bias, *map_, *order)
            return y, getattr(file, backward)(up, *leaves, *map_, *order, *signals)

        def want():
            y, *grads = tm.with_gradients(lambda x, w, b: _convolved(x, w, near) + b, up.cpu(), x.cpu(), weight.cpu(), bias.cpu(), exact=True)  # fmt: skip
            return y, grads

        return run, want

    return build


# submanifold_split: a part begins at `k_start * BK` of the weights, which is too far where BK does
# not divide the input's channels, as in most of its configurations.
for _name, _file, _masked, _finds in (
    ("submanifold", "implicit_gemm", False, ""),
    ("submanifold_split", "implicit_gemm_splitk", False, "oob-load"),
    ("submanifold_masked", "masked_implicit_gemm", True, ""),
    ("submanifold_masked_split", "masked_implicit_gemm_splitk", True, ""),
):
    _calls = [f"sparse_submanifold_conv_{way}_{_file}" for way in ("fwd", "bwd")]
    _kernels = [f"sparse_submanifold_conv_{way}_{_file}_kernel" for way in ("fwd", "bwd_input", "bwd_weight")]  # fmt: skip
    repository.case(f"{SPCONV}__init__.py", ", ".join(_kernels), small=dict(n=70, ci=32, co=40), production=dict(n=20000, ci=64, co=64), name=_name, finds=_finds, **HALF)(_submanifold(*_calls, _masked))  # fmt: skip


# Rows behind the end are taken from the beginning by `% M`, also where they are stored.
@repository.case("flex_gemm/kernels/triton/grid_sample/__init__.py", "indice_weighed_sum_fwd_kernel, indice_weighed_sum_bwd_input_kernel", finds="race-same-value", small=dict(n=50, m=30, c=20), production=dict(n=100000, m=100000, c=64), rtol=1e-4, atol=1e-4)  # fmt: skip
def weighted_sum(file, device, n, m, c):
    x, up = tm.normal(n, c, device=device), tm.normal(m, c, device=device)
    near = tm.integers(-n // 4, n, m, 8, device="cpu").clamp(min=-1)
    weight, map_ = torch.rand(m, 8).to(device), _map(near, device)

    def right(x):
        rows = torch.where((near >= 0)[..., None], x[near.clamp(min=0)], 0.0)
        return (rows * weight.cpu().double()[..., None]).sum(1)

    def gradient():
        return file.indice_weighed_sum_bwd_input(up, map_, weight, n)

    gradient()  # its tuner runs the kernel, which adds, without setting its output to 0 again
    return (
        lambda: (file.indice_weighed_sum_fwd(x, map_, weight), gradient()),
        lambda: tm.with_gradients(right, up.cpu(), x.cpu(), exact=True),
    )  # fmt: skip
