"""auto-round: MXFP4 behind a Hadamard product, GPTQ products both ways, maps of sparse blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("intel/auto-round", "b9f3d0079d014c73a1ff009800c597b9bc3f2a36", packages={"auto_round": ".", "auto_round_extension": "."})  # fmt: skip
SPARGE = "auto_round_extension/ark/auto_round_kernel/sparge_preprocess_triton.py"
F16 = torch.float16
HADAMARD = torch.ones(1, 1)
for _ in range(5):
    HADAMARD = torch.kron(HADAMARD, torch.tensor([[1.0, 1.0], [1.0, -1.0]]))
HADAMARD = HADAMARD / 32**0.5


# Where a value is near the middle of two steps of FP4 the sum's order decides.
@repository.case("auto_round/algorithms/transforms/hadamard/utils/triton/mxfp4.py", "mxfp4_forward_kernel", small=dict(n=70), production=dict(n=1 << 20), rtol=1e-2, atol=1e-3, share=0.01)  # fmt: skip
def mxfp4(file, device, n):
    x, h = tm.normal(n, 32, device=device), HADAMARD.to(device)
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64, device=device)

    def want():
        y = x.double() @ h.double()
        scale = torch.exp2(y.abs().amax(1, keepdim=True).log2().floor() - 2) / 0.75
        above = (y / scale).abs()[..., None] > (levels[1:] + levels[:-1]) / 2
        return levels[above.sum(-1)] * scale * torch.where(y > 0, 1, -1)

    def run():  # without its wrapper, which wants a GPU
        out = torch.empty_like(x)
        file.mxfp4_forward_kernel[lambda meta: (-(-x.numel() // meta["BLOCK_SIZE"]),)](
            x, h, out, None, x.numel(), 32, 32, 0.75, False
        )
        return out

    return run, want


for _call in ("quant_matmul_248", "transpose_quant_matmul_248"):

    @repository.case("auto_round_extension/triton/triton_utils_zp/kernels.py", f"{_call}_kernel", small=dict(m=20, k=256, n=256), production=dict(m=512, k=4096, n=4096), rtol=1e-2, atol=1e-1, name=_call)  # fmt: skip
    def gptq(file, device, m, k, n, group=64, call=_call):
        is_turned = call.startswith("transpose")
        x = tm.normal(m, n if is_turned else k, device=device, dtype=F16)
        values, zeros = (torch.randint(16, (rows, n)) for rows in (k, k // group))
        scales = (torch.rand(k // group, n) / 50).to(F16)
        groups = torch.arange(k, dtype=torch.int32) // group
        args = tm.packed_int4(values, axis=0), scales, tm.packed_int4(zeros), groups
        args = [a.to(device) for a in args]
        rows = groups.long()
        exact = ((values - zeros[rows]).double() * scales[rows].double()).to(device)
        return (
            lambda: getattr(file, f"{call}_core")(x, *args, 4, 15),
            lambda: x.double() @ (exact.T if is_turned else exact),
        )


@repository.case(SPARGE, "_triton_bmm_pool_sim_simmean_fuse_quant_xpu", small=dict(b=1, h=2, n=150, d=64), production=dict(b=1, h=32, n=16384, d=128), atol=1e-2, rtol=1e-2)  # fmt: skip
def pooled_and_quantised(file, device, b, h, n, d, block=64):
    x = tm.normal(b, h, n, d, device=device, dtype=F16) + 1
    mean = x.float().mean(2, keepdim=True).to(F16)
    limits = torch.full((h,), 0.01, device=device)

    def run():
        pool, _, q, scales = file._get_pool_sim_triton_simmean_fuse_quant(x, mean, block, limits, "HND")  # fmt: skip
        return pool, q * scales.repeat_interleave(block, 2)[:, :, :n]

    def want():
        y = x.double() - mean.double()
        parts = y.split(block, 2)
        steps = [p.abs().amax((2, 3), keepdim=True) / 127 for p in parts]
        rounded = torch.cat([(p / s).round() * s for p, s in zip(parts, steps)], 2)
        return torch.stack([p.mean(2) for p in parts], 2), rounded

    return run, want


@repository.case(SPARGE, "_triton_fill_block_map_kernel", small=dict(h=2, q=5, k=8), production=dict(h=32, q=256, k=256))  # fmt: skip
def filled_map(file, device, h, q, k):
    given = (torch.rand(1, h, q, k) < 0.1).to(device)
    counts = torch.randint(k // 2, (1, h, q)).to(device)
    order = torch.rand(1, h, q, k).argsort().to(device)
    return (
        lambda: file._fill_block_map_triton(given, counts, order),
        lambda: file._fill_block_map_torch(given, counts, order),
    )


@repository.case(SPARGE, "_triton_block_map_to_lut_kernel", small=dict(h=2, q=5, k=20), production=dict(h=32, q=256, k=256))  # fmt: skip
def table_of_map(file, device, h, q, k):
    given = (torch.rand(1, h, q, k) < 0.3).to(device)

    def want():
        table = torch.zeros(1, h, q, k)
        for row in given.cpu().nonzero()[:, :3].unique(dim=0):
            at = given[tuple(row)].nonzero()[:, 0].cpu()
            table[tuple(row)][: len(at)] = at.diff(prepend=torch.zeros(1))
        return table, given.sum(-1)

    return lambda: file._block_map_lut_triton(given), want
