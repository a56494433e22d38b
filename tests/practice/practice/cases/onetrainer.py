"""OneTrainer: products of 8-bit matrices, whose second one may be turned."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("Nerogar/OneTrainer", "23df3832e8f213d64c337e39f9365ba46e99fed0")

for _dtype in (torch.int8, torch.float8_e4m3fn):
    for _turned in (False, True):

        @repository.case("modules/util/triton_mm_8bit.py", "_mm_kernel", small=dict(m=70, n=100, k=96), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2, name=f"product_{'int8' if _dtype == torch.int8 else 'fp8'}{'_turned' if _turned else ''}")  # fmt: skip
        def product(file, device, m, n, k, dtype=_dtype, turned=_turned):
            a, b = (torch.randint(-100, 100, s) for s in ((m, k), (n, k) if turned else (k, n)))
            a, b = ((x if dtype == torch.int8 else x / 25).to(dtype).to(device) for x in (a, b))
            b = b.T if turned else b
            wide = [x.float().double() for x in (a, b)]
            return lambda: file.mm_8bit(a, b), lambda: wide[0] @ wide[1]
