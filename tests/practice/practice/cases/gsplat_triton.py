"""gsplat-triton: Gaussian splatting: projection, tiles, pixels, and colours by spherical harmonics."""

from __future__ import annotations

import importlib

import torch

from practice import torch_math as tm
from practice.case import Repository


def _sorted(ids, values, bits):
    order = ids.sort()
    return order.values, values[order.indices]


# The sort is in a repository of its own.
repository = Repository("hieu1999210/gsplat-triton", "46beece9c8e0bd8a142abbaeae50f595399c60bf", packages={"gsplat": "."}, stand_ins={"jaxtyping": {}, "gsplat.triton_impl.radix_sort": {"radix_sort": _sorted}})  # fmt: skip
FILE = "gsplat/triton_impl/_wrapper.py"
WIDTH, HEIGHT, TILE = 37, 21, 16


def _exact():
    """The repository's own functions in torch."""
    return importlib.import_module("gsplat.cuda._torch_impl")


def _scene(n, cameras, device):
    means = tm.normal(n, 3, device=device)
    quats, scales = tm.normal(n, 4, device=device), (torch.rand(n, 3) * 0.3 + 0.05).to(device)
    views = torch.eye(4).repeat(cameras, 1, 1)
    views[:, :3, :3] = torch.linalg.qr(torch.randn(cameras, 3, 3)).Q
    views[:, 2, 3] = 6.0
    k = torch.tensor([[20.0, 0, WIDTH / 2], [0, 20.0, HEIGHT / 2], [0, 0, 1]])
    return means, quats, scales, views.to(device), k.repeat(cameras, 1, 1).to(device)


@repository.case(FILE, "fused_projection_fwd_kernel, _quat_scale_to_covar, _persp_proj, _add_blur", small=dict(n=300, cameras=2), production=dict(n=1000000, cameras=2), rtol=1e-3, atol=1e-3)  # fmt: skip
def projection(file, device, n, cameras):
    scene = _scene(n, cameras, device)

    def run():
        means, quats, scales, views, k = scene
        radii, *rest = file.fully_fused_projection(means, None, quats, scales, views, k, WIDTH, HEIGHT)  # fmt: skip
        seen = (radii > 0)[..., None]
        return [torch.where(seen, x.view(*radii.shape, -1), 0) for x in rest[:3]]

    def want():
        means, quats, scales, views, k = (x.double() for x in scene)
        exact = _exact()
        covars, _ = exact._quat_scale_to_covar_preci(quats, scales, True, False, False)
        radii, *rest = exact._fully_fused_projection(means, covars, views, k, WIDTH, HEIGHT)
        seen = (radii > 0)[..., None]
        return [torch.where(seen, x.view(*radii.shape, -1), 0) for x in rest[:3]]

    return run, want


@repository.case(FILE, "fused_projection_bwd_kernel, _quat_scale_to_covar_vjp, _persp_proj_vjp, _transform_cov3D_vjp", small=dict(n=300, cameras=2), production=dict(n=1000000, cameras=2), rtol=1e-2, atol=1e-2, share=1e-2)  # fmt: skip
def projection_gradient(file, device, n, cameras):
    scene = _scene(n, cameras, device)
    ups = [tm.normal(cameras, n, *s, device=device) for s in ((2,), (), (3,))]

    def weighted(radii, rest):
        seen = radii > 0
        return sum((x * up * seen.view(*seen.shape, *[1] * (x.dim() - 2))).sum() for x, up in zip(rest, ups, strict=True))  # fmt: skip

    def grads(function, exact):
        means, quats, scales, views, k = (x.double() if exact else x for x in scene)
        leaves = [x.clone().requires_grad_() for x in (means, quats, scales)]
        return torch.autograd.grad(function(*leaves, views, k), leaves)

    def ours(means, quats, scales, views, k):
        radii, *rest = file.fully_fused_projection(means, None, quats, scales, views, k, WIDTH, HEIGHT)  # fmt: skip
        return weighted(radii, rest[:3])

    def right(means, quats, scales, views, k):
        covars, _ = _exact()._quat_scale_to_covar_preci(quats, scales, True, False, False)
        radii, *rest = _exact()._fully_fused_projection(means, covars, views, k, WIDTH, HEIGHT)
        return weighted(radii, rest[:3])

    return lambda: grads(ours, False), lambda: grads(right, True)


HARMONICS = dict(small=dict(n=300), production=dict(n=1000000), rtol=1e-4, atol=1e-4)


def _colours(degree):
    @repository.case(FILE, "sh_to_color_fwd_kernel, sh_to_color_bwd_kernel", name=f"colours_{degree}", **HARMONICS)  # fmt: skip
    def build(file, device, n):
        dirs, c, up = (tm.normal(*s, device=device) for s in ((n, 3), (n, 16, 3), (n, 3)))
        return (
            lambda: tm.with_gradients(lambda d, c: file.spherical_harmonics(degree, d, c), up, dirs, c),
            lambda: tm.with_gradients(lambda d, c: _exact()._spherical_harmonics(degree, d, c), up, dirs, c, exact=True),
        )  # fmt: skip


for _degree in (1, 3):
    _colours(_degree)


