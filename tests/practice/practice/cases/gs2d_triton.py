"""GS2d: splats copied to tiles, the ranges of the tiles, and their blending."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("WANGSSSSSSS/GS2d_Triton", "5d136d92e4204406d8abbdb7bb86bedfa7f13455", stand_ins={"pylab": {}})  # fmt: skip
FILE = "src/gs2d_forward.py"


@repository.case(FILE, "duplicate_renders, find_ranges", small=dict(n=40, tiles=5), production=dict(n=1 << 18, tiles=64), rtol=0, atol=0)  # fmt: skip
def splats_of_tiles(file, device, n, tiles):
    corner, size = torch.randint(0, tiles - 1, (n, 2)), torch.randint(1, 4, (n, 2))
    rects = torch.cat([corner, (corner + size).clamp(max=tiles)], -1)
    areas = (rects[:, 2:] - rects[:, :2]).prod(-1)
    sums, total = areas.cumsum(0).to(torch.int32).to(device), int(areas.sum())
    batch = torch.zeros(n, dtype=torch.int32, device=device)
    given = rects.to(torch.int16).to(device)

    def run():
        keys, values = (torch.full((total,), -1, dtype=torch.int32, device=device) for _ in range(2))  # fmt: skip
        ranges = torch.full((tiles, tiles, 2), -1, dtype=torch.int32, device=device)
        ranges[0, 0, 0] = 0
        file.duplicate_renders[(n // 4,)](n, 4, tiles, tiles, total, batch, sums, given, keys, values)  # fmt: skip
        ordered = keys.sort().values
        file.find_ranges[(-(-total // 4),)](total, 4, ordered, ranges)
        return keys, values, ranges

    def want():
        ids = torch.repeat_interleave(torch.arange(n), areas)
        step = torch.arange(total) - torch.repeat_interleave(areas.cumsum(0) - areas, areas)
        wide = (rects[:, 3] - rects[:, 1])[ids]
        tile = (rects[ids, 0] + step // wide) * tiles + rects[ids, 1] + step % wide
        counts = torch.bincount(tile, minlength=tiles * tiles)
        ends = counts.cumsum(0)
        ranges = torch.stack([ends - counts, ends], -1).masked_fill(counts[:, None] == 0, -1)
        return [x.to(device) for x in (tile << 8, ids, ranges.view(tiles, tiles, 2))]

    return run, want


@repository.case(FILE, "render", small=dict(n=20, tiles=3, count=5), production=dict(n=1 << 16, tiles=64, count=64), rtol=1e-3, atol=1e-4)  # fmt: skip
def blending(file, device, n, tiles, count):
    size = 16 * tiles - 3
    ids = torch.randint(0, n, (tiles * tiles, count))
    means, colors = torch.rand(n, 2) * size, torch.rand(n, 4)
    inverses = torch.rand(n, 4) / 100
    opacities = torch.rand(n) * 0.5
    begin = torch.arange(tiles * tiles) * count
    ranges = torch.stack([begin, begin + count], -1).to(torch.int32)
    given = [x.to(device) for x in (ranges, ids.to(torch.int32).flatten(), means, inverses, colors, opacities)]  # fmt: skip

    def run():
        images = torch.zeros(4, size, size, device=device)
        left = torch.zeros(size, size, device=device)
        file.render[(1, tiles, tiles)](ids.numel(), n, 16, 16, tiles, tiles, size, size, *given, images, left)  # fmt: skip
        return images, left

    def want():
        at = torch.arange(tiles * 16).double()
        y, x = (a.unflatten(0, (tiles, 16)) for a in (at, at))
        y = y[:, None, :, None].expand(tiles, tiles, 16, 16).reshape(tiles * tiles, 256)
        x = x[None, :, None, :].expand(tiles, tiles, 16, 16).reshape(tiles * tiles, 256)
        color, left = torch.zeros(tiles * tiles, 256, 4).double(), torch.ones(tiles * tiles, 256, 1).double()  # fmt: skip
        for i in ids.T:
            d1, d2 = x - means[i, :1].double() + 0.5, y - means[i, 1:].double() + 0.5
            a, b, c, e = inverses[i].double()[:, :, None].unbind(1)
            s = a * d1 * d1 + d1 * d2 * (b + c) + e * d2 * d2
            alpha = (opacities[i].double()[:, None] * torch.exp(-0.5 * s))[..., None]
            color += colors[i].double()[:, None] * alpha * left
            left = left * (1 - alpha)
        whole = torch.cat([color, left], -1).view(tiles, tiles, 16, 16, 5).permute(4, 0, 2, 1, 3)
        whole = whole.reshape(5, tiles * 16, tiles * 16)[:, :size, :size].to(device)
        return whole[:4], whole[4]

    return run, want
