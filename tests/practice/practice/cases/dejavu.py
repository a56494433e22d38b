"""DejaVu: products of a few vectors with those rows of a matrix that an index names."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("FMInference/DejaVu", "ee902c1a452d6fe9be6e917cae53b15087361945", folders=("Dejavu",), stand_ins={"einops": {}, "src.ops.triton.k_activations": {}})  # fmt: skip
FILE = "Dejavu/src/ops/triton/gather_gemv.py"
SIZES = dict(small=dict(b=2, n=256, z=300, m=70), production=dict(b=1, n=4096, z=16384, m=2048))
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case(FILE, "gather_gemv_kernel", **SIZES, **HALF)
def rows(file, device, b, n, z, m):
    x, w, bias = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((b, n), (z, n), (z,)))
    w, index = w / n**0.5, torch.randperm(z)[:m].to(device)

    def want():
        return x.double() @ w[index].double().T + bias[index].double()

    return lambda: file.gather_gemv(x, w, index, bias), want


@repository.case(FILE, "gather_transposed_gemv_kernel", **SIZES, **HALF)
def columns(file, device, b, n, z, m):
    x, w, bias = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((b, m), (z, n), (n,)))
    w, index = w / m**0.5, torch.randperm(z)[:m].to(device)
    return lambda: file.gather_transposed_gemv(x, w, index, bias), lambda: x.double() @ w[index].double() + bias.double()  # fmt: skip
