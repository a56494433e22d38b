"""stable-fast: group norm with activations and layer norm of diffusion models."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "chengzeyi/stable-fast",
    "2b9b84e9d94b36cf5484c261b410c177836ebffe",
    packages={"sfast": "src"},
    stand_ins={"sfast.utils.copy_func.types": {}},
)
OPS, HALF = "src/sfast/triton/ops/", torch.float16
IMAGE, IMAGES = dict(b=2, c=12, y=7, x=9), dict(b=2, c=320, y=64, x=64)


def group_norm(act, right):
    """Its kernel is made anew for each activation, from a function with other globals."""

    def build(file, device, b, c, y, x):
        image = tm.normal(b, c, y, x, device=device, dtype=HALF)
        weight, bias = (tm.normal(c, device=device, dtype=HALF) for _ in range(2))
        kernel = file.create_group_norm_4d_forward_kernel(act=getattr(file.activation, act))

        def run():
            out = torch.empty_like(image)
            mean, rstd = (torch.empty(b, 4, device=device, dtype=HALF) for _ in range(2))
            kernel[4, b](image, weight, bias, b, c, y * x, 4, 1e-5, out, mean, rstd)
            return out, mean

        def want():
            groups = image.double().view(b, 4, -1)
            norm = F.group_norm(image.double(), 4, weight.double(), bias.double(), 1e-5)
            return right(norm), groups.mean(-1)

        return run, want

    return build


for act, right in (("identity", lambda x: x), ("silu", F.silu)):
    repository.case(OPS + "group_norm.py", "group_norm_4d_forward_kernel", small=IMAGE, production=IMAGES, rtol=1e-2, atol=1e-2, name="group_norm_" + act)(group_norm(act, right))  # fmt: skip


@repository.case(OPS + "layer_norm.py", "_layer_norm_fwd_fused, _layer_norm_bwd_dx_fused, _layer_norm_bwd_dwdb", small=dict(m=9, n=70), production=dict(m=4096, n=1024), rtol=1e-3, atol=1e-3)  # fmt: skip
def layer_norm(file, device, m, n):
    x, up = (tm.normal(m, n, device=device) for _ in range(2))
    w, b = (tm.normal(n, device=device) for _ in range(2))
    return (
        lambda: tm.with_gradients(
            lambda x, w, b: file.layer_norm(x, (n,), w, b, 1e-5), up, x, w, b
        ),  # fmt: skip
        lambda: tm.with_gradients(
            lambda x, w, b: tm.layer_norm(x, w, b, 1e-5), up, x, w, b, exact=True
        ),  # fmt: skip
    )
