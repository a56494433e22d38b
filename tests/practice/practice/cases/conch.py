"""conch: kernels for detection in point clouds and images, and for serving."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("stackav-oss/conch", "e2c5ecfe341574114fef0218dedb1dd0da1e71f2", packages={"conch": "."}, inits=("conch.platforms",))  # fmt: skip
OPS = "conch/ops/"
HALF = dict(rtol=2e-2, atol=2e-2)
BF16, FP16 = torch.bfloat16, torch.float16
ROWS, MANY = dict(m=13, n=300), dict(m=8192, n=8192)


@repository.case(f"{OPS}activation/silu_and_mul.py", "_silu_and_mul_kernel", small=ROWS, production=MANY, **HALF)  # fmt: skip
def silu_and_mul(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16)
    return lambda: file.silu_and_mul(x), lambda: tm.silu_mul(x)


@repository.case(f"{OPS}activation/gelu_tanh_and_mul.py", "_gelu_tanh_and_mul_kernel", small=ROWS, production=MANY, **HALF)  # fmt: skip
def gelu_and_mul(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device)

    def want():
        gate, up = x.double().chunk(2, -1)
        return F.gelu(gate, approximate="tanh") * up

    return lambda: file.gelu_tanh_and_mul(x), want


@repository.case(f"{OPS}normalization/rms_norm.py", "_rms_norm_kernel", small=ROWS, production=MANY, **HALF)  # fmt: skip
def rms_norms(file, device, m, n):
    x, r = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    w = tm.normal(n, device=device, dtype=BF16)

    def run():
        y, s = x.clone(), r.clone()
        got = file.fused_add_rms_norm(y, s, w, 1e-5)
        return file.rms_norm(x, w, 1e-5), y if got is None else got[0]

    return run, lambda: (tm.rms_norm(x, w, 1e-5), tm.rms_norm(x.double() + r.double(), w, 1e-5))


@repository.case(f"{OPS}normalization/gemma_rms_norm.py", "_gemma_rms_norm_inplace_kernel", small=ROWS, production=MANY, **HALF)  # fmt: skip
def gemma_rms_norm(file, device, m, n):
    x, r = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    w = tm.normal(n, device=device, dtype=BF16)
    return lambda: file.gemma_rms_norm(x.clone(), w, 1e-6, r)[0], lambda: tm.rms_norm((x + r), 1 + w.double(), 1e-6)  # fmt: skip


@repository.case(f"{OPS}embedding/rotary_embedding.py", "_rotary_embedding_kernel", small=dict(m=13, h=3, hk=1, d=64), production=dict(m=8192, h=32, hk=8, d=128), **HALF)  # fmt: skip
def rotary(file, device, m, h, hk, d):
    q, k = (tm.normal(m, n * d, device=device, dtype=FP16) for n in (h, hk))
    angles = torch.rand(4096, d // 2) * 6
    cache = torch.cat([angles.cos(), angles.sin()], -1).to(FP16).to(device)
    places = tm.integers(0, 4096, m, device=device)

    def want():
        cos, sin = cache[places].double()[:, None].chunk(2, -1)
        return [tm.rotated(x.view(m, -1, d), cos, sin).view(m, -1) for x in (q, k)]

    return lambda: file.rotary_embedding(places, q.clone(), k.clone(), d, cache), want


@repository.case(f"{OPS}quantization/int8.py", "_static_scaled_int8_quant_kernel", small=ROWS, production=MANY, share=1e-3)  # fmt: skip
def int8(file, device, m, n):
    x, scale = tm.normal(m, n, device=device), torch.tensor([0.021], device=device)
    return lambda: file.scaled_int8_quant(x, scale)[0], lambda: (x.double() / scale).clamp(-128, 127).trunc()  # fmt: skip


@repository.case(f"{OPS}quantization/fp8.py", "_static_scaled_fp8_quant_kernel", small=ROWS, production=MANY, share=1e-3)  # fmt: skip
def fp8(file, device, m, n):
    x, scale = tm.normal(m, n, device=device), torch.tensor([0.02], device=device)
    return lambda: file.scaled_fp8_quant(x, scale)[0], lambda: (x / scale).clamp(-448, 448).to(tm.FP8)  # fmt: skip


@repository.case(f"{OPS}vision/nms.py", "_create_iou_mask_kernel, _nms_suppression_kernel", small=dict(n=150), production=dict(n=4000))  # fmt: skip
def nms(file, device, n):
    corner, size = torch.rand(n, 2) * 100, torch.rand(n, 2) * 40 + 1
    boxes, scores = torch.cat([corner, corner + size], 1), torch.randperm(n).float()

    def want():
        order = scores.argsort(descending=True)
        b = boxes[order].double()
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        over = torch.min(b[:, None, 2:], b[None, :, 2:]) - torch.max(b[:, None, :2], b[None, :, :2])
        over = over.clamp(min=0).prod(-1)
        far = over / (area[:, None] + area - over) > 0.5
        keep = torch.ones(n, dtype=torch.bool)
        for i in range(n):
            if keep[i]:
                keep[i + 1 :] &= ~far[i, i + 1 :]
        return order[keep]

    b, s = boxes.to(device), scores.to(device)
    return lambda: file.nms(b, s, 0.5), want


@repository.case(f"{OPS}vision/voxelization.py", "generate_dense_voxels_triton_kernel, generate_voxels_triton_kernel", small=dict(n=700, cells=(9, 7, 2), most=6), production=dict(n=300000, cells=(432, 496, 1), most=20))  # fmt: skip
def voxels(file, device, n, cells, most):
    given = file.VoxelizationParameter((0.0, 0.0, 0.0), tuple(map(float, cells)), (1.0, 1.0, 1.0), most)  # fmt: skip
    points = (torch.rand(n, 4) * torch.tensor([*cells, 1]) * 1.1 - 0.04).to(device)

    def run():
        filled, features, places, counts = file.generate_voxels(points, given)
        rows = int(filled)
        x, y, z = places[:rows, :3].long().unbind(1)
        order = ((z * cells[1] + y) * cells[0] + x).argsort()
        # Atomics decide which points stay where there are too many: the counts tell no difference.
        few = counts[:rows][order] < most
        return filled, counts[:rows][order], features[:rows][order].double().sum(1)[few]

    def want():
        p = points.cpu()
        at = p[:, :3].floor().long()
        inside = ((at >= 0) & (at < torch.tensor(cells))).all(1)
        at, p = at[inside], p[inside].double()
        flat = (at[:, 2] * cells[1] + at[:, 1]) * cells[0] + at[:, 0]
        found, where, counts = flat.unique(return_inverse=True, return_counts=True)
        sums = torch.zeros(len(found), 4).double().index_add(0, where, p)
        return torch.tensor([len(found)]), counts.clamp(max=most), sums[counts < most]

    return run, want


def _bev(n, c, grid, device):
    b, z, x, y = grid
    cells = torch.randint(0, b * z * x * y, (n,)).sort().values
    kept, lengths = cells.unique_consecutive(return_counts=True)
    places = torch.stack([cells // y % x, cells % y, cells // (x * y) % z, cells // (x * y * z)], 1)
    starts = lengths.cumsum(0) - lengths
    return cells, [t.to(torch.int32).to(device) for t in (places, starts, lengths)]


GRID = dict(small=dict(n=300, c=20, grid=(2, 1, 7, 5)), production=dict(n=200000, c=80, grid=(4, 1, 128, 128)))  # fmt: skip


@repository.case(f"{OPS}vision/bev_pool.py", "_bev_pool_kernel", rtol=1e-4, atol=1e-4, **GRID)
def bev_pool(file, device, n, c, grid):
    cells, parts = _bev(n, c, grid, device)
    x, (b, z, w, h) = tm.normal(n, c, device=device), grid
    return (
        lambda: file.bev_pool(x, *parts, b, z, w, h),
        lambda: x.cpu().double().new_zeros(b * z * w * h, c).index_add(0, cells, x.cpu().double()).view(b, z, w, h, c),
    )  # fmt: skip


@repository.case(f"{OPS}vision/bev_pool.py", "_bev_pool_backward_kernel", **GRID)
def bev_pool_gradient(file, device, n, c, grid):
    cells, parts = _bev(n, c, grid, device)
    up = tm.normal(*grid, c, device=device)
    return lambda: file.bev_pool_backward(up, *parts), lambda: up.cpu().view(-1, c)[cells]


@repository.case(f"{OPS}vllm/copy_blocks.py", "_copy_blocks_kernel", small=dict(layers=2, pages=8, page=80), production=dict(layers=8, pages=512, page=16384), not_in={"ptx": "its pointers come from memory, which the machine gives none of"})  # fmt: skip
def copy_blocks(file, device, layers, pages, page):
    caches = [tm.normal(pages, page, device=device, dtype=BF16) for _ in range(2 * layers)]
    order = torch.randperm(pages)
    pairs = torch.stack([order[: pages // 2], order[pages // 2 :]], 1).to(device)

    def run():
        keys = [c.clone() for c in caches]
        file.copy_blocks(keys[:layers], keys[layers:], pairs)
        return keys

    def want():
        after = [c.clone() for c in caches]
        for c in after:
            c[pairs[:, 1]] = c[pairs[:, 0]]
        return after

    return run, want


@repository.case(f"{OPS}vllm/reshape_and_cache.py", "_reshape_and_cache_kernel", small=dict(m=20, pages=5, page=(8, 2, 40)), production=dict(m=8192, pages=1024, page=(16, 8, 128)))  # fmt: skip
def reshape_and_cache(file, device, m, pages, page):
    k, v = (tm.normal(m, *page[1:], device=device, dtype=BF16) for _ in range(2))
    slots = torch.randperm(pages * page[0])[:m].to(device)

    def run():
        caches = [torch.zeros(pages, *page, dtype=BF16, device=device) for _ in range(2)]
        file.reshape_and_cache(k, v, *caches, slots)
        return caches

    def want():
        rows = [torch.zeros(pages * page[0], *page[1:], dtype=BF16, device=device) for _ in range(2)]  # fmt: skip
        for row, x in zip(rows, (k, v), strict=True):
            row[slots] = x
        return [row.view(pages, *page) for row in rows]

    return run, want


def _paged(lengths, page, hk, d, device):
    """Caches of pages, and the table of pages: those of a sequence lie anywhere."""
    most = -(-max(lengths) // page)
    count = most * len(lengths)
    k, v = (tm.normal(count, page, hk, d, device=device, dtype=FP16) for _ in range(2))
    table = torch.randperm(count).view(len(lengths), most).to(torch.int32).to(device)
    return k, v, table


def _of(cache, table, row, length):
    return cache[table[row].long()].flatten(0, 1)[:length].transpose(0, 1)


@repository.case(f"{OPS}attention/paged_attention.py", "_paged_attention_compute_splits_kernel, _paged_attention_reduce_splits_kernel", small=dict(lengths=[70, 33, 5], page=16, h=4, hk=2, d=64), production=dict(lengths=[4096, 3000, 1234, 17] * 8, page=32, h=32, hk=8, d=128), **HALF)  # fmt: skip
def paged_attention(file, device, lengths, page, h, hk, d):
    k, v, table = _paged(lengths, page, hk, d, device)
    q = tm.normal(len(lengths), h, d, device=device, dtype=FP16)
    sizes = torch.tensor(lengths, dtype=torch.int32, device=device)

    def want():
        return torch.stack([tm.attention(q[i][:, None], _of(k, table, i, n), _of(v, table, i, n), softcap=30.0)[0][:, 0] for i, n in enumerate(lengths)])  # fmt: skip

    return lambda: file.paged_attention(q, k, v, table, sizes, softcap=30.0), want


def _varlen(queries, name):
    def build(file, device, lengths, page, h, hk, d):
        k, v, table = _paged(lengths, page, hk, d, device)
        counts = [min(n, queries) for n in lengths]
        q = tm.normal(sum(counts), h, d, device=device, dtype=FP16)
        sizes = torch.tensor(lengths, dtype=torch.int32, device=device)

        def want():
            return torch.cat([tm.attention(part.transpose(0, 1), _of(k, table, i, n), _of(v, table, i, n), causal=True)[0].transpose(0, 1) for i, (n, part) in enumerate(zip(lengths, q.split(counts), strict=True))])  # fmt: skip

        return lambda: file.varlen_attention(q, k, v, tm.starts(counts, device), max(counts), sizes, max(lengths), table, causal=True), want  # fmt: skip

    repository.case(f"{OPS}attention/varlen_attention.py", "_varlen_attention_compute_splits_kernel, _varlen_attention_reduce_splits_kernel, _load, _store", small=dict(lengths=[70, 33, 5], page=16, h=4, hk=2, d=64), production=dict(lengths=[4096, 3000, 1234, 17], page=32, h=32, hk=8, d=128), name=name, **HALF)(build)  # fmt: skip


_varlen(1 << 20, "varlen_prefill")
_varlen(1, "varlen_decode")


def _blockwise(kind, levels):
    def build(file, device, n, block):
        x = tm.normal(n, device=device)
        code = file._create_dynamic_map().to(device) if kind == "general_8bit" else None

        def run():
            packed, state = file.quantize_blockwise(x, code=code, blocksize=block, quant_type=kind)
            return file.dequantize_blockwise(packed, state, quant_type=kind, blocksize=block), state.absmax  # fmt: skip

        def want():
            rows = F.pad(x.double(), (0, -n % block)).view(-1, block)
            most = rows.abs().amax(1)
            table = (code.cpu() if code is not None else torch.tensor(levels)).double()
            scaled = (rows / most[:, None]).flatten()[:n].cpu()
            near = (scaled[:, None] - table).abs().argmin(1) if n < 10**5 else (table.sort().values[1:] + table.sort().values[:-1]).div(2).bucketize(scaled)  # fmt: skip
            return (table[near] * most.cpu().repeat_interleave(block)[:n]), most

        return run, want

    repository.case(f"{OPS}quantization/bitsandbytes/functional.py", f"_quantize_blockwise_kernel, _dequantize_blockwise_kernel, _{kind}_quantize, _{kind}_dequantize", small=dict(n=1000, block=64), production=dict(n=1 << 24, block=64), share=2e-3, name=kind)(build)  # fmt: skip


_blockwise("nf4", [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0])  # fmt: skip
_blockwise("fp4", [s * x for s in (-1, 1) for x in (0.0, 0.0052083333, 0.166666, 0.25, 0.333333, 0.5, 0.666666, 1.0)])  # fmt: skip
