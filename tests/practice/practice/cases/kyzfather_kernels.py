"""cuda-triton-kernels: one author's solutions, from scans and sorts to attention on int8 caches."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("kyzfather/cuda-triton-kernels", "ff7fc0420e2627eabacd816404d6c56b2ff0e82e")
F16 = torch.float16


@repository.case("attention/int8_kv_cache_attention.py", "int8_flash_decoding, flash_decoding_reduce", rtol=1e-2, atol=5e-3, small=dict(h=3, n=150, d=32), production=dict(h=64, n=16384, d=128))  # fmt: skip
def int8_decoding(file, device, h, n, d):
    q = tm.normal(h, d, device=device, dtype=F16)
    k, v = (tm.integers(-127, 128, h, n, d, device=device, dtype=torch.int8) for _ in range(2))
    k_scale, v_scale = ((torch.rand(h, n) * 0.02 + 0.01).to(F16).to(device) for _ in range(2))

    def run():
        out = torch.empty(h, d, device=device, dtype=F16)
        file.solve(q, k, v, k_scale, v_scale, out, h, n, d)
        return out

    def want():
        keys, values = (x.double() * s.double()[..., None] for x, s in ((k, k_scale), (v, v_scale)))
        return tm.attention(q[:, None], keys, values)[0][:, 0]

    return run, want


@repository.case("attention/linear_self_attention.py", "gemm_split_k, linear_attention", rtol=1e-2, atol=1e-2, small=dict(m=512, d=20), production=dict(m=65536, d=128))  # fmt: skip
def linear_attention(file, device, m, d):
    q, k, v = (tm.normal(m, d, device=device) for _ in range(3))

    def run():
        out = torch.empty(m, d, device=device)
        file.solve(q, k, v, out, m, d)
        return out

    def want():
        keys, queries = (F.elu(x.double()) + 1 for x in (k, q))
        return queries @ (keys.T @ v.double()) / (queries @ keys.sum(0) + 1e-6)[:, None]

    return run, want


@repository.case("attention/grouped_query_attention.py", "grouped_query_attention_v2", rtol=1e-2, atol=1e-2, small=dict(hq=4, hk=2, n=70, d=20), production=dict(hq=32, hk=8, n=4096, d=64))  # fmt: skip
def grouped_attention(file, device, hq, hk, n, d):
    q = tm.normal(hq, n, d, device=device)
    k, v = (tm.normal(hk, n, d, device=device) for _ in range(2))

    def run():
        out = torch.empty_like(q)
        file.solve(q, k, v, out, hq, hk, n, d)
        return out

    return run, lambda: tm.attention(q, k, v)[0]


@repository.case("attention/sliding_window_self_attention.py", "sliding_window_attention", rtol=1e-4, atol=1e-4, small=dict(n=100, d=20, window=17), production=dict(n=16384, d=64, window=512))  # fmt: skip
def window_attention(file, device, n, d, window):
    q, k, v = (tm.normal(n, d, device=device) for _ in range(3))

    def run():
        out = torch.empty_like(q)
        file.solve(q, k, v, out, n, d, window)
        return out

    def want():
        i = torch.arange(n, device=device)
        far = (i[:, None] - i).abs() > window
        bias = torch.zeros(n, n, device=device).masked_fill(far, float("-inf"))
        return tm.attention(q[None], k[None], v[None], bias=bias)[0][0]

    return run, want


@repository.case("moe/moe_topk_gating.py", "moe_topk_gating_kernel_register", small=dict(m=9, e=60, k=6), production=dict(m=131072, e=256, k=8))  # fmt: skip
def moe_gating(file, device, m, e, k):
    x = tm.normal(m, e, device=device)

    def run():
        weights = torch.empty(m, k, device=device)
        ids = torch.empty(m, k, device=device, dtype=torch.int32)
        file.launch(file.moe_topk_gating_kernel_register, x, weights, ids, m, e, k)
        return weights, ids

    def want():
        values, ids = x.double().topk(k)
        return values.softmax(-1), ids

    return run, want


@repository.case("quantization/int4_weight_only_quantized_matmul.py", "w4a16", rtol=2e-2, atol=2e-2, small=dict(m=50, n=70, k=256, group=64), production=dict(m=2048, n=4096, k=4096, group=128))  # fmt: skip
def int4_matmul(file, device, m, n, k, group):
    x = tm.normal(m, k, device=device, dtype=F16, scale=k**-0.5)
    w = tm.integers(0, 256, n, k // 2, device=device, dtype=torch.uint8)
    scales = (torch.rand(n, k // group) * 0.2 + 0.1).to(F16).to(device)

    def run():
        out = torch.empty(m, n, device=device, dtype=F16)
        file.solve(x, w, scales, out, m, n, k, group)
        return out

    def want():
        q = torch.stack([w >> 4, w & 15], -1).flatten(1).double() - 8
        return x.double() @ tm.dequantised_blocks(q, scales, group).T

    return run, want


@repository.case("sampling_decoding/topk_selection.py", "topk_kernel", small=dict(n=9000, k=10), production=dict(n=1 << 24, k=64))  # fmt: skip
def topk(file, device, n, k):
    x = tm.normal(n, device=device)

    def run():
        out = torch.empty(k, device=device)
        file.solve(x, out, n, k)
        return out

    return run, lambda: x.topk(k).values


@repository.case("basic_primitives/prefix_sum.py", "scan, add", small=dict(n=3000), production=dict(n=1 << 24))  # fmt: skip
def prefix_sum(file, device, n):
    x = tm.integers(-3, 4, n, device=device, dtype=torch.float32)

    def run():
        out = torch.empty_like(x)
        file.solve(x, out, n)
        return out

    return run, lambda: x.double().cumsum(0)


@repository.case("normalization/batchnorm.py", "batch_norm_welford", rtol=1e-4, atol=1e-4, small=dict(n=70, c=200), production=dict(n=4096, c=4096))  # fmt: skip
def batch_norm(file, device, n, c):
    x, weight, bias = (tm.normal(*shape, device=device) for shape in ((n, c), (c,), (c,)))

    def run():
        out = torch.empty_like(x)
        file.solve_welford(x, weight, bias, out, n, c, 1e-5)
        return out

    def want():
        w, b = weight.double(), bias.double()
        return F.batch_norm(x.double(), None, None, w, b, training=True, eps=1e-5)

    return run, want


@repository.case("gemm/lora_linear.py", "split_k_gemm, lora_fused_kernel", rtol=1e-2, atol=1e-2, small=dict(m=40, k=256, n=70, rank=20), production=dict(m=2048, k=4096, n=4096, rank=64))  # fmt: skip
def lora_linear(file, device, m, k, n, rank):
    x = tm.normal(m, k, device=device, scale=k**-0.5)
    w, a, b = (tm.normal(*shape, device=device) for shape in ((n, k), (rank, k), (n, rank)))

    def run():
        out = torch.empty(m, n, device=device)
        file.solve(x, w, a, b, out, m, k, n, rank, 0.5)
        return out

    def want():
        wide = x.double()
        return wide @ w.double().T + wide @ a.double().T @ b.double().T * 0.5

    return run, want


@repository.case("convolution/1d_convolution.py", "conv1d_kernel", rtol=1e-4, atol=1e-4, small=dict(n=1000, k=9), production=dict(n=1 << 23, k=127))  # fmt: skip
def convolution(file, device, n, k):
    x, kernel = (tm.normal(size, device=device) for size in (n, k))

    def run():
        out = torch.empty(n - k + 1, device=device)
        file.solve(x, kernel, out, n, k)
        return out

    def want():
        return F.conv1d(x.double()[None, None], kernel.double()[None, None])[0, 0]

    return run, want