def _flat(n, device):
    """Gaussians on the image, in the order of their depths, and which tiles each may touch."""
    means = (torch.rand(1, n, 2) * torch.tensor([WIDTH, HEIGHT])).to(device)
    radii = tm.integers(2, 12, 1, n, device=device, dtype=torch.int32)
    depths = (torch.rand(1, n) * 10 + 1).to(device)
    return means, radii, depths, -(-WIDTH // TILE), -(-HEIGHT // TILE)


@repository.case(FILE, "count_tiles_kernel, get_isect_ids_kernel, get_isect_offsets_kernel", small=dict(n=200), production=dict(n=100000))  # fmt: skip
def tiles(file, device, n):
    means, radii, depths, w, h = _flat(n, device)

    def run():
        count, ids, flat = file.isect_tiles(means, radii, depths, TILE, w, h)
        return count, ids, flat, file.isect_offset_encode(ids, 1, w, h)

    def want():
        at, size = means.cpu() / TILE, radii.cpu()[..., None] / TILE
        low, high = (at - size).floor().int(), (at + size).ceil().int()
        bound = torch.tensor([w, h])
        low, high = (torch.minimum(x.clamp(min=0), bound)[0].tolist() for x in (low, high))
        bits = depths.cpu().view(torch.int32)[0].tolist()
        rows = sorted(
            (((y * w + x) << 32) | bits[i], i)
            for i in range(n)
            for y in range(low[i][1], high[i][1])
            for x in range(low[i][0], high[i][0])
        )
        count = [(high[i][1] - low[i][1]) * (high[i][0] - low[i][0]) for i in range(n)]
        ids = torch.tensor([r[0] for r in rows])
        starts = torch.searchsorted(ids >> 32, torch.arange(w * h)).view(1, h, w)
        return torch.tensor([count]), ids, torch.tensor([r[1] for r in rows]), starts

    return run, want


def _pixels(n, device):
    """The inputs of the image, and a function of them that gives it in torch."""
    means, radii, depths, w, h = _flat(n, device)
    conics = torch.stack([torch.rand(1, n) * 0.1 + 0.05, torch.rand(1, n) * 0.02, torch.rand(1, n) * 0.1 + 0.05], -1).to(device)  # fmt: skip
    colours, opacity = torch.rand(1, n, 4).to(device), (torch.rand(1, n) * 0.5 + 0.1).to(device)
    low = ((means - radii[..., None]) / TILE).floor().clamp(min=0)[0].cpu()
    high = ((means + radii[..., None]) / TILE).ceil()[0].cpu()
    order = depths[0].cpu().argsort()
    tiles = [(x, y) for y in range(h) for x in range(w)]
    lists = [order[((low <= t) & (t < high)).all(1)[order]] for t in map(torch.tensor, tiles)]
    flat = torch.cat(lists).to(torch.int32).to(device)
    starts = tm.starts([len(row) for row in lists], device)[:-1].view(1, h, w)

    def right(means, conics, colours, opacity):
        image = []
        for y in range(HEIGHT):
            for x in range(WIDTH):
                row = lists[y // TILE * w + x // TILE].to(means.device)
                at = torch.tensor([x + 0.5, y + 0.5], dtype=torch.float64, device=means.device) - means[0, row]  # fmt: skip
                a, b, c = conics[0, row].unbind(-1)
                power = 0.5 * (a * at[:, 0] ** 2 + c * at[:, 1] ** 2) + b * at[:, 0] * at[:, 1]
                alpha = (opacity[0, row] * (-power).exp()).clamp(max=0.999)
                alpha = torch.where((power < 0) | (alpha < 1 / 255), 0, alpha)
                left = (1 - alpha).cumprod(0)
                alpha = torch.where(left <= 1e-4, 0, alpha)
                before = torch.cat([left.new_ones(1), (1 - alpha).cumprod(0)])
                weight = alpha * before[:-1]
                image.append(torch.cat([weight @ colours[0, row], 1 - before[-1:]]))
        return torch.stack(image).view(1, HEIGHT, WIDTH, 5)

    return (means, conics, colours, opacity), (starts, flat), right


SPLATS = dict(small=dict(n=100), production=dict(n=100000), rtol=1e-3, atol=1e-3, share=2e-3)


@repository.case(FILE, "rasterize_to_pixels_fwd_kernel", **SPLATS)
def pixels(file, device, n):
    parts, tiles, right = _pixels(n, device)

    def run():
        return torch.cat(file.rasterize_to_pixels(*parts, WIDTH, HEIGHT, TILE, *tiles), -1)

    return run, lambda: right(*(x.double() for x in parts))


# The gradients of means are added without a mask, also where a batch has no Gaussian.
@repository.case(FILE, "rasterize_to_pixels_bwd_kernel", finds="oob-atomic", **SPLATS)
def pixels_gradient(file, device, n):
    parts, tiles, right = _pixels(n, device)
    up = tm.normal(1, HEIGHT, WIDTH, 5, device=device)

    def ours(*leaves):
        return torch.cat(file.rasterize_to_pixels(*leaves, WIDTH, HEIGHT, TILE, *tiles), -1)

    return (
        lambda: tm.with_gradients(ours, up, *parts),
        lambda: tm.with_gradients(right, up, *parts, exact=True),
    )
