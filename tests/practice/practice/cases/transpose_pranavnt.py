"""pranavnt's triton-kernels: transposes, by parts of rows and by tiles of which each row is one
load."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "pranavnt/triton-kernels",
    "e0045dc5b29cb43d6e44ea572a0f08d12d713e04",
    stand_ins={
        "triton_kernels.utils": {},
        "triton_kernels.transpose.v0": {},
        "triton_kernels.transpose.v1": {},
    },
)
FOLDER = "triton_kernels/transpose/"
SMALL, PRODUCTION = dict(m=50, n=70), dict(m=4096, n=5000)


@repository.case(FOLDER + "v1.py", "transpose_kernel", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def by_parts_of_rows(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.transpose_v1(x), lambda: x.T


@repository.case(FOLDER + "v2.py", "transpose_kernel", small=SMALL, production=PRODUCTION, rtol=0, atol=0)  # fmt: skip
def by_tiles(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.transpose_v2(x), lambda: x.T
