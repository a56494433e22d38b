"""DWDP: tokens in the order of their experts without a global sort, products of scaled FP8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("RustamSheoran/DWDP-Triton-MoE-Inference-Engine", "7a8e22fc6701711f20f39c2e39cdc38f1b082e05", packages={"DWDP": "."})  # fmt: skip


@repository.case("DWDP/dispatcher/kernels/triton.py", "_tile_histogram_kernel, _tile_local_start_kernel, _stable_tile_pack_kernel", small=dict(m=300, experts=10, k=3), production=dict(m=1 << 18, experts=128, k=8))  # fmt: skip
def dispatch(file, device, m, experts, k):
    weights, ids = tm.topk_ids(m, experts, k, device)
    weights, ids = weights.flatten(), ids.flatten()

    def run():
        return file.triton_counting_scatter_expert_major_dispatch(ids, weights, num_experts=experts, top_k=k)  # fmt: skip

    def want():
        order = ids.argsort(stable=True)
        counts = ids.bincount(minlength=experts)
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return counts, offsets, order, order.argsort(), ids[order], order // k, weights[order]

    return run, want


@repository.case("DWDP/merger/kernels/fused_merger.py", "_fused_token_merger_kernel", small=dict(m=20, k=3, d=100), production=dict(m=8192, k=8, d=2048))  # fmt: skip
def merge(file, device, m, k, d):
    x, weights = tm.normal(m * k, d, device=device), torch.rand(m * k).to(device)
    tokens = torch.randperm(m * k).to(device) // k

    def want():
        return torch.zeros(m, d, dtype=torch.float64, device=device).index_add_(0, tokens, x.double() * weights[:, None])  # fmt: skip

    return lambda: file.fused_triton_merge_tokens(x, weights, tokens, m), want


@repository.case("DWDP/executor/kernels/fp4_packing.py", "_unpack_nvfp4_kernel", small=dict(n=1000), production=dict(n=1 << 26), rtol=1e-3)  # fmt: skip
def unpack_4_bits(file, device, n):
    packed = tm.integers(0, 256, n, device=device, dtype=torch.uint8)
    scales = torch.rand(64).to(device)

    def want():
        # One scale for 256 bytes, and the same ones again after 64 of them.
        scale = scales[(torch.arange(n, device=device) // 256) % 64].double()
        low, high = (packed & 15).double() - 8, (packed >> 4).double() - 8
        return (torch.stack([low, high], -1) * scale[:, None]).flatten()

    return lambda: file.unpack_nvfp4_weights(packed, scales), want


@repository.case("DWDP/executor/kernels/fp8_microscaling.py", "_fp8_microscaled_gemm_kernel", small=dict(m=70, n=100, k=96), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def scaled_product(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(k, n, device=device)
    scales = [torch.rand(-(-x // 64)).to(device) * k**-0.5 for x in (m, n)]

    def want():
        rows, columns = (s.double().repeat_interleave(64) for s in scales)
        return (a.float().double() @ b.float().double()) * rows[:m, None] * columns[:n]

    return lambda: file.fp8_microscaled_gemm(a, b, *scales), want


@repository.case("DWDP/executor/kernels/fp8_tma.py", "_fp8_tma_microscaled_gemm", small=dict(m=70, n=200, k=304), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def tma_product(file, device, m, n, k):
    file.hopper_tma_supported = lambda _: True  # it asks where a tensor is
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    blocks = -(-k // 128)
    scales = torch.rand(m, blocks).to(device), torch.rand(-(-n // 128), blocks).to(device) * k**-0.5

    def want():
        rows = tm.dequantised_blocks(a, scales[0], 1, 128)
        return rows @ tm.dequantised_blocks(b, scales[1], 128, 128).T

    return lambda: file.fp8_tma_microscaled_gemm(a, b, *scales), want
