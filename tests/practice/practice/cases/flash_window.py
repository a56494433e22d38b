"""FlashWindowAttention: attention within the windows of an image, and its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("seungjun-Park/FlashWindowAttention", "c76d3e7e3daf7f1c1fe10f339942d2fa8bbdba7a", packages={"flash_swin_attn": "."}, inits=("flash_swin_attn.kernels",))  # fmt: skip
FILE = "flash_swin_attn/func_flash_swin.py"


def _attention(gradients, dtype):
    def build(file, device, b, h, n, d):
        q, k, v, up = (
            tm.normal(b, h, n, d, device=device, dtype=dtype, scale=0.5) for _ in range(4)
        )
        bias = tm.normal(h, n, n, device=device, dtype=torch.float32)

        def ours(*x):
            return file.flash_swin_attn_func(*x, 1.0)  # its gradients leave out the scale

        def right(q, k, v, bias):
            return (q @ k.mT + bias).softmax(-1) @ v

        if gradients:
            return (
                lambda: tm.with_gradients(ours, up, q, k, v, bias)[1:],
                lambda: tm.with_gradients(right, up.cpu(), *(x.cpu() for x in (q, k, v, bias)), exact=True)[1:],
            )  # fmt: skip
        return lambda: ours(q, k, v, bias), lambda: right(
            *(x.cpu().double() for x in (q, k, v, bias))
        )

    return build


for _name, _gradients, _dtype, _n in (
    ("forward_7", False, torch.float16, 49),
    ("forward_8_bf16", False, torch.bfloat16, 64),
    ("backward_7", True, torch.float16, 49),
    ("backward_12", True, torch.float16, 144),
):  # fmt: skip
    repository.case(FILE, f"_window_{'bwd' if _gradients else 'fwd'}_kernel", small=dict(b=2, h=2, n=min(_n, 64), d=32), production=dict(b=2048 if _n < 100 else 256, h=8, n=_n, d=32), rtol=2e-2, atol=5e-2, share=1e-3, name=_name)(_attention(_gradients, _dtype))  # fmt: skip
