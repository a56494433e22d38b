"""xLSTM in Triton: mLSTM by products with gradients, and by scans."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("LukasBluebaum/xLSTM-Triton-CUDA-Implementation", "18a924acc71132880fd7539691f56f501937c193", folders=(".",))  # fmt: skip


@repository.case("mlstm_matmul.py", "mlstm_matmul_kernel, mlstm_matmul_kernel_backward_db, mlstm_matmul_kernel_backward, mlstm_matmul_kernel_df", small=dict(b=1, h=2, s=64, d=32, block=16), production=dict(b=2, h=8, s=2048, d=64, block=32), rtol=5e-3, atol=5e-3)  # fmt: skip
def products(file, device, b, h, s, d, block):
    q, k, v, up = (tm.normal(b, h, s, d, device=device) for _ in range(4))
    f, i = (tm.normal(b, h, s, device=device) for _ in range(2))
    return (
        lambda: tm.with_gradients(lambda *x: file.Triton_mLSTM.apply(*x, block, 4), up, q, k, v, f, i),
        lambda: tm.with_gradients(file.mlstm_matmul_pytorch, up, q, k, v, f, i, exact=True),
    )  # fmt: skip


def _scans(file, device, b, h, s, d):
    q, k, v, o = (tm.normal(b, h, s, d, device=device) for _ in range(4))
    f, i = (tm.normal(b, h, s, device=device) for _ in range(2))

    def want():
        logs = F.logsigmoid(f.double()).cumsum(-1)
        logs = logs[..., :, None] - logs[..., None, :] + i.double()[..., None, :]
        logs = logs.masked_fill(~torch.ones(s, s, dtype=torch.bool, device=device).tril(), -torch.inf)  # fmt: skip
        most = logs.amax(-1, keepdim=True)
        weights = (logs - most).exp() * (q.double() @ k.double().mT) / d**0.5
        norm = torch.maximum(weights.sum(-1, keepdim=True).abs(), (-most).exp()) + 1e-6
        return F.silu(o.double()) * (weights / norm @ v.double())

    return lambda: file.mlstm_scan(q, k, v, f, i, o), want


SCANS = "stabilize_fi, precompute_mlstm_triton_scan, reduce_mlstm_triton, mlstm_triton_scan"
CLOSE = dict(rtol=5e-3, atol=5e-3)
repository.case("mlstm_scan.py", SCANS, small=dict(b=1, h=1, s=64, d=8), production=dict(b=1, h=1, s=2048, d=256), name="scans", **CLOSE)(_scans)  # fmt: skip
# Line 135 stores one number for each block of a head, at the offset of the head's first element of
# the sequence (line 102), which is right for the first head alone.
repository.case("mlstm_scan.py", SCANS, small=dict(b=1, h=2, s=64, d=8), production=dict(b=1, h=4, s=2048, d=256), name="scans_of_heads", finds="oob-store", **CLOSE)(_scans)  # fmt: skip
