"""The kernels repository of triton-lang: cross entropy, matmul, attention, block-sparse products."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "triton-lang/kernels",
    "eeeebdd8be7d13629de22d600621e6234057eed3",
    packages={"kernels": "."},
    stand_ins={  # it asks nvidia-smi for the clock
        "kernels.matmul_perf_model": {
            "early_config_prune": lambda configs, *_, **__: configs[:3],
            "estimate_matmul_time": lambda **_: 1.0,
        }
    },
)


def _with_gradients(function, right, leaves, gradient):
    def of(function, dtype):
        given = [x.detach().to(dtype).requires_grad_() for x in leaves]
        out = function(*given)
        return out, *torch.autograd.grad(out, given, gradient.to(dtype))

    return lambda: of(function, leaves[0].dtype), lambda: of(right, torch.float64)


@repository.case("kernels/cross_entropy.py", "_forward, _backward", small=dict(m=9, n=300), production=dict(m=8192, n=32000), rtol=1e-4, atol=1e-5)  # fmt: skip
def cross_entropy(file, device, m, n):
    x, y = tm.normal(m, n, device=device), tm.integers(0, n, m, device=device)
    g = tm.normal(m, device=device)
    right = lambda x: F.cross_entropy(x, y, reduction="none")
    return _with_gradients(lambda x: file._cross_entropy.apply(x, y), right, [x], g)


@repository.case("kernels/matmul.py", "_kernel", small=dict(m=70, n=96, k=150), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=0.1)  # fmt: skip
def matmul(file, device, m, n, k):
    a, b = (
        tm.normal(m, k, device=device, dtype=torch.float16),
        tm.normal(k, n, device=device, dtype=torch.float16),
    )
    return lambda: file._matmul.apply(a, b, None, None, True, None), lambda: a.double() @ b.double()


@repository.case("kernels/flash_attention.py", "_fwd_kernel, _bwd_preprocess, _bwd_kernel", small=dict(b=1, h=2, n=256, d=64), production=dict(b=4, h=16, n=4096, d=64), rtol=3e-2, atol=3e-2)  # fmt: skip
def flash_attention(file, device, b, h, n, d):
    q, k, v, g = (
        tm.normal(b, h, n, d, device=device, dtype=torch.float16, scale=0.5) for _ in range(4)
    )
    right = lambda q, k, v: tm.attention(q, k, v, 0.5, causal=True)[0]
    return _with_gradients(
        lambda q, k, v: file._attention.apply(q, k, v, True, 0.5), right, [q, k, v], g
    )


@repository.case("kernels/blocksparse/matmul.py", "_sdd_kernel", small=dict(z=1, h=2, n=128, k=64), production=dict(z=2, h=16, n=2048, k=64), rtol=1e-2, atol=5e-2)  # fmt: skip
def block_sparse_result(file, device, z, h, n, k):
    """Only the blocks of the layout that are set."""
    layout = torch.randint(0, 2, (h, n // 16, n // 16))
    layout[:, 0, 0] = 1
    a, b = (tm.normal(z, h, *s, device=device, dtype=torch.float16) for s in ((n, k), (k, n)))
    heads, rows, columns = layout.nonzero(as_tuple=True)

    def want():
        c = (a.double() @ b.double()).view(z, h, n // 16, 16, n // 16, 16).transpose(3, 4)
        return c[:, heads, rows, columns]

    return lambda: file.matmul(layout, 16, "sdd", device=device)(a, b), want


@repository.case("kernels/blocksparse/matmul.py", "_dsd_kernel", small=dict(z=1, h=2, n=128, k=64), production=dict(z=2, h=16, n=2048, k=64), rtol=1e-2, atol=5e-2)  # fmt: skip
def block_sparse_operand(file, device, z, h, n, k):
    layout = torch.randint(0, 2, (h, n // 16, n // 16))
    layout[:, :, 0] = 1
    heads, rows, columns = layout.nonzero(as_tuple=True)
    a = tm.normal(z, len(heads), 16, 16, device=device, dtype=torch.float16)
    b = tm.normal(z, h, n, k, device=device, dtype=torch.float16)

    def want():
        dense = torch.zeros(z, h, n // 16, n // 16, 16, 16, dtype=torch.float64, device=device)
        dense[:, heads, rows, columns] = a.double()
        return dense.transpose(3, 4).reshape(z, h, n, n) @ b.double()

    return lambda: file.matmul(layout, 16, "dsd", device=device)(a, b), want


@repository.case("kernels/blocksparse/softmax.py", "_blocksparse_softmax_fwd", small=dict(z=1, h=2, n=128), production=dict(z=2, h=16, n=2048), rtol=1e-2, atol=1e-3)  # fmt: skip
def block_sparse_softmax(file, device, z, h, n):
    layout = torch.randint(0, 2, (h, n // 16, n // 16))
    layout[:, :, 0] = 1
    heads, rows, columns = layout.nonzero(as_tuple=True)
    x = tm.normal(z, len(heads), 16, 16, device=device, dtype=torch.float16)

    def want():
        dense = torch.full(
            (z, h, n // 16, n // 16, 16, 16), float("-inf"), dtype=torch.float64, device=device
        )
        dense[:, heads, rows, columns] = x.double() * 0.5
        p = dense.transpose(3, 4).reshape(z, h, n, n).softmax(-1)
        return p.view(z, h, n // 16, 16, n // 16, 16).transpose(3, 4)[:, heads, rows, columns]

    return lambda: file.softmax(layout, 16, device=device)(x.clone(), scale=0.5), want
