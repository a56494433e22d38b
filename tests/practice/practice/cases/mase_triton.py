"""mase-triton: small floats taken apart and put together, random flips of bits."""

from __future__ import annotations

import importlib

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "DeepWok/mase-triton",
    "89e8db71d10a3187c3fd09dad2c1c0fca3bb08d9",
    packages={"mase_triton": "src"},
)
CAST = "src/mase_triton/minifloat/kernels/cast.py"
SMALL, LARGE = dict(n=1000), dict(n=1 << 22)


def _meta(name):
    return getattr(importlib.import_module("mase_triton.minifloat.meta"), name)


for _name in ("FP8_E4M3_fn", "FP6_E2M3_fn", "FP4_E2M1_fn"):

    def _back(file, device, n, name=_name):
        x, meta = tm.normal(n, device=device), _meta(name)
        fake = importlib.import_module("mase_triton.minifloat.fake")

        def run():
            parts = file.extract_minifloat_component(x, meta)
            return file.compose_minifloat_component(parts, meta, x.dtype)

        def want():
            parts = fake.extract_minifloat_component(x, meta)
            return fake.compose_minifloat_component(parts, meta, x.dtype)

        return run, want

    repository.case(CAST, "_extract_minifloat_component_kernel, _compose_minifloat_component_kernel", small=SMALL, production=LARGE, name=_name.lower())(_back)  # fmt: skip
