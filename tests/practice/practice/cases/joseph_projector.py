"""Joseph projector: line integrals through a volume of voxels, as in tomography, and the transposed
operation, which adds measured values along lines to a volume."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("Imraj-Singh/Triton_Joseph_Projector", "82dd8327655c8141046624231c3a6ab71e13f583")  # fmt: skip
FILE = "triton_joseph_proj.py"
HELPER = "ray_cube_intersection_device"


def _scene(rays, size, device):
    """Lines whose ends lie outside of a volume with three different lengths of edges."""
    shape = torch.tensor([size, size - 3, size + 2])
    voxel = torch.tensor([1.0, 1.25, 0.75])
    origin = -voxel * (shape - 1) / 2
    radius = 1.2 * float(((shape + 1) * voxel / 2).norm())
    ends = [torch.nn.functional.normalize(torch.randn(rays, 3), dim=1) * radius for _ in range(2)]
    return [x.to(device) for x in (*ends, origin, voxel)], tuple(shape.tolist())


def _weights(start, end, origin, voxel, shape):
    """For each plane of voxels along the axis in which a line is longest: the lines, the four
    voxels around its point in the plane (as places in the volume) and their weights."""
    start, end, origin, voxel = (x.double() for x in (start, end, origin, voxel))
    d = end - start
    longest = d.square().argmax(1)
    strides = torch.tensor([shape[1] * shape[2], shape[2], 1], device=d.device)
    for axis in range(3):
        lines = (longest == axis).nonzero()[:, 0]
        a, b = (other for other in range(3) if other != axis)
        s, e = start[lines], d[lines]
        factor = voxel[axis] * e.norm(dim=1) / e[:, axis].abs()
        for i in range(shape[axis]):
            t = (origin[axis] + i * voxel[axis] - s[:, axis]) / e[:, axis]
            u, v = ((s[:, k] + t * e[:, k] - origin[k]) / voxel[k] for k in (a, b))
            for corner in range(4):
                p, q = u.floor() + corner % 2, v.floor() + corner // 2
                inside = (p >= 0) & (p < shape[a]) & (q >= 0) & (q < shape[b])
                weight = (1 - (u - p).abs()) * (1 - (v - q).abs()) * factor
                place = i * strides[axis] + p.long() * strides[a] + q.long() * strides[b]
                yield lines[inside], place[inside], weight[inside]


@repository.case(FILE, f"joseph3d_fwd_kernel_vec, {HELPER}", small=dict(rays=150, size=12), production=dict(rays=1 << 20, size=128), rtol=1e-3, atol=5e-3, share=1e-5)  # fmt: skip
def integrals(file, device, rays, size):
    (start, end, origin, voxel), shape = _scene(rays, size, device)
    image = torch.rand(shape).to(device)

    def want():
        out = torch.zeros(rays, dtype=torch.float64, device=device)
        for lines, place, weight in _weights(start, end, origin, voxel, shape):
            out.index_add_(0, lines, weight * image.flatten()[place].double())
        return out

    return lambda: file.joseph3d_fwd_vec(start, end, image, origin, voxel, shape), want


@repository.case(FILE, f"joseph3d_bwd_kernel_vec, {HELPER}", small=dict(rays=150, size=12), production=dict(rays=1 << 18, size=128), rtol=1e-3, atol=5e-3, share=1e-4)  # fmt: skip
def transposed(file, device, rays, size):
    """The launch adds to zeros, so the measurement is taken over again each time."""
    (start, end, origin, voxel), shape = _scene(rays, size, device)
    values = torch.rand(rays).to(device)

    def run():
        image = torch.zeros(shape, device=device)
        file.joseph3d_bwd_kernel_vec.fn[(-(-rays // 128),)](
            image, start, end, values, origin, voxel, rays, *shape, *start.stride(), *end.stride(),
            values.stride(0), *image.stride(), BLOCK_SIZE_M=128,
        )  # fmt: skip
        return image

    def want():
        out = torch.zeros(shape, dtype=torch.float64, device=device)
        for lines, place, weight in _weights(start, end, origin, voxel, shape):
            out.view(-1).index_add_(0, place, weight * values[lines].double())
        return out

    return run, want
