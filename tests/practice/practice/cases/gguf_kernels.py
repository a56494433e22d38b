"""gguf-triton-kernel: a product with a matrix in llama.cpp's format of 8 bits."""

from __future__ import annotations

import importlib

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "PowerfulGhost/gguf-triton-kernel",
    "f16cb67af1156dbbce2431a753cf7b338d4c3a8a",
    packages={"kernels": ".", "utils": "."},
    stand_ins={"matplotlib": {}, "matplotlib.pyplot": {}},
)


@repository.case("kernels/mmq_q8_0.py", "mmq_q8_0_triton", small=dict(m=6, n=5, k=256), production=dict(m=64, n=64, k=1024), rtol=5e-2, atol=0.5)  # fmt: skip
def matmul_q8_0(file, device, m, n, k):
    packing = importlib.import_module("utils.quantize.q8_0")
    a, b = (tm.normal(x, k, device="cpu").half() for x in (m, n))
    packed = packing.quantize_to_q8_0(a)
    weights = packing.dequantize_q8_0(packed, a.shape)
    return (
        lambda: file.mmq_q8_0(packed.to(device), b.to(device), m, n, k),
        lambda: b.double() @ weights.double().T,
    )
