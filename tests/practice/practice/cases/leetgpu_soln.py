"""leetgpu_soln: solutions of leetgpu: stencils, recurrences, hashes, counts, products, attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("bluecoffee8/leetgpu_soln", "30cdb32e386c708ef748d35f9b4f04a7ef60c980")


def solution(kernels, small, production, file="", finds="", **tolerances):
    """A case from a function ``(device, **sizes)`` that gives the arguments of ``solve``, the place
    of its result among them, and what is right."""

    def decorate(make):
        def build(file, device, **sizes):
            args, place, want = make(device, **sizes)

            def run():
                given = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]
                file.solve(*given)
                return given[place]

            return run, want

        name = file or make.__name__.strip("_")
        return repository.case(
            f"triton/{name}.py", kernels, small=small, production=production, name=name,
            finds=finds, **tolerances,
        )(build)  # fmt: skip

    return decorate


@solution("jacobi_stencil", dict(r=70, c=90), dict(r=8192, c=8192), "2d_jacobi_stencil")
def jacobi(device, r, c):
    x = tm.normal(r, c, device=device)

    def want():
        y = x.double().clone()
        inner = x.double()
        y[1:-1, 1:-1] = (
            inner[:-2, 1:-1] + inner[2:, 1:-1] + inner[1:-1, :-2] + inner[1:-1, 2:]
        ) / 4
        return y

    return (x, torch.empty_like(x), r, c), 1, want


@solution("max2dpool_kernel", dict(n=2, c=3, h=20, w=30), dict(n=8, c=64, h=224, w=224), "2d_max_pool")  # fmt: skip
def max_pool(device, n, c, h, w):
    x = tm.normal(n, c, h, w, device=device)
    want = F.max_pool2d(x.double(), 3, 2, 1)
    return (x, torch.empty_like(want, dtype=x.dtype), n, c, h, w, 3, 2, 1), 1, lambda: want


@solution("moment, batch_norm", dict(n=300, c=70), dict(n=10000, c=1024), rtol=1e-4, atol=1e-4)
def batchnorm(device, n, c):
    x, gamma, beta = (tm.normal(*s, device=device) for s in ((n, c), (c,), (c,)))
    args = x, gamma, beta, torch.empty_like(x), n, c, 1e-5
    return (
        args,
        3,
        lambda: F.batch_norm(
            x.double(), None, None, gamma.double(), beta.double(), True, 0.0, 1e-5
        ),
    )


@solution("compute_sum, compute_label_sum, compute_loss", dict(n=300, c=70), dict(n=10000, c=1024), rtol=1e-4)  # fmt: skip
def cat_ce_loss(device, n, c):
    x, y = tm.normal(n, c, device=device), tm.integers(0, c, n, device=device)
    return (x, y, x.new_zeros(1), n, c), 2, lambda: F.cross_entropy(x.double(), y)[None]


@solution("softmax_attn", dict(m=70, d=64), dict(m=5000, d=128), rtol=2e-3, atol=2e-3)
def causal_self_attn(device, m, d):
    q, k, v = tm.normal(3, m, d, device=device)
    args = q, k, v, torch.empty_like(q), m, d
    return args, 3, lambda: tm.attention(q[None], k[None], v[None], causal=True)[0][0]


@solution("invert_kernel", dict(w=70, h=30), dict(w=4096, h=5120))
def color_inversion(device, w, h):
    x = tm.integers(0, 256, h * w, 4, device=device, dtype=torch.uint8)

    def want():
        y = 255 - x
        y[:, 3] = x[:, 3]
        return y.flatten()

    return (x.flatten(), w, h), 0, want


# The mask covers the window's first element only: the last block reads up to k - 1 past the end.
@solution("conv1d_kernel", dict(n=3000, k=30), dict(n=1500000, k=2047), finds="oob-load", rtol=1e-3, atol=1e-3)  # fmt: skip
def conv1d(device, n, k):
    x, w = tm.normal(n, device=device), tm.normal(k, device=device)
    args = x, w, x.new_empty(n - k + 1), n, k
    return args, 2, lambda: F.conv1d(x.double()[None, None], w.double()[None, None])[0, 0]


@solution("conv2d_kernel", dict(r=50, c=60, a=5, b=7), dict(r=3072, c=3072, a=15, b=15), rtol=1e-4, atol=1e-4)  # fmt: skip
def conv2d(device, r, c, a, b):
    x, w = tm.normal(r, c, device=device), tm.normal(a, b, device=device)
    args = x, w, x.new_empty(r - a + 1, c - b + 1), r, c, a, b
    return args, 2, lambda: F.conv2d(x.double()[None, None], w.double()[None, None])[0, 0]


@solution("conv3d_kernel", dict(n=12, k=3), dict(n=256, k=5), rtol=1e-4, atol=1e-4)
def conv3d(device, n, k):
    x, w = tm.normal(n, n + 1, n + 2, device=device), tm.normal(k, k, k, device=device)
    args = x, w, x.new_empty(n - k + 1, n - k + 2, n - k + 3), n, n + 1, n + 2, k, k, k
    return args, 2, lambda: F.conv3d(x.double()[None, None], w.double()[None, None])[0, 0]


@solution("count2d_kernel", dict(n=90, m=70), dict(n=10000, m=10000))
def count_2d_array_element(device, n, m):
    x = tm.integers(1, 9, n, m, device=device, dtype=torch.int32)
    return (x, x.new_zeros(1), n, m, 3), 1, lambda: (x == 3).sum()[None]


@solution("dot_kernel", dict(n=3000), dict(n=100000000), rtol=1e-2, atol=1e-1)
def dot_product_fp16(device, n):
    a, b = tm.normal(2, n, device=device, dtype=torch.float16)
    return (a, b, a.new_zeros(1), n), 2, lambda: (a.double() * b.double()).sum()[None]


# Triton takes a minute for blocks of 256 by 256, too.
HUGE = dict.fromkeys(("gpu-compile", "ptx"), "8192 elements of a block of 1024 by 1024 for a thread")  # fmt: skip


@solution("gaussian_blur_kernel", dict(r=20, c=30), dict(r=2048, c=2048), rtol=1e-4, atol=1e-4, not_in=HUGE)  # fmt: skip
def gaussian_blur(device, r, c):
    x, w = tm.normal(r, c, device=device), torch.rand(5, 7).to(device)
    args = x, w, torch.empty_like(x), r, c, 5, 7
    return (
        args,
        2,
        lambda: F.conv2d(x.double()[None, None], w.double()[None, None], padding=(2, 3))[0, 0],
    )


@solution("geglu", dict(n=3000), dict(n=10000000), rtol=1e-4)
def geglu(device, n):
    x = tm.normal(n, device=device)
    a, b = x.double().chunk(2)
    return (x, x.new_empty(n // 2), n), 1, lambda: a * F.gelu(b)


@solution("matrix_multiplication_kernel", dict(m=70, k=80, n=90), dict(m=4096, k=4096, n=4096), rtol=2e-3, atol=2e-2)  # fmt: skip
def gemm(device, m, k, n):
    a, b, c = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, n), (n, k), (m, k)))
    args = a, b, c, m, k, n, 1.5, 0.5
    return args, 2, lambda: 1.5 * (a.double() @ b.double()) + 0.5 * c.double()


@solution("gqa", dict(h=4, g=2, n=70, d=64), dict(h=32, g=8, n=2048, d=128), rtol=2e-3, atol=2e-3)
def gqa(device, h, g, n, d):
    q, k, v = (tm.normal(x, n, d, device=device) for x in (h, g, g))
    return (q, k, v, torch.empty_like(q), h, g, n, d), 3, lambda: tm.attention(q, k, v)[0]


@solution("histogram_kernel", dict(n=5000, bins=100), dict(n=50000000, bins=1024))
def histogram(device, n, bins):
    x = tm.integers(0, bins, n, device=device, dtype=torch.int32)
    return (x, x.new_zeros(bins), n, bins), 1, lambda: torch.bincount(x.long(), minlength=bins)


@solution("interleave_kernel", dict(n=3000), dict(n=50000000))
def interleave(device, n):
    a, b = tm.normal(2, n, device=device)
    return (a, b, a.new_empty(2 * n), n), 2, lambda: torch.stack([a, b], 1).flatten()


@solution("lin_rec_kernel", dict(b=3, n=5000), dict(b=64, n=65536), rtol=1e-4, atol=1e-4)
def linear_recurrence(device, b, n):
    a, x = torch.rand(b, n).to(device), tm.normal(b, n, device=device)

    def want():
        h, out = x.new_zeros(b, dtype=torch.float64), []
        for i in range(n):
            h = a[:, i].double() * h + x[:, i].double()
            out.append(h)
        return torch.stack(out, 1)

    return (a, x, torch.empty_like(x), b, n), 2, want


@solution("matrix_multiplication_kernel_grouped", dict(m=71, n=80, k=90), dict(m=4001, n=4000, k=4000), rtol=2e-3, atol=2e-1)  # fmt: skip
def matmul(device, m, n, k):
    a, b = tm.normal(m, n, device=device), tm.normal(n, k, device=device)
    return (a, b, a.new_empty(m, k), m, n, k), 2, lambda: a.double() @ b.double()


@solution("matrix_multiplication_kernel", dict(m=70, k=80, n=90), dict(m=4096, k=4096, n=4096), atol=1)  # fmt: skip
def matmul_int8(device, m, k, n):
    a, b = (tm.integers(-128, 128, *s, device=device, dtype=torch.int8) for s in ((m, n), (n, k)))
    args = a, b, a.new_empty(m, k), m, k, n, 0.1, 0.2, 20.0, 3, -5, 7

    def want():
        x = (a.double() - 3) @ (b.double() + 5) * (0.1 * 0.2 / 20.0)
        return (x.round() + 7).clamp(-128, 127)

    return args, 2, want


@solution("matrix_transpose_kernel", dict(r=70, c=90), dict(r=7000, c=6000))
def matrix_transpose(device, r, c):
    x = tm.normal(r, c, device=device)
    return (x, x.new_empty(c, r), r, c), 1, lambda: x.T


@solution("max_subarray_sum", dict(n=9000, w=20), dict(n=50000, w=4000))
def max_subarray_sum(device, n, w):
    x = tm.integers(-10, 11, n, device=device, dtype=torch.int32)
    sums = F.pad(x.long().cumsum(0), (1, 0))
    return (x, x.new_zeros(1), n, w), 1, lambda: (sums[w:] - sums[:-w]).max()[None]


@solution("mha", dict(n=70, d=128, h=2), dict(n=1024, d=1024, h=16), rtol=2e-3, atol=2e-3)
def mha(device, n, d, h):
    q, k, v = tm.normal(3, n, d, device=device)
    heads = [x.unflatten(1, (h, -1)).transpose(0, 1) for x in (q, k, v)]
    want = tm.attention(*heads)[0].transpose(0, 1).flatten(1)
    return (q, k, v, torch.empty_like(q), n, d, h), 3, lambda: want


@solution("partial_sum_kernel, prefix_sum_kernel", dict(n=5000), dict(n=1000000), rtol=1e-3, atol=1e-2)  # fmt: skip
def prefix_sum(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x.double().cumsum(0)


@solution("fnv1a_hash_kernel, fnv1a_hash", dict(n=3000, r=5), dict(n=10000000, r=50))
def rainbow_table(device, n, r):
    x = tm.integers(0, 1 << 31, n, device=device, dtype=torch.int32)

    def want():
        h = x.long()
        for _ in range(r):
            y, h = h, torch.full_like(h, 2166136261)
            for i in range(4):
                h = ((h ^ ((y >> (8 * i)) & 255)) * 16777619) & 0xFFFFFFFF
        return torch.where(h >= 1 << 31, h - (1 << 32), h)

    return (x, torch.empty_like(x), n, r), 1, want


# Of an odd number the middle would be stored from a masked lane.
@solution("reverse_kernel", dict(n=3000), dict(n=25000000))
def reverse_array(device, n):
    x = tm.normal(n, device=device)
    return (x, n), 0, lambda: x.flip(0)


@solution("moment, rms_norm", dict(n=3000), dict(n=1000000), rtol=1e-4)
def rmsnorm(device, n):
    x = tm.normal(n, device=device)
    args = x, 1.5, 0.25, torch.empty_like(x), n, 1e-5
    return args, 3, lambda: tm.rms_norm(x, None, 1e-5) * 1.5 + 0.25


@solution("rope_kernel", dict(m=70, d=128), dict(m=100000, d=256), rtol=1e-4, atol=1e-4)
def rope(device, m, d):
    q, angles = tm.normal(m, d, device=device), torch.rand(m, d // 2).to(device)
    cos, sin = (f(angles).repeat(1, 2) for f in (torch.cos, torch.sin))
    want = tm.rotated(q, cos[:, : d // 2], sin[:, : d // 2])
    return (q, cos, sin, torch.empty_like(q), m, d), 3, lambda: want


@solution("max_kernel, sumexp_kernel, softmax_kernel", dict(n=5000), dict(n=500000), rtol=1e-4)
def softmax(device, n):
    x = tm.normal(n, device=device)
    return (x, torch.empty_like(x), n), 1, lambda: x.double().softmax(0)


@solution("sgemm_kernel", dict(m=70, n=90), dict(m=10000, n=10000), rtol=1e-3, atol=3e-2)
def sparse_matrix_vector_mul(device, m, n):
    a, x = tm.normal(m, n, device=device) * (torch.rand(m, n) < 0.3).to(device), tm.normal(n, device=device)  # fmt: skip
    return (a, x, x.new_zeros(m), m, n, 0), 2, lambda: a.double() @ x.double()


@solution("subarray_3d_sum", dict(n=6, m=7, k=30), dict(n=500, m=500, k=500))
def subarray_3d_sum(device, n, m, k):
    x = tm.integers(1, 11, n, m, k, device=device, dtype=torch.int32)
    args = x, x.new_zeros(1), n, m, k, 1, n - 2, 2, m - 1, 3, k - 4
    return args, 1, lambda: x[1 : n - 1, 2:m, 3 : k - 3].long().sum()[None]


@solution("topk", dict(n=3000, k=20), dict(n=50000000, k=100))
def topk_selection(device, n, k):
    x = tm.normal(n, device=device)
    return (x, x.new_empty(k), n, k), 1, lambda: x.topk(k).values


@solution("weight_dequant", dict(m=70, n=90, t=16), dict(m=8192, n=8192, t=128))
def weight_dequant(device, m, n, t):
    x, s = tm.normal(m, n, device=device), torch.rand(-(-m // t), -(-n // t)).to(device)
    return (x, s, torch.empty_like(x), m, n, t), 2, lambda: tm.dequantised_blocks(x, s, t, t)
