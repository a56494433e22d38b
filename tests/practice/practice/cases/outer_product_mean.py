"""triton-kernels of SamuelStentz: the mean of outer products, as in AlphaFold."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("SamuelStentz/triton-kernels", "d516f29ee8e55ca23bfb30ed03e0cf58bf3e6ee9")


@repository.case("simple_outer_product_mean/kernel.py", "_mean_outer_product_fwd", small=dict(b=2, s=64, m=9, n=13), production=dict(b=2, s=512, m=1024, n=1024), rtol=1e-4, atol=1e-5)  # fmt: skip
def outer_product_mean(file, device, b, s, m, n):
    x, y, up = tm.normal(b, s, m, device=device), tm.normal(b, s, n, device=device), tm.normal(b, m, n, device=device)  # fmt: skip
    return (
        lambda: tm.with_gradients(file.FastOuterProductMeanFunction.apply, up, x, y),
        lambda: tm.with_gradients(lambda x, y: x.mT @ y / s, up.double(), x, y, exact=True),
    )
