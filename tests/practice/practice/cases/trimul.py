"""gpumode-trimul: an entry of a competition, triangle multiplication with descriptors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "davidberard98/gpumode-trimul",
    "0c0633c731d2a10d310a40b81b66a59c8bcead17",
    stand_ins={"task": {}, "requests": {}},
)


@repository.case("impl.py", "two_mm_kernel, layernorm_kernel_first, layernorm_kernel_eltwise", small=dict(b=1, n=16, d=128, h=128), production=dict(b=1, n=256, d=128, h=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def triangle(file, device, b, n, d, h):
    x = tm.normal(b, n, n, d, device=device)
    mask = (torch.rand(b, n, n) < 0.8).float().to(device)
    model = file.TriMul(d, h).to(device)
    weights = {name: value.detach() for name, value in model.state_dict().items()}

    def want():
        with torch.no_grad():
            return model.double()(x.double(), mask.double())

    return lambda: file.custom_kernel((x, mask, weights, dict(dim=d, hidden_dim=h))), want
