"""fwht: Walsh-Hadamard transforms by products with small matrices that are made on the spot."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "arthurfeeney/fwht", "9fcb9fe8dfac000bbebed001809b02b49a55dcdc", packages={"fwht": "."},
)  # fmt: skip


def _hadamard(n):
    rows = torch.arange(n)
    bits = rows[:, None] & rows
    for shift in (16, 8, 4, 2, 1):
        bits = bits ^ bits >> shift
    return 1.0 - 2.0 * (bits & 1).double()


def _transform(name, dtype, **sizes):
    def build(file, device, m, n):
        x = tm.normal(m, n, device=device, dtype=dtype)
        return (
            lambda: file.fwht(x, n**-0.5),
            lambda: x.double() @ _hadamard(n).to(device) * n**-0.5,
        )

    repository.case("fwht/kernel/_fwht_triton.py", "fwht_256_kernel, fwht_256_2step_kernel, build_H", **sizes, rtol=2e-2, atol=2e-2, name=name)(build)  # fmt: skip


_transform("three_products", torch.float16, small=dict(m=3, n=4096), production=dict(m=16384, n=4096))  # fmt: skip
_transform("two_products_and_sums", torch.float16, small=dict(m=5, n=1024), production=dict(m=32768, n=2048))  # fmt: skip
_transform("in_float32", torch.float32, small=dict(m=5, n=512), production=dict(m=32768, n=1024))
