"""optimi: optimisers of one kernel each, with Kahan sums for bfloat16."""

from __future__ import annotations

import importlib

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("warner-benjamin/optimi", "17a3d5422f3e41bb8973e1e4c9b39206c0d93b6d", packages={"optimi": "."})  # fmt: skip


def _stepped(file, name, options):
    def build(module, device, n):
        starts = [tm.normal(s, device=device) for s in (n, n // 3 + 1)]
        grads = [[tm.normal(*s.shape, device=device) for s in starts] for _ in range(3)]

        def by(dtype, **more):
            leaves = [s.to(dtype).clone().requires_grad_() for s in starts]
            optimiser = getattr(importlib.import_module(f"optimi.{file}"), name)(leaves, lr=1e-2, foreach=False, **options, **more)  # fmt: skip
            for step in grads:
                for leaf, grad in zip(leaves, step, strict=True):
                    leaf.grad = grad.to(dtype)
                optimiser.step()
            return [leaf.detach() for leaf in leaves]

        return lambda: by(torch.float32, triton=True), lambda: by(torch.float64, triton=False)

    return build


for _file, _name, _options in (
    ("adam", "Adam", dict(weight_decay=0.01, decouple_wd=True)),
    ("adam", "Adam", dict(weight_decay=0.01, kahan_sum=True)),
    ("adan", "Adan", dict()),
    ("lion", "Lion", dict(weight_decay=0.1)),
    ("radam", "RAdam", dict(weight_decay=0.01)),
    ("ranger", "Ranger", dict(k=2)),
    ("sgd", "SGD", dict(momentum=0.9, weight_decay=0.01)),
    ("stableadamw", "StableAdamW", dict(weight_decay=0.01)),
):  # fmt: skip
    _build = _stepped(_file, _name, _options)
    repository.case(f"optimi/{_file}.py", f"_{_file}_kernel", small=dict(n=300), production=dict(n=1 << 24), rtol=1e-4, atol=1e-5, name=_file + "_kahan" * ("kahan_sum" in _options))(_build)  # fmt: skip
