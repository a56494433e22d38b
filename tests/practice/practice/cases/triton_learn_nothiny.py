"""triton-learn of nothiny: norms, pools and scans, and products whose programs share out k."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("nothiny/triton-learn", "da9242476d7498df577e57641dd063bc65fc92d4", stand_ins={"utils.profiler": {}})  # fmt: skip
FIRST, SECOND = "phase1_fundamentals/", "phase2_compute/"


@repository.case(FIRST + "23_group_norm.py", "group_norm_kernel", small=dict(n=2, c=24, h=5, groups=3), production=dict(n=16, c=1024, h=64, groups=32), rtol=1e-4, atol=1e-4)  # fmt: skip
def group_norm(file, device, n, c, h, groups):
    x = tm.normal(n, c, h, h, device=device) + 0.3
    weight, bias = tm.normal(c, device=device), tm.normal(c, device=device)
    return (
        lambda: file.group_norm(x, groups, weight, bias),
        lambda: F.group_norm(x.double(), groups, weight.double(), bias.double()),
    )


@repository.case(FIRST + "20_gradient_clipping.py", "compute_norm_sq_kernel, scale_kernel", small=dict(n=3000), production=dict(n=1 << 26), rtol=1e-4)  # fmt: skip
def clip_gradients(file, device, n):
    xs = [tm.normal(n, device=device), tm.normal(n // 3, device=device)]

    def run():
        # What ``clip_grad_norm`` launches; it asks for the norm in between.
        square, out = torch.zeros(1, device=device), [torch.empty_like(x) for x in xs]
        for x in xs:
            file.compute_norm_sq_kernel[(-(-len(x) // 1024),)](x, square, len(x), BLOCK_SIZE=1024)
        for x, y in zip(xs, out, strict=True):
            file.scale_kernel[(-(-len(x) // 1024),)](x, y, 0.3, len(x), BLOCK_SIZE=1024)
        return square, *out

    return run, lambda: (torch.cat(xs).double().square().sum()[None], *(x.double() * 0.3 for x in xs))  # fmt: skip


@repository.case(FIRST + "19_cumsum.py", "cumsum_kernel, add_carry_kernel", small=dict(n=5000), production=dict(n=1 << 26), rtol=1e-3, atol=1e-2)  # fmt: skip
def cumsum(file, device, n):
    x = tm.normal(n, device=device)
    return lambda: file.cumsum(x), lambda: x.double().cumsum(0)


@repository.case(FIRST + "41_max_pool1d.py", "max_pool1d_kernel", small=dict(n=3000, size=5, stride=2), production=dict(n=1 << 26, size=9, stride=4))  # fmt: skip
def max_pool(file, device, n, size, stride):
    x = tm.normal(n, device=device)
    return (
        lambda: file.max_pool1d(x, size, stride),
        lambda: F.max_pool1d(x.double()[None], size, stride)[0],
    )


@repository.case(FIRST + "26_rotary_embedding.py", "rope_kernel", small=dict(b=2, h=3, n=17, d=32), production=dict(b=4, h=32, n=4096, d=128), atol=1e-4)  # fmt: skip
def rope(file, device, b, h, n, d):
    x = tm.normal(b, h, n, d, device=device)
    angles = torch.rand(n, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)
    wide = [y.repeat_interleave(2, -1) for y in (cos, sin)]
    return (
        lambda: file.apply_rotary_emb(x, *wide),
        lambda: tm.rotated(x, cos, sin, interleaved=True),
    )


@repository.case(SECOND + "23_block_sparse_gemm.py", "block_sparse_gemm_kernel", small=dict(m=70, n=50, k=130, block=32), production=dict(m=4096, n=4096, k=4096, block=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def block_sparse(file, device, m, n, k, block):
    rows, columns = -(-m // block), -(-k // block)
    mask = (torch.rand(rows, columns) < 0.3).to(torch.int32).to(device)
    a = tm.normal(m, k, device=device, dtype=torch.float16, scale=k**-0.5)
    b = tm.normal(k, n, device=device, dtype=torch.float16)

    def want():
        kept = mask.repeat_interleave(block, 0)[:m].repeat_interleave(block, 1)[:, :k]
        return (a.double() * kept) @ b.double()

    return lambda: file.block_sparse_gemm(a, b, mask, rows, columns, block, block, block), want


def _product(name, file, kernel, run, dtype, **sizes):
    def build(file, device, m, n, k):
        a = tm.normal(m, k, device=device, dtype=dtype, scale=k**-0.5)
        b = tm.normal(k, n, device=device, dtype=dtype)
        return lambda: run(file, a, b), lambda: a.double() @ b.double()

    repository.case(SECOND + file, kernel, rtol=1e-2, atol=1e-2, name=name, **sizes)(build)


_product("split_k", "04_matmul_split_k.py", "matmul_split_k_kernel", lambda f, a, b: f.matmul_split_k(a, b, 8), torch.bfloat16, small=dict(m=70, n=150, k=300), production=dict(m=1024, n=1024, k=32768))  # fmt: skip
_product("stream_k", "10_matmul_stream_k.py", "stream_k_gemm_kernel", lambda f, a, b: f.matmul_stream_k(a, b), torch.float32, small=dict(m=70, n=150, k=300), production=dict(m=1024, n=1024, k=16384))  # fmt: skip


@repository.case(SECOND + "19_fused_linear_residual_norm.py", "fused_linear_norm_kernel", small=dict(m=70, n=256, k=96), production=dict(m=8192, n=2048, k=2048), rtol=1e-2, atol=2e-2)  # fmt: skip
def linear_residual_norm(file, device, m, n, k):
    x, w = tm.normal(m, k, device=device, dtype=torch.float16), tm.normal(k, n, device=device, dtype=torch.float16, scale=k**-0.5)  # fmt: skip
    bias, gamma, beta = (tm.normal(n, device=device, dtype=torch.float16) for _ in range(3))
    residual = tm.normal(m, n, device=device, dtype=torch.float16)

    def run():
        out, block = torch.empty_like(residual), dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=32)
        file.fused_linear_norm_kernel.fn[(-(-m // 64),)](x, w, bias, residual, gamma, beta, out, m, n, k, *x.stride(), *w.stride(), n, 1, n, 1, 1e-5, **block)  # fmt: skip
        return out

    def want():
        # Each 128 columns are normalised by themselves.
        y = (x.double() @ w.double() + bias.double() + residual.double()).unflatten(1, (-1, 128))
        return tm.layer_norm(y, None, None, 1e-5).flatten(1) * gamma.double() + beta.double()

    return run, want
