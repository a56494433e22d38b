"""jax-triton: the kernels of its examples, launched without JAX."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "jax-ml/jax-triton",
    "2e271999faaa95af2cc6c08d2a93e787746cab02",
    stand_ins={"jax": {}, "jax_triton": {}, "absl": {}},
)


def _product(name, dtype, rtol):
    @repository.case("examples/matmul.py", "matmul_kernel, relu", small=dict(m=128, n=256, k=64), production=dict(m=4096, n=4096, k=4096), rtol=rtol, atol=rtol, name=name)  # fmt: skip
    def build(file, device, m, n, k):
        """All sizes are constants, and names of constants are given new values."""
        a, b = (tm.normal(*s, device=device, dtype=dtype) for s in ((m, k), (k, n)))

        def run():
            c = torch.empty(m, n, device=device, dtype=dtype)
            file.matmul_kernel[(m // 128 * n // 256,)](
                a, b, c, m, n, k, k, 1, n, 1, n, 1, 128, 256, 32, 8, file.relu, num_warps=8,
                num_stages=3,
            )  # fmt: skip
            return c

        return run, lambda: (a.double() @ b.double()).relu()


_product("product", torch.float16, 1e-2)
_product("product_tf32", torch.float32, 1.0)
