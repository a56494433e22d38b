"""Point Transformer V3, rewritten: a convolution of the voxels that are there, by a table of their
27 neighbours."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Mamannne/PTv3", "79bfdfe9434b5234726703b2034ee581d002152e")


@repository.case("kernels/triton_ops.py", "sparse_conv_kernel", small=dict(n=200, c=32, there=0.4), production=dict(n=1 << 17, c=64, there=0.35), rtol=1e-4, atol=1e-4)  # fmt: skip
def sparse_convolution(file, device, n, c, there):
    x = tm.normal(n, c, device=device)
    weights = tm.normal(27, c, c, device=device, scale=0.1)
    table = torch.randint(0, n, (n, 27), dtype=torch.int32)
    table[torch.rand(n, 27) > there] = -1
    table[:, 13] = torch.arange(n)
    table = table.to(device)

    def want():
        padded = torch.cat([x.double(), x.new_zeros(1, c, dtype=torch.float64)])
        return sum(padded[table[:, k].long()] @ weights[k].double() for k in range(27))

    return lambda: file.apply_sparse_conv(x, weights, table), want
