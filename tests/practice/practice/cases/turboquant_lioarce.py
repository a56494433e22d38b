"""turboquant-implementation: numbers of the nearest centroids, packed into bytes, and back."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "lioarce01/turboquant-implementation",
    "58e97c5d5e506936c7103ad51c191d97d17956d3",
)
SIZES = dict(small=dict(n=20, d=96, bits=4), production=dict(n=262144, d=128, bits=4))


def _centroids(bits, device):
    return torch.linspace(-2.1, 2.1, 1 << bits).half().to(device)


@repository.case("src/triton_kernels.py", "_quantize_and_pack_kernel", share=1e-3, **SIZES)
def nearest_packed(file, device, n, d, bits):
    x, table = tm.normal(n, d, device=device, dtype=torch.float16), _centroids(bits, device)

    def want():
        ids = (x[..., None] - table).abs().argmin(-1)
        return ids[:, ::2] | ids[:, 1::2] << 4

    return lambda: file.turboquant_quantize_and_pack(x, table, bits), want


@repository.case("src/triton_kernels.py", "_unpack_and_lookup_kernel", **SIZES)
def unpacked(file, device, n, d, bits):
    packed = tm.integers(0, 256, n, d // 2, device=device, dtype=torch.uint8)
    table = _centroids(bits, device)

    def want():
        return table[torch.stack([packed & 15, packed >> 4], -1).flatten(1).long()]

    return lambda: file.turboquant_unpack_and_lookup(packed, table, bits, d), want
