"""BitMat: products of int8 with ternary weights, four of which are in a byte."""

from __future__ import annotations

import torch
import triton

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "astramind-ai/BitMat",
    "d5cfe41905f2c8a3e691e990315fd7a809ae5103",
    packages={"bitmat": "."},
    stand_ins={
        "bitmat.utils.custom_autotune": {
            "autotune": lambda configs, key, **more: triton.autotune(configs, key)
        },
    },
)


# Every program loads an element of the result, for its dtype alone, that another one stores.
@repository.case("bitmat/triton_kernels/bitmat_kernel.py", "_ternary_mm_kernel", rtol=1e-3, atol=1.0, finds="race-read-write", small=dict(m=64, n=64, k=128), production=dict(m=2048, n=4096, k=4096))  # fmt: skip
def ternary_matmul(file, device, m, n, k):
    x = tm.integers(-100, 101, m, k, device=device, dtype=torch.int8)
    w = tm.integers(-1, 2, k, n, device=device)
    bits = (w % 3).unflatten(0, (-1, 4))  # -1 is 2
    packed = sum(bits[:, i] << 2 * i for i in range(4)).to(torch.uint8).view(torch.int8)
    return lambda: file.bitmat_(x, packed), lambda: x.double() @ w.double()
