"""Allegro: tensor products with sparse coefficients, by torch's custom operators, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "mir-group/allegro", "a52f451d5cce517ddcd80e6d95b585003fffdbcf",
    packages={"allegro": "."}, stand_ins={"allegro.nn._strided._contract": {"Contracter": object}},
)  # fmt: skip
NAMES = (
    "indptr_fwd l1s_fwd l2s_fwd indptr_bwd1 ks_bwd1 l2s_bwd1 indptr_bwd2 ks_bwd2 l1s_bwd2 vals_fwd "
    "vals_bwd1 vals_bwd2 p_to_nnz_mapper_fwd p_to_nnz_mapper_bwd1 p_to_nnz_mapper_bwd2"
).split()
ORDER = (
    "indptr_fwd indptr_bwd1 indptr_bwd2 l1s_fwd l2s_fwd vals_fwd p_to_nnz_mapper_fwd ks_bwd1 "
    "l2s_bwd1 vals_bwd1 p_to_nnz_mapper_bwd1 ks_bwd2 l1s_bwd2 vals_bwd2 p_to_nnz_mapper_bwd2"
).split()


for _mode, _dtype in (("p", torch.float32), ("up", torch.float32), ("up", torch.float64)):

    @repository.case("allegro/nn/_strided/_flashallegro.py", f"tensor_product_{_mode}_kernel", small=dict(b=21, u=9, i=9, j=4, k=9), production=dict(b=10000, u=64, i=16, j=16, k=16), rtol=1e-4, atol=1e-4, name=f"tensor_product_{_mode}_{str(_dtype)[6:]}")  # fmt: skip
    def tensor_product(file, device, b, u, i, j, k, mode=_mode, dtype=_dtype):
        paths = 3
        w3j, path = torch.randn(i, j, k, dtype=dtype), torch.randint(0, paths, (i, j, k))
        w3j = torch.where(torch.rand(i, j, k) < 0.2, w3j, 0) * torch.nn.functional.one_hot(path, paths).movedim(-1, 0)  # fmt: skip
        data = dict(zip(NAMES, file._initialize_metadata(w3j), strict=True))
        data = [data[name].to(device) for name in ORDER]
        x, y, up = (tm.normal(b, u, d, device=device, dtype=dtype) for d in (i, j, k))
        weights = tm.normal(*((u, paths) if mode == "up" else (paths,)), device=device, dtype=dtype)
        w3j = w3j.to(device)

        def ours(x, y):
            sizes = k, i, j, int(torch.count_nonzero(w3j))
            return torch.ops.triton.flashallegro_forward(x, y, mode, *data, weights, *sizes, dtype)

        def right(x, y):
            letters = "up" if mode == "up" else "p"
            return torch.einsum(f"pijk,bui,buj,{letters}->buk", w3j.double(), x, y, weights.double())  # fmt: skip

        return (
            lambda: tm.with_gradients(ours, up, x, y),
            lambda: tm.with_gradients(right, up, x, y, exact=True),
        )
