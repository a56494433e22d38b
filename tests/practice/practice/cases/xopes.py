"""xopes: log-sum-exp, cumulative sums, Householder reflections and norms."""

from __future__ import annotations

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository


def _pack(tensors, pattern):
    """einops' pack of one tensor for the pattern '* d'."""
    (x,) = tensors
    return x.reshape(-1, x.shape[-1]), [x.shape[:-1]]


def _unpack(x, shapes, pattern):
    return [x.reshape(*shapes[0], x.shape[-1])]


def _rearrange(x, pattern, g):
    """einops' rearrange for the pattern '... (g e) -> ... g e'."""
    return x.unflatten(-1, (g, -1))


repository = Repository(
    "Doraemonzzz/xopes",
    "1dfa3df896141398cd1afb92bca5c95ea8dacbac",
    packages={"xopes": "."},
    inits=(
        "xopes.utils",
        "xopes.ops.normalize.normalize",
        "xopes.ops.act",
        "xopes.ops.act._act_triton",
        "xopes.ops.act._act_torch",
    ),
    stand_ins={"einops": {"pack": _pack, "unpack": _unpack, "rearrange": _rearrange}},
)
OPS = "xopes/ops/"
SMALL, LARGE = dict(rows=6, n=129), dict(rows=2048, n=4096)


def graded(path, kernels, function, right, shapes, call=lambda f, *x: f(*x), name="", **options):
    """A function and its gradients; ``shapes(rows, n)`` has those of its inputs, then of its result."""

    def build(file, device, rows, n):
        *x, up = (tm.normal(*shape, device=device) for shape in shapes(rows, n))
        ours = getattr(file, function)
        return (
            lambda: tm.with_gradients(lambda *x: call(ours, *x), up, *x),
            lambda: tm.with_gradients(right, up, *x, exact=True),
        )

    options = dict(small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3) | options
    repository.case(OPS + path, kernels, name=name or function, **options)(build)


def row(rows, n):
    return [(rows, n), (rows,)]


def same(rows, n):
    return [(rows, n), (rows, n)]


# Configurations that are tried leave parts of others in its scratch, so the first call is dropped.
graded("logsumexp/lse_parallel_triton.py", "_lse_parallel, _lse_reduce, _lse_bwd", "lse_parallel_triton", lambda x: x.logsumexp(1), row, lambda f, x: (f(x, 1), f(x, 1))[1])  # fmt: skip
graded("logsumexp/lse_recurrence_triton.py", "_lse_fwd, _lse_bwd", "lse_recurrence_triton", lambda x: x.logsumexp(1), row, lambda f, x: f(x, 1))  # fmt: skip
graded("cumsum/cumsum/cumsum_triton.py", "_cumsum", "cumsum_triton", lambda x: x.cumsum(-1), same)  # fmt: skip
graded("cumsum/cumsum/cumsum_triton.py", "_cumsum", "cumsum_triton", lambda x: x.flip(-1).cumsum(-1).flip(-1), same, lambda f, x: f(x, reverse=True), name="cumsum_reverse")  # fmt: skip
graded("logcumsumexp/lcse_recurrence_triton.py", "_lcse_recurrence_fwd, _lcse_recurrence_bwd", "lcse_recurrence_triton", lambda x: x.logcumsumexp(-1), same, lambda f, x: f(x)[0])  # fmt: skip
graded("householder/householder_triton.py", "_householder_fwd, _householder_bwd", "householder_triton", lambda x, y: x - 2 * (x * F.normalize(y, dim=-1)).sum(-1, keepdim=True) * F.normalize(y, dim=-1), lambda rows, n: [(rows, n)] * 3)  # fmt: skip
graded("normalize/normalize/normalize_triton.py", "_normalize_fwd, _normalize_bwd", "normalize_triton", lambda x, w: tm.rms_norm(x, w, 1e-6), lambda rows, n: [(rows, n), (n,), (rows, n)], lambda f, x, w: f(x, w, c=x.shape[-1] ** 0.5), name="rms_norm")  # fmt: skip
graded("normalize/normalize/normalize_triton.py", "_normalize_fwd, _normalize_bwd", "normalize_triton", lambda x, w, b: tm.layer_norm(x, w, b, 1e-6), lambda rows, n: [(rows, n), (n,), (n,), (rows, n)], lambda f, x, w, b: f(x, w, b, c=x.shape[-1] ** 0.5, use_mean=True), name="layer_norm")  # fmt: skip
