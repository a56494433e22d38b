"""triton-sinkhorn: doubly stochastic matrices by unrolled iterations, with gradients."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("LottoLottoLotto/triton-sinkhorn", "c5bd2f6dfe3a1c9b8b2be473aa569ed70b77139b", packages={"mhc": "."})  # fmt: skip


@repository.case("mhc/layer.py", "_mhc_sinkhorn_fwd_kernel, _mhc_sinkhorn_bwd_kernel", small=dict(b=7, n=3), production=dict(b=65536, n=4), rtol=1e-3, atol=1e-4)  # fmt: skip
def sinkhorn(file, device, b, n):
    w, up = (tm.normal(b, n, n, device=device) for _ in range(2))

    def right(w):
        for _ in range(5):
            w = w.log_softmax(2)
            w = w.log_softmax(1)
        return w.exp()

    return (
        lambda: tm.with_gradients(lambda w: file.MHCSinkhornFunction.apply(w, 5), up, w),
        lambda: tm.with_gradients(right, up, w, exact=True),
    )
