"""Lightning Thunder: cross entropy of classes and of probabilities, with weights and smoothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Lightning-AI/lightning-thunder", "1e22aacb1aef6e79718a5ca2f49ab91b993cb4ef",
    packages={"thunder": ""},
    stand_ins={
        "thunder.extend": {}, "thunder.torch": {},
        "thunder.executors.triton_utils": {
            "triton_version": lambda: "3.5", "is_triton_version_at_least": lambda _: True,
        },
    },
)  # fmt: skip
FILE = "thunder/executors/triton_crossentropy_impl.py"

for _name, _options in (
    ("plain", dict(ignore_index=3)),
    ("smoothed", dict(label_smoothing=0.1)),
    ("weighted_smoothed", dict(label_smoothing=0.1, weighted=True)),
    ("weighted", dict(weighted=True, reduction="sum")),
):

    @repository.case(FILE, "_forward, _class_indices_forward, _backward", small=dict(n=12, d=1500), production=dict(n=4096, d=32000), rtol=1e-4, atol=1e-6, name=f"of_classes_{_name}")  # fmt: skip
    def of_classes(file, device, n, d, options=_options):
        words = dict(options)
        weight = torch.rand(d).to(device) + 0.5 if words.pop("weighted", False) else None
        x, up = tm.normal(n, d, device=device), torch.tensor(1.5).to(device)
        target = torch.randint(0, d, (n,)).to(device)
        target[n // 2] = 3

        def exact(x):
            return F.cross_entropy(x, target, None if weight is None else weight.double(), **words)

        return (
            lambda: tm.with_gradients(lambda x: file.cross_entropy(x, target, weight, **words), up, x),
            lambda: tm.with_gradients(exact, up, x, exact=True),
        )  # fmt: skip


@repository.case(FILE, "_forward, _class_probs_forward, _backward", small=dict(n=12, d=1500), production=dict(n=4096, d=32000), rtol=1e-4, atol=1e-5)  # fmt: skip
def of_probabilities(file, device, n, d):
    x, target = tm.normal(n, d, device=device), tm.normal(n, d, device=device).softmax(-1)
    return (
        lambda: file.cross_entropy(x, target, label_smoothing=0.1),
        lambda: F.cross_entropy(x.double(), target.double(), label_smoothing=0.1),
    )
