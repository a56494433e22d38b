"""triton-conv3d-from-scratch: one 3D convolution, optimised in steps."""

from __future__ import annotations

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Peihao-Ying/triton-conv3d-from-scratch", "02be3961fef94c94b2e66dead87521ff38825d08")  # fmt: skip
PLACE = "05_optimization/"


def _convolved(file, function, kernels, groups=1, kernel=3, strides=True, batch=2):
    def build(module, device, b, c, o, shape):
        groups_ = c if groups == "depth" else groups
        x = tm.normal(b, c, *shape, device=device)
        w = tm.normal(o if groups_ != c else c, c // groups_, kernel, kernel, kernel, device=device)
        w = w / w[0].numel() ** 0.5
        bias = tm.normal(w.shape[0], device=device)
        how = [dict(padding=(1, 1, 1))]
        if strides:
            how.append(dict(stride=(2, 1, 2), padding=(0, 2, 1), dilation=(1, 2, 1)))
        more = {} if groups_ == 1 else dict(groups=groups_)
        return (
            lambda: [getattr(module, function)(x, w, bias, **h, **more) for h in how],
            lambda: [F.conv3d(x.double(), w.double(), bias.double(), groups=groups_, **h) for h in how],
        )  # fmt: skip

    name = function + (f"_{groups}" if groups != 1 else "")
    repository.case(file, kernels, small=dict(b=batch, c=8, o=12, shape=(5, 9, 8)), production=dict(b=batch, c=64, o=64, shape=(16, 56, 56)), rtol=1e-2, atol=2e-2, name=name)(build)  # fmt: skip


_convolved(
    "04_conv3d_implicit/conv3d_implicit.py", "conv3d_implicit", "conv3d_implicit_kernel", batch=1
)
_convolved(f"{PLACE}01_batch_parallel/conv3d_batch.py", "conv3d_batch", "conv3d_batch_kernel")
_convolved(f"{PLACE}02_autotuning/conv3d_autotuned.py", "conv3d_autotuned", "conv3d_autotuned_kernel", batch=1)  # fmt: skip
_convolved(f"{PLACE}03_reduce_index/conv3d_reduced_index.py", "conv3d_reduced_index", "conv3d_reduced_index_kernel", batch=1)  # fmt: skip
_convolved(
    f"{PLACE}04_shared_memory/conv3d_shared.py", "conv3d_shared", "conv3d_shared_kernel", batch=1
)
_convolved(f"{PLACE}05_winograd/conv3d_winograd.py", "conv3d_winograd", "batched_matmul_kernel", strides=False)  # fmt: skip
_convolved(f"{PLACE}conv3d_ultimate.py", "conv3d_ultimate", "conv3d_ultimate_kernel", groups=2)
_convolved(f"{PLACE}conv3d_ultimate.py", "conv3d_ultimate", "conv3d_depthwise_kernel", groups="depth")  # fmt: skip
