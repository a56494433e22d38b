"""Lightplane: features of rays put into a grid by atomics, and read back from it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "facebookresearch/lightplane",
    "34fe6c6392028b2993613d4ceeeeec2abadbc1c9",
    packages={"lightplane": "."},
)
TEMPLATES = "lightplane/triton_src/templates/"


def _rays(device, n, c):
    # Not beyond the middles of the outer cells, where its floor would be that of negative numbers.
    origins, directions = (torch.rand(n, 3) * 0.4 - 0.2 for _ in range(2))
    near, far = torch.rand(n) * 0.2, torch.rand(n) + 1
    feature, mask = torch.randn(n, c), (torch.rand(n, 1) < 0.8).float()
    batch = torch.randint(0, 2, (n,), dtype=torch.int32)
    return [x.to(device) for x in (directions, origins, batch, near, far, feature, mask)]


def _points(directions, origins, near, far, steps):
    part = torch.arange(steps, device=near.device).double() / (steps - 1)
    depth = (far - near).double()[:, None] * part + near.double()[:, None]
    return origins.double()[:, None] + depth[..., None] * directions.double()[:, None]


def _sampled(grids, batch, points):
    """The sum of what the grids, (2, D, H, W, C) each, have at the points of each ray."""
    total = 0
    for grid in grids:
        values = grid.permute(0, 4, 1, 2, 3)
        place = torch.where(torch.tensor(values.shape[:1:-1], device=points.device) > 1, points, 0)
        both = [F.grid_sample(values[i : i + 1], place[None, None], align_corners=False)[0, :, 0] for i in range(2)]  # fmt: skip
        part = torch.where((batch == 0)[:, None], both[0], both[1])
        total = total + part.permute(1, 2, 0)
    return total.sum(1)


def _shapes(kind, size, c):
    if kind == "volume":
        return [(2, size, size, size, c)]
    return [(2, 1, size, size, c), (2, size, 1, size, c), (2, size, size, 1, c)]


def _case(kind, kernels, is_forward):
    production = dict(n=1 << 16, c=32, size=128, steps=64)

    @repository.case(TEMPLATES + ("splatter_fw.py" if is_forward else "splatter_bw.py"), kernels, small=dict(n=48, c=16, size=8, steps=5), production=production, rtol=1e-3, atol=1e-3, name=f"{'splat' if is_forward else 'sample'}_{kind}")  # fmt: skip
    def build(file, device, n, c, size, steps):
        rays = _rays(device, n, c)
        directions, origins, batch, near, far, feature, mask = rays
        shapes = _shapes(kind, size, c)
        sizes = torch.tensor(shapes, dtype=torch.int32, device=device)
        values = [tm.normal(*shape, device=device) for shape in shapes]
        points = _points(directions, origins, near, far, steps)
        block = dict(num_samples=steps, num_samples_inf=0, num_rays=n, grid_channel=c, NUM_GRIDS=len(shapes), feature_channel=c, BLOCK_SIZE=16, mask_out_of_bounds_samples=False, contract_coords=False, disparity_at_inf=1e-5)  # fmt: skip

        def splat():
            grid = torch.zeros(sum(x.numel() for x in values), device=device)
            file.fw_kernel[(n // 16,)](grid, sizes, *rays, **block)
            return grid

        def sample():
            out = torch.empty_like(feature)
            flat = torch.cat([x.flatten() for x in values])
            file.bw_kernel[(n // 16,)](flat, sizes, *rays, **block, grad_splatting_feature=out)
            return out

        def splatted():
            leaves = [torch.zeros(s, dtype=torch.float64, device=device, requires_grad=True) for s in shapes]  # fmt: skip
            read = _sampled(leaves, batch, points)
            grads = torch.autograd.grad(read, leaves, feature.double() * mask.double())
            return torch.cat([x.flatten() for x in grads])

        def sampled():
            return _sampled([x.double() for x in values], batch, points) * mask.double()

        return (splat, splatted) if is_forward else (sample, sampled)


for _kind in ("volume", "planes"):
    one = "_voxel_grid" if _kind == "volume" else "_plane_grid"
    _case(_kind, f"fw_kernel, _voxel_grid_splat, {one}_splat_one", True)
    _case(_kind, f"bw_kernel, sample_grid_rep, {one}_sample_one", False)
