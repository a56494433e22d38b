"""xma: kernels that take strides as tuples and arguments that may be None, behind custom operators."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "open-lm-engine/accelerated-model-architectures",
    "384ed0a7bd82ced1f40609603dd541cac5416844",
    packages={"xma": "."},
    inits=(
        "xma.utils",
        "xma.triton_utils",
        "xma.autotuner",
        "xma.functional.swiglu.mps_implementation",
        *(f"xma.functional.{name}.triton_implementation" for name in ("fused_residual_add_rmsnorm", "softmax", "swiglu")),
        *(f"xma.layers.{name}.triton_implementation" for name in ("rnn", "gru", "linear_attention", "m2rnn")),
    ),
)  # fmt: skip
BF16 = torch.bfloat16
FINE, NEAR, HALF = (
    dict(rtol=1e-4, atol=1e-4),
    dict(rtol=5e-3, atol=5e-3),
    dict(rtol=2e-2, atol=2e-2),
)
FUNCTIONAL, LAYERS = "xma/functional/", "xma/layers/"


def _both(up, triton, exact, *inputs):
    """Results and gradients by the kernels, and in float64."""
    return (
        lambda: tm.with_gradients(triton, up, *inputs),
        lambda: tm.with_gradients(exact, up.cpu(), *(x.cpu() for x in inputs), exact=True),
    )


@repository.case(f"{FUNCTIONAL}cross_entropy/__init__.py", "_cross_entropy_forward_backward_triton_kernel", small=dict(b=13, v=300), production=dict(b=4096, v=50000), **FINE)  # fmt: skip
def cross_entropy(file, device, b, v):
    x, labels = tm.normal(b, v, device=device), tm.integers(0, v, b, device=device)

    def triton(x):
        parts = [file.cross_entropy(x, labels, how, by, kernel_backend=file.KernelBackend.triton) for how, by in (("mean", None), ("sum", 0.5))]  # fmt: skip
        return torch.stack(parts)

    return _both(
        torch.tensor([2.0, 0.3], device=device), triton,
        lambda x: torch.stack([F.cross_entropy(x, labels.cpu()), F.cross_entropy(x * 0.5, labels.cpu(), reduction="sum")]),
        x,
    )  # fmt: skip


@repository.case(f"{FUNCTIONAL}fused_residual_add_rmsnorm/__init__.py", "_fused_residual_add_rmsnorm_forward_triton_kernel, _fused_residual_add_rmsnorm_backward_triton_kernel", small=dict(b=33, h=100), production=dict(b=8192, h=4096), **FINE)  # fmt: skip
def residual_rms_norm(file, device, b, h):
    x, r, up = (tm.normal(b, h, device=device) for _ in range(3))
    w, both = tm.normal(h, device=device), torch.cat([up, up * 0.5])

    def triton(x, r, w):
        return torch.cat(file.fused_residual_add_rmsnorm(x, r, w, 1e-5, 0.7, kernel_backend=file.KernelBackend.triton))  # fmt: skip

    def exact(x, r, w):
        return torch.cat([tm.rms_norm(r + x * 0.7, w, 1e-5), r + x * 0.7])

    return _both(both, triton, exact, x, r, w)


@repository.case(f"{FUNCTIONAL}fused_residual_add_rmsnorm/__init__.py", "_fused_residual_add_rmsnorm_forward_triton_kernel, _fused_residual_add_rmsnorm_backward_triton_kernel", small=dict(b=33, h=100), production=dict(b=8192, h=4096), **FINE)  # fmt: skip
def plain_rms_norm(file, device, b, h):
    x, up = (tm.normal(b, h, device=device) for _ in range(2))

    def triton(x):
        return file.fused_residual_add_rmsnorm(x, None, None, 1e-5, None, True, kernel_backend=file.KernelBackend.triton)[0]  # fmt: skip

    return _both(up, triton, lambda x: tm.rms_norm(x, None, 1e-5), x)


@repository.case(f"{FUNCTIONAL}p_norm/__init__.py", "_p_norm_triton_kernel", small=dict(b=9, h=128), production=dict(b=8192, h=4096), rtol=1e-3)  # fmt: skip
def p_norms(file, device, b, h):
    x, powers = tm.normal(b, h, device=device), (1, 2, 3, "inf")
    return (
        lambda: [file.p_norm(x, 0.5, p, kernel_backend=file.KernelBackend.triton) for p in powers],
        lambda: [(x.double() * 0.5).norm(p=float(p), dim=-1) for p in powers],
    )


@repository.case(f"{FUNCTIONAL}swiglu/__init__.py", "_swiglu_forward_triton_kernel, elementwise_2d_kernel", small=dict(b=33, h=100), production=dict(b=8192, h=4096), **NEAR)  # fmt: skip
def swiglu(file, device, b, h):
    gate, up, grad = (tm.normal(b, h, device=device) for _ in range(3))
    return _both(
        grad, lambda g, u: file.swiglu(g, u, kernel_backend=file.KernelBackend.triton),
        lambda g, u: F.silu(g) * u, gate, up,
    )  # fmt: skip


@repository.case(f"{FUNCTIONAL}softmax/__init__.py", "_online_softmax_forward_triton_kernel, _full_row_softmax_forward_triton_kernel, _online_softmax_backward_triton_kernel, _full_row_softmax_backward_triton_kernel", small=dict(b=13, h=300), production=dict(b=8192, h=4096), **FINE)  # fmt: skip
def softmax(file, device, b, h):
    x, up = (tm.normal(b, h, device=device) for _ in range(2))
    return _both(
        up, lambda x: file.softmax(x, 0.5, kernel_backend=file.KernelBackend.triton),
        lambda x: (x * 0.5).softmax(-1), x,
    )  # fmt: skip


def _packed(side):
    def build(file, device, b, s, n):
        lengths = tm.lengths(b, s)
        total, x = sum(lengths), tm.normal(b, s, n, device=device)
        starts = tm.starts(lengths, device)

        def run():
            triton = file.KernelBackend.triton
            (packed,) = file.pack_sequence([x], starts, total, side, kernel_backend=triton)
            return packed, *file.unpack_sequence(
                [packed], starts, b, s, side, kernel_backend=triton
            )

        def want():
            kept = [row[s - n :] if side == "left" else row[:n] for row, n in zip(x, lengths)]
            pads = [(0, 0, s - n, 0) if side == "left" else (0, 0, 0, s - n) for n in lengths]
            return torch.cat(kept), torch.stack([F.pad(k, p) for k, p in zip(kept, pads)])

        return run, want

    return build


for _side in ("left", "right"):
    repository.case(f"{FUNCTIONAL}sequence_packing/__init__.py", "_pack_unpack_sequence_triton_kernel", small=dict(b=3, s=20, n=50), production=dict(b=16, s=2048, n=4096), name=f"packed_{_side}")(_packed(_side))  # fmt: skip


def _recurrent(call, heads, varlen):
    def build(file, device, b, s, n, h):
        inputs, weights = heads
        lengths = tm.lengths(b, s)
        shape = (sum(lengths), n, h) if varlen else (b, s, n, h)
        xs = [tm.normal(*shape, device=device, scale=0.5) for _ in range(inputs)]
        ws = [tm.normal(n, h, h, device=device) / h**0.5 for _ in range(weights)]
        h0, up = tm.normal(b, n, h, device=device), tm.normal(*shape, device=device)
        more = dict(cu_seqlens=tm.starts(lengths, device), max_seqlen=s) if varlen else {}

        def by(backend, h0, rest, **more):
            pairs = [t for i in range(inputs) for t in (rest[i], rest[inputs + i])]
            return getattr(file, call)(*pairs, h0, **more, kernel_backend=backend)[0]

        def triton(h0, *rest):
            return by(file.KernelBackend.triton, h0, rest, **more)

        def exact(h0, *rest):
            torch_, (xs, ws) = file.KernelBackend.torch, (rest[:inputs], rest[inputs:])
            if not varlen:
                return by(torch_, h0, rest)
            parts = zip(*(x.split(lengths) for x in xs))
            rows = [by(torch_, h0[i : i + 1], [*(x[None] for x in part), *ws]) for i, part in enumerate(parts)]  # fmt: skip
            return torch.cat([row[0] for row in rows])

        return _both(up, triton, exact, h0, *xs, *ws)

    return build


for _name, _heads in (("rnn", (1, 1)), ("gru", (3, 3))):
    for _varlen in (False, True):
        # The first row of the first sequence loads the row before it, which `tl.where` then drops.
        repository.case(f"{LAYERS}{_name}/op.py", f"_{_name}_forward_triton_kernel, _{_name}_backward_triton_kernel", small=dict(b=3, s=6, n=2, h=24), production=dict(b=32, s=32, n=8, h=64), name=_name + "_varlen" * _varlen, finds="oob-load" * _varlen, **NEAR)(_recurrent(_name, _heads, _varlen))  # fmt: skip


@repository.case(f"{LAYERS}linear_attention/op.py", "_linear_attention_forward_triton_kernel", small=dict(b=2, s=270, n=2, k=24, v=40), production=dict(b=4, s=4096, n=16, k=128, v=128), **NEAR)  # fmt: skip
def linear_attention(file, device, b, s, n, k, v):
    q, key = (tm.normal(b, s, n, k, device=device, scale=0.3) for _ in range(2))
    value = tm.normal(b, s, n, v, device=device)
    q.requires_grad_()  # else its tuner stops for want of the chunks' states

    def want():
        q_, k_, v_ = (x.detach().cpu().double().transpose(1, 2) for x in (q, key, value))
        return ((q_ @ k_.mT).tril() @ v_ * k**-0.5).transpose(1, 2), k_.mT @ v_

    return lambda: file.linear_attention(q, key, value, None, output_state=True, kernel_backend=file.KernelBackend.triton), want  # fmt: skip


@repository.case(f"{LAYERS}m2rnn/op.py", "_m2rnn_forward_triton_kernel, _m2rnn_backward_triton_kernel", small=dict(b=2, s=5, n=2, k=16, v=24), production=dict(b=16, s=16, n=8, k=64, v=64), **NEAR)  # fmt: skip
def matrix_rnn(file, device, b, s, n, k, v):
    q, key = (tm.normal(b, s, n, k, device=device, scale=0.5) for _ in range(2))
    value, up = tm.normal(b, s, n, v, device=device), tm.normal(b, s, n, v, device=device)
    weight, forget = tm.normal(n, v, v, device=device) / v**0.5, torch.rand(b, s, n).to(device)

    def by(backend):
        return lambda *x: file.m2rnn(*x, kernel_backend=backend)[0]

    return _both(up, by(file.KernelBackend.triton), by(file.KernelBackend.torch), q, key, value, weight, forget)  # fmt: skip


@repository.case("xma/optimizers/sgd/triton_implementation.py", "_single_tensor_sgd_triton_kernel_no_momentum, _single_tensor_sgd_triton_kernel_with_momentum", small=dict(n=300), production=dict(n=1 << 22), **FINE)  # fmt: skip
def sgd(file, device, n):
    ways = [  # momentum, dampening, nesterov, maximise
        (0.0, 0.0, False, False),
        (0.9, 0.1, False, True),
        (0.9, 0.0, True, False),
    ]
    start, grads = tm.normal(n, device=device), [tm.normal(n, device=device) for _ in range(3)]

    def run():
        found = []
        for momentum, dampening, nesterov, maximize in ways:
            w, m = [start.clone()], [torch.zeros_like(start) if momentum else None]
            for step, grad in enumerate(grads, 1):
                file._sgd_triton(w, [grad], m, 0.1, 0.01, momentum, dampening, nesterov, maximize, step)  # fmt: skip
            found += w
        return found

    def want():
        found = []
        for momentum, dampening, nesterov, maximize in ways:
            w = start.double().requires_grad_()
            by = torch.optim.SGD([w], 0.1, momentum, dampening, 0.01, nesterov, maximize=maximize)
            for grad in grads:
                w.grad = grad.double()
                by.step()
            found.append(w.detach())
        return found

    return run, want
