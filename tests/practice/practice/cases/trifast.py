"""trifast: triangle attention as a torch operator with gradients, by an autotuner of its own."""

from __future__ import annotations

import importlib.metadata
import tempfile

import torch

from practice import torch_math as tm
from practice.case import Repository

_version = importlib.metadata.version
importlib.metadata.version = lambda name: "0" if name == "trifast" else _version(name)

_configs = tempfile.TemporaryDirectory()  # what its autotuner keeps


def _rearrange(x, pattern, h=0, b=0):
    return x.flatten(0, 1) if pattern.startswith("b h") else x.unflatten(0, (b, h))


repository = Repository(
    "latkins/trifast",
    "c880ef8e648bfc8b8ac406b537de25723f7189ea",
    packages={"trifast": "src"},
    stand_ins={
        "einops": {"rearrange": _rearrange},
        "jaxtyping": {},
        "platformdirs": {"user_config_dir": lambda **_: _configs.name},
    },
)


@repository.case("src/trifast/torch.py", "_fwd, _bwd_q, _bwd_kv, _bwd_b", small=dict(b=1, h=2, n=40, d=32), production=dict(b=1, h=4, n=512, d=32), rtol=1e-2, atol=2e-2)  # fmt: skip
def triangle_attention(file, device, b, h, n, d):
    q, k, v, up = (tm.normal(b, h, n, n, d, device=device) for _ in range(4))
    bias = tm.normal(b, h, n, n, device=device)
    mask = (torch.rand(b, n, n) < 0.2).to(device)

    def right(q, k, v, bias):
        s = q @ k.mT * d**-0.5 + bias[:, :, None]
        return s.masked_fill(mask[:, None, :, None], -1e38).softmax(-1) @ v

    return (
        lambda: tm.with_gradients(lambda *x: file.triangle_attention(*x, mask), up, q, k, v, bias),
        lambda: tm.with_gradients(right, up, q, k, v, bias, exact=True),
    )
