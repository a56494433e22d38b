"""faster_triton: parts of Llama, number by number: an RMS norm and a rotation."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "jobbofhe/faster_triton",
    "0b3d5b6a8dba3da12d1e37d7da7d265aed4c5ae1",
    stand_ins={"utils.helpers": {}},
)
FILE = "kernels/triton_kernels.py"


@repository.case(FILE, "_rms_norm_kernel", small=dict(b=2, t=9, d=100), production=dict(b=2, t=2048, d=2048), rtol=1e-4, atol=1e-5)  # fmt: skip
def rms_norm(file, device, b, t, d):
    x, weight = tm.normal(b, t, d, device=device), tm.normal(d, device=device)
    return lambda: file.rms_norm(x, weight), lambda: tm.rms_norm(x, weight, 1e-5)


@repository.case(FILE, "_apply_rotary_pos_emb_kernel", small=dict(b=2, t=9, d=32), production=dict(b=32, t=4096, d=128), rtol=1e-5, atol=1e-5)  # fmt: skip
def rotation(file, device, b, t, d):
    q, k = (tm.normal(b, t, d, device=device) for _ in range(2))
    angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    cos, sin = angles.cos().to(device), angles.sin().to(device)

    def run():
        return file.apply_rotary_pos_emb(q, k, *(x.repeat(1, 2) for x in (cos, sin)))

    return run, lambda: [tm.rotated(x, cos, sin) for x in (q, k)]
