"""flooder: distances of random points in simplices to the nearest of a point cloud."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("plus-rkwitt/flooder", "b14da54464039de73ba2a31dc4c09d1dce0df3b3")
FILE = "flooder/triton_kernels.py"


def _filtration(name, block_r, block_w, d, dtype):
    def build(file, device, s, r, points, each):
        x, y = (tm.normal(*n, device=device, dtype=dtype) for n in ((s, r, d), (points, d)))
        count = each * block_w
        rows = torch.arange(s).repeat_interleave(count).to(device)
        columns = tm.integers(0, points, s * count, device=device)

        def want():
            chosen = y.double()[columns.view(s, count)]
            return torch.stack([torch.cdist(a, c).amin(-1) for a, c in zip(x.double(), chosen, strict=True)])  # fmt: skip

        return lambda: file.compute_filtration(x, y, rows, columns, block_w, block_r), want

    repository.case(FILE, "compute_filtration_kernel", rtol=1e-4, atol=1e-4, name=name, small=dict(s=3, r=100, points=90, each=2), production=dict(s=512, r=1024, points=1 << 16, each=32))(build)  # fmt: skip


_filtration("filtration", 16, 512, 3, torch.float32)
_filtration("filtration_square", 64, 64, 3, torch.float32)
_filtration("filtration_float64", 32, 128, 2, torch.float64)


@repository.case(FILE, "compute_mask_kernel", share=1e-4, small=dict(n=40, m=300), production=dict(n=2048, m=1 << 16))  # fmt: skip
def inside(file, device, n, m):
    points, centres = tm.normal(m, 3, device=device), tm.normal(n, 3, device=device)
    radii = (torch.rand(n) + 0.2).to(device)

    def run():
        return file.compute_mask(points, centres, radii, 16, 512, 64)[:, :m]

    def want():
        parts = centres.float().double().split(256)
        squares = torch.cat([(points.double() - c[:, None]).square().sum(-1) for c in parts])
        return squares <= radii.double().square()[:, None]

    return run, want
