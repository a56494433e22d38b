"""Fast-LLM: losses and norms with gradients, a mixture of experts as sparse products, Adam."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ServiceNow/Fast-LLM", "7d61a1ba2047814955f8acc1cde7bc10a68fa198",
    packages={"fast_llm": "."},
    stand_ins={
        # The real one takes no Triton without a GPU, and the other ones need Python 3.12.
        "fast_llm.functional.triton": {
            "triton": triton, "tl": tl, "tl_constexpr": tl.constexpr, "TritonConfig": triton.Config,
            "triton_jit": lambda: triton.jit, "triton_autotune": triton.autotune,
            "tl_arange": tl.arange, "tl_full": tl.full, "tl_zeros": tl.zeros,
            "triton_available": True, "triton_interpret": False,
        },
        "fast_llm.functional.utils": {
            "wrap_forward_backward": lambda forward, backward: forward,
            "reduce_losses": lambda losses, divisor: losses.sum() / divisor,
        },
        "fast_llm.utils": {"div": lambda a, b: a // b},
        "fast_llm.tensor": {"param_get_and_unset_is_zero": lambda parameter: True},
        "fast_llm.core.distributed": {}, "fast_llm.core.ops": {}, "fast_llm.functional.linear": {},
    },
)  # fmt: skip
FOLDER = "fast_llm/functional/triton/"
BF16 = torch.bfloat16
VOCABULARY = dict(small=dict(m=5, n=700), production=dict(m=4096, n=49152))
HALF = dict(rtol=2e-2, atol=2e-2)


def _loss(device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16, scale=2)
    labels = tm.integers(0, n, m, device=device)
    labels[1] = -100
    return x, labels


def _with_gradient(loss, x, factor):
    """The loss, and the gradient of ``factor`` times it, times the count of rows."""
    x = x.double().requires_grad_()
    value = loss(x)
    return value.detach(), torch.autograd.grad(value * factor * len(x), x)[0]


@repository.case(FOLDER + "entropy_loss.py", "triton_cross_entropy_forward_backward_from_labels_kernel", **VOCABULARY, rtol=2e-2, atol=1e-3)  # fmt: skip
def cross_entropy(file, device, m, n):
    x, labels = _loss(device, m, n)

    def run():
        loss, _, grad = file.triton_entropy_loss_forward_backward(x, labels, None, grad_output=float(m), logits_scale_factor=0.5)  # fmt: skip
        return loss, grad

    def right(x):
        return F.cross_entropy(x * 0.5, labels, reduction="sum") / m

    return run, lambda: _with_gradient(right, x, 1)


def _distribution(kind):
    def build(file, device, m, n):
        x, _ = _loss(device, m, n)
        target = tm.normal(m, n, device=device, dtype=BF16, scale=2)
        mask = (torch.arange(m) % 3 != 1).to(device)

        def run():
            loss, _, grad = file.triton_entropy_loss_forward_backward(
                x, target, mask, grad_output=float(m), temperature=2.0,
                target_format="logits", entropy_loss_type=kind,
            )  # fmt: skip
            return loss, grad

        def right(x):
            p, q = x.log_softmax(-1), (target.double() / 2).log_softmax(-1)
            of = {
                "cross_entropy": lambda: -q.exp() * p,
                "reverse_kl": lambda: p.exp() * (p - q),
            }[kind]
            return (of().sum(-1) * mask).sum() / m

        return run, lambda: _with_gradient(right, x, 1)

    kernels = {
        "cross_entropy": "triton_cross_entropy_from_distribution_forward_backward_kernel",
        "reverse_kl": "triton_reverse_kl_forward_backward_kernel_from_distribution",
    }[kind]
    repository.case(FOLDER + "entropy_loss.py", kernels, **VOCABULARY, rtol=2e-2, atol=1e-3, name=f"{kind}_of_logits")(build)  # fmt: skip


_distribution("cross_entropy")
_distribution("reverse_kl")


@repository.case(FOLDER + "z_loss.py", "triton_z_loss_forward_backward_kernel", **VOCABULARY, rtol=2e-2, atol=1e-3)  # fmt: skip
def z_loss(file, device, m, n):
    x, _ = _loss(device, m, n)
    return (
        lambda: file.triton_z_loss_forward_backward(x, None, grad_output=float(m)),
        lambda: _with_gradient(lambda x: x.logsumexp(-1).square().mean(), x, 1),
    )


@repository.case(FOLDER + "grpo_loss.py", "triton_grpo_loss_forward_backward_kernel", **VOCABULARY, rtol=2e-2, atol=1e-3)  # fmt: skip
def grpo_loss(file, device, m, n):
    x, labels = _loss(device, m, n)
    advantages = tm.normal(m, device=device)
    new = x.double().log_softmax(-1).gather(1, labels.clamp(0)[:, None])[:, 0]
    old = (new.float() + tm.normal(m, device=device, scale=0.3)).contiguous()
    counts = torch.full((m,), float(m), device=device)

    def run():
        return file.triton_grpo_loss_forward_backward(x, labels, advantages, old, grad_output=float(m), num_labels_in_seq=counts)  # fmt: skip

    def want():
        on = labels >= 0

        def right(x):
            new = x.log_softmax(-1).gather(1, labels.clamp(0)[:, None])[:, 0]
            ratio = (new - old.double()).exp()
            a = advantages.double()
            return -(torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a) * on).sum() / m

        return *_with_gradient(right, x, 1), (new * on).sum() / m

    return run, want


@repository.case(FOLDER + "mlp.py", "triton_mlp_activation_forward_kernel, triton_mlp_activation_backward_kernel", small=dict(m=5, n=1300), production=dict(m=8192, n=14336), **HALF)  # fmt: skip
def gated_silu(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16)
    up = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        y, context = file.triton_mlp_activation_forward(x, True, "silu")
        grad, again = file.triton_mlp_activation_backward(up, context, True)
        return y, grad, again

    def want():
        y, grad = tm.with_gradients(tm.silu_mul, up, x, exact=True)
        return y, grad, y

    return run, want


def _norm(name, kernels, biased, **sizes):
    def build(file, device, m, n):
        x, up = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
        w = (1 + tm.normal(n, device="cpu", scale=0.1)).to(BF16).to(device).requires_grad_()
        b = tm.normal(n, device=device, dtype=BF16).requires_grad_() if biased else None
        parameters = [w, b] if biased else [w]
        for parameter in parameters:
            parameter.grad_buffer = torch.zeros(n, device=device)

        def run():
            y, context = file.triton_normalization_forward(x, w, b, 1e-5, True, False)
            grad = file.triton_normalization_backward(up, context)
            return y.detach(), grad, *(p.grad_buffer / m**0.5 for p in parameters)

        def right(x, w, b=None):
            return tm.layer_norm(x, w, b, 1e-5) if biased else tm.rms_norm(x, w, 1e-5)

        def want():
            y, dx, *rest = tm.with_gradients(right, up, x, *parameters, exact=True)
            return y, dx, *(grad / m**0.5 for grad in rest)

        return run, want

    repository.case(FOLDER + "normalization.py", kernels, rtol=3e-2, atol=3e-2, name=name, **sizes)(build)  # fmt: skip


NORM = (
    "triton_normalization_forward_kernel, triton_normalization_backward_kernel_1, "
    "triton_normalization_backward_kernel_2, _normalization_backward_terms"
)
_norm("rms_norm", NORM, False, small=dict(m=21, n=300), production=dict(m=16384, n=4096))
_norm("layer_norm_in_two_passes", NORM, True, small=dict(m=9, n=8200), production=dict(m=2048, n=12288))  # fmt: skip


@repository.case(FOLDER + "rotary.py", "triton_rotary_kernel", small=dict(b=2, m=7, h=3, d=32), production=dict(b=2, m=8192, h=32, d=128), **HALF)  # fmt: skip
def rotary(file, device, b, m, h, d):
    x = tm.normal(b, m, h, d, device=device, dtype=BF16)
    angles = torch.rand(m, d // 2) * 6
    cos, sin = (f(angles).to(device) for f in (torch.cos, torch.sin))
    table = torch.cat([cos, sin], -1).contiguous()
    return (
        lambda: file.triton_rotary_(x, table, inplace=False),
        lambda: tm.rotated(x, cos[:, None], sin[:, None]),
    )


# --- mixture of experts --------------------------------------------------------------------------

MOE = dict(small=dict(m=200, k=128, n=256, e=4, t=2), production=dict(m=4096, k=2048, n=1536, e=32, t=4))  # fmt: skip


def _sparse(file, device, m, e, t):
    """The map from tokens to rows, and the expert of each row, -1 for rows of nobody."""
    module = file if hasattr(file, "sparse_map_pytorch") else _sparse_copy(file)
    _, ids = tm.topk_ids(m, e, t, device)
    ends, pads, rows = module.sparse_map_pytorch(ids, e)
    made = module.SparseMap(rows, ends, pads, m, int(ends[-1]), m * t, e, t)
    expert = torch.full((made.num_rows,), -1, device=device)
    expert[rows.flatten()] = ids.flatten()
    return made, expert


def _sparse_copy(file):
    import sys

    return sys.modules[file.SparseMap.__module__]


@repository.case(FOLDER + "sparse_copy.py", "copy_dense_to_sparse_kernel, copy_sparse_to_dense_kernel, copy_sparse_to_dense_grad_score_kernel", small=dict(m=50, k=1100, e=4, t=2), production=dict(m=8192, k=4096, e=32, t=4), **HALF)  # fmt: skip
def rows_of_experts(file, device, m, k, e, t):
    sparse, expert = _sparse(file, device, m, e, t)
    x = tm.normal(m, k, device=device, dtype=BF16)
    y = tm.normal(sparse.num_rows, k, device=device, dtype=BF16)
    scores = torch.rand(m, t).to(device)

    def run():
        made = file.copy_dense_to_sparse(x, scores, sparse)
        made[expert < 0] = 0
        back = file.copy_sparse_to_dense(y, scores, sparse)
        return made, back, file.copy_sparse_to_dense_grad_score(y, x, sparse).float() / k**0.5

    def want():
        rows, s = sparse.sparse_rows, scores.double()
        made = torch.zeros(sparse.num_rows, k, dtype=torch.float64, device=device)
        made[rows.flatten()] = (x.double()[:, None] * s[..., None]).flatten(0, 1)
        mine = y.double()[rows]
        return made, (mine * s[..., None]).sum(1), (mine @ x.double()[..., None])[..., 0] / k**0.5

    return run, want


@repository.case(FOLDER + "sparse_linear.py", "output_sparse_matmul_kernel", **MOE, **HALF)
def products_of_experts(file, device, m, k, n, e, t):
    sparse, expert = _sparse(file, device, m, e, t)
    x = tm.normal(sparse.num_rows, k, device=device, dtype=BF16)
    w = tm.normal(e * n, k, device=device, dtype=BF16, scale=k**-0.5)

    def want():
        of = w.double().unflatten(0, (e, n))
        out = torch.zeros(sparse.num_rows, n, dtype=torch.float64, device=device)
        for i in range(e):
            out[expert == i] = x.double()[expert == i] @ of[i].T
        return out

    return lambda: _known(file.output_sparse_matmul(x, w.t(), sparse), expert), want


def _known(x, expert):
    return torch.where((expert >= 0)[:, None], x, 0)


@repository.case(FOLDER + "sparse_linear.py", "input_inner_sparse_matmul_kernel", **MOE, **HALF)
def products_back(file, device, m, k, n, e, t):
    sparse, expert = _sparse(file, device, m, e, t)
    y = tm.normal(sparse.num_rows, k, device=device, dtype=BF16)
    w = tm.normal(e * k, n, device=device, dtype=BF16, scale=k**-0.5)

    def want():
        of = w.double().unflatten(0, (e, k))
        out = torch.zeros(sparse.num_rows, n, dtype=torch.float64, device=device)
        for i in range(e):
            out[expert == i] = y.double()[expert == i] @ of[i]
        return out

    return lambda: _known(file.input_inner_sparse_matmul(y, w, sparse), expert), want


@repository.case(FOLDER + "sparse_linear.py", "input_row_sparse_matmul_kernel", **MOE, **HALF)
def gradients_of_experts(file, device, m, k, n, e, t):
    sparse, expert = _sparse(file, device, m, e, t)
    scale = (m * t / e) ** -0.25
    y = tm.normal(sparse.num_rows, k, device=device, dtype=BF16, scale=scale)
    x = tm.normal(sparse.num_rows, n, device=device, dtype=BF16, scale=scale)

    def want():
        parts = [y.double()[expert == i].T @ x.double()[expert == i] for i in range(e)]
        return torch.cat(parts)

    return lambda: file.input_row_sparse_matmul(y.t(), x, sparse), want


@repository.case(FOLDER + "sparse_linear.py", "dense_matmul_kernel", small=dict(m=128, n=256, k=192), production=dict(m=4096, n=4096, k=4096), **HALF)  # fmt: skip
def product(file, device, m, n, k):
    a = tm.normal(m, k, device=device, dtype=BF16)
    b = tm.normal(k, n, device=device, dtype=BF16, scale=k**-0.5)
    return lambda: file.dense_matmul(a, b), lambda: a.double() @ b.double()


@repository.case(FOLDER + "adam.py", "triton_adam_kernel", small=dict(n=2500), production=dict(n=1 << 26), rtol=1e-4, atol=1e-5)  # fmt: skip
def adam(file, device, n):
    p, g, first = (tm.normal(n, device=device) for _ in range(3))
    second = torch.rand(n).to(device)
    noop, scale = torch.zeros(1, dtype=torch.int32, device=device), torch.full((1,), 0.5).to(device)

    def run():
        made = [x.clone() for x in (p, g, first, second)]
        blocks, block = -(-n // 1024), 1024
        file.triton_adam_kernel[(blocks,)](*made, noop, scale, 1e-3, 0.9, 0.99, 0.7, 0.999, 1e-8, n, block)  # fmt: skip
        return made[0], made[2], made[3]

    def want():
        grad = g.double() * 0.5
        a = 0.9 * first.double() + 0.1 * grad
        b = 0.99 * second.double() + 0.01 * grad.square()
        return 0.999 * p.double() - 1e-3 * a / (b.sqrt() / 0.7 + 1e-8), a, b

    return run, want
