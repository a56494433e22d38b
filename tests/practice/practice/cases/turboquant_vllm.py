"""turboquant-vllm: products with weights that are numbers of centroids, in rotated groups."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "varjoranta/turboquant-vllm",
    "9311d914bb0b482cd3d4b1e26248648be142dcfb",
    packages={"turboquant_vllm": "."},
)


def _packed(codes, bits):
    """Codes along the last axis, with the first ones in the lowest bits."""
    if bits == 4:
        return codes[:, ::2] | codes[:, 1::2] << 4
    if bits == 2:
        return sum(codes[:, i::4] << (2 * i) for i in range(4))
    words = sum(codes[:, i::8] << (3 * i) for i in range(8))
    return torch.stack([words >> shift & 255 for shift in (0, 8, 16)], -1).flatten(1)


def _product(name, function, kernel, bits):
    def build(file, device, m, n, k, group):
        x = tm.normal(m, k, device=device, dtype=torch.float16)
        codes = tm.integers(0, 1 << bits, n * (k // group), group, device="cpu")
        packed = _packed(codes, bits).to(torch.uint8).to(device)
        codes = codes.to(device)
        norms = torch.rand(n, k // group).to(device) * k**-0.5
        signs = [(tm.integers(0, 2, group, device=device) * 2 - 1).float() for _ in range(2)]
        centroids = tm.normal(1 << bits, device=device, scale=group**-0.5)
        bias = tm.normal(n, device=device)

        def want():
            h = torch.ones(1, 1, device=device, dtype=torch.float64)
            while len(h) < group:
                h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
            first, second = (s.double() for s in signs)
            turned = (centroids.double()[codes] * second) @ h * group**-0.5 * first
            w = turned.view(n, k // group, group) * norms.double()[..., None]
            return x.double() @ w.flatten(1).T + bias.double()

        return lambda: getattr(file, function)(
            x, packed, norms, *signs, centroids, group_size=group, bits=bits, bias=bias
        ), want

    # Of the last three bytes of a row the kernels load a fourth one, which the last row has not.
    finds = "oob-load" if bits == 3 else ""
    repository.case("turboquant_vllm/triton_ops.py", kernel, name=name, finds=finds, rtol=1e-2, atol=1e-2, small=dict(m=5, n=70, k=256, group=64), production=dict(m=16, n=4096, k=4096, group=128))(build)  # fmt: skip


for _bits in 2, 3, 4:
    _product(f"weights_{_bits}bit", "_tq_fused_gemm_impl", "_tq_fused_gemm_kernel", _bits)
_product("turned_input_3bit", "_tq_fwht_input_gemm_impl", "_polar_fused_gemm_kernel", 3)
