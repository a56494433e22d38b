"""mdy_triton: norms, RoPE, SwiGLU, losses of language models and of GRPO, Adam over many tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mdy666/mdy_triton", "0718faabe657b2f389e00beb31e8c66d1c122e2a")
CORE, MORE = "mdy_triton/core/", "triton_kernels/"
ROWS, MANY = dict(m=13, n=300), dict(m=8192, n=4096)
HALF = dict(rtol=2e-2, atol=2e-2)
BF16 = torch.bfloat16


@repository.case(f"{CORE}rmsnorm.py", "_rmsnorm_fwd, _rmsnorm_bwd_dx_fused", small=ROWS, production=MANY, rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w, up = (tm.normal(*s, device=device) for s in ((m, n), (n,), (m, n)))
    return (
        lambda: tm.with_gradients(lambda *a: file.triton_rmsnorm(*a, 1e-6), up, x, w),
        lambda: tm.with_gradients(lambda *a: tm.rms_norm(*a, 1e-6), up, x, w, exact=True),
    )


@repository.case(f"{CORE}fused_add_norm.py", "_add_rmsnorm_fwd, _add_rmsnorm_bwd_dx_fused", small=dict(m=13, n=100), production=dict(m=65536, n=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def add_norm(file, device, m, n):
    """The gradient is right for rows of up to 128 elements alone: its block is no wider."""
    x, r, w = (tm.normal(*s, device=device) for s in ((m, n), (m, n), (n,)))
    up = tm.normal(2 * m, n, device=device)

    def exact(x, r, w):
        return torch.cat([tm.rms_norm(x + r, w, 1e-6), x + r])

    return (
        lambda: tm.with_gradients(lambda *a: torch.cat(file.triton_fused_add_norm(*a, 1e-6)), up, x, r, w),
        lambda: tm.with_gradients(exact, up, x, r, w, exact=True),
    )  # fmt: skip


@repository.case(f"{CORE}fused_apply_rope.py", "_fused_apply_rope_fwd, _fused_apply_rope_bwd", small=dict(b=2, n=37, h=3, hk=1, d=64), production=dict(b=4, n=4096, h=32, hk=8, d=128))  # fmt: skip
def rope(file, device, b, n, h, hk, d):
    q, k = (tm.normal(b, n, heads, d, device=device).transpose(1, 2) for heads in (h, hk))
    up = [tm.normal(b, n, heads, d, device=device).transpose(1, 2) for heads in (h, hk)]
    angles = (torch.rand(1, n, d // 2) * 6).repeat(1, 1, 2).to(device)
    cos, sin = angles.cos(), angles.sin()

    def run():
        leaves = [x.clone(memory_format=torch.preserve_format).requires_grad_() for x in (q, k)]
        result = file.fused_apply_rope(*leaves, cos, sin)
        grads = torch.autograd.grad(result, leaves, [u.clone(memory_format=torch.preserve_format) for u in up])  # fmt: skip
        return [*(r.detach() for r in result), *grads]

    def want():
        half = cos[:, None, :, : d // 2], sin[:, None, :, : d // 2]
        back = half[0], -half[1]
        return [*(tm.rotated(x, *half) for x in (q, k)), *(tm.rotated(x, *back) for x in up)]

    return run, want


@repository.case(f"{CORE}fused_silu.py", "_fused_silu_fwd, _fused_silu_bwd_dupgate", small=ROWS, production=MANY)  # fmt: skip
def silu_of_two(file, device, m, n):
    u, g, up = (tm.normal(m, n, device=device) for _ in range(3))
    return (
        lambda: tm.with_gradients(file.triton_fused_up_gate_silu, up, u, g),
        lambda: tm.with_gradients(lambda u, g: F.silu(g) * u, up, u, g, exact=True),
    )


@repository.case(f"{CORE}fused_silu.py", "_fused_silu_fwdv2, _fused_silu_bwd_dupgatev2", small=ROWS, production=MANY, **HALF)  # fmt: skip
def silu_of_halves(file, device, m, n):
    x, up = tm.normal(m, 2 * n, device=device, dtype=BF16), tm.normal(m, n, device=device, dtype=BF16)  # fmt: skip
    return (
        lambda: tm.with_gradients(lambda x: file.triton_fused_up_gate_silu_no_split(x, "gate-up"), up, x),
        lambda: tm.with_gradients(tm.silu_mul, up, x, exact=True),
    )  # fmt: skip


@repository.case(f"{CORE}cross_entyopy_loss.py", "_cross_entropy_fwd_kernel, _cross_entropy_bwd_kernel", small=dict(m=13, n=5000), production=dict(m=1024, n=128256))  # fmt: skip
def cross_entropy(file, device, m, n):
    x, y = tm.normal(m, n, device=device), tm.integers(0, n, m, device=device)
    y[3] = -100
    up = torch.tensor(1.5, device=device)
    return (
        lambda: tm.with_gradients(lambda x: file.triton_entropy_loss(x, y), up, x),
        lambda: tm.with_gradients(lambda x: F.cross_entropy(x, y), up, x, exact=True),
    )


def _extremes(name, kernel, right, n):
    @repository.case(f"{CORE}triton_maxmin.py", kernel, small=dict(m=300, n=n), production=dict(m=65536, n=n), name=kernel.strip("_"))  # fmt: skip
    def build(file, device, m, n):
        x = tm.normal(m, n, device=device)

        def run():
            found = getattr(file, f"triton_{name}")(x)
            return found.values, found.indices

        return run, lambda: tuple(right(x.double(), -1))


_extremes("max", "_max_short", torch.max, 200)
_extremes("min", "_min_short", torch.min, 200)
_extremes("max", "_max_long", torch.max, 4096)
_extremes("min", "_min_long", torch.min, 4096)


def _logp(logits, ids, temperature):
    return (logits[:, :-1] / temperature).log_softmax(-1).gather(-1, ids[..., None])[..., 0]


GRPO = dict(small=dict(b=2, n=7, v=5000), production=dict(b=2, n=256, v=151936))


@repository.case(f"{MORE}grpo/triton_grpo_loss/core.py", "_selective_log_softmax_kernel", **GRPO)
def selective_log_softmax(file, device, b, n, v):
    x, ids = tm.normal(b, n + 1, v, device=device), tm.integers(0, v, b, n, device=device)
    mask = tm.integers(0, 2, b, n, device=device)
    return lambda: file.fused_selective_log_softmax(x, ids, 0.9, mask), lambda: _logp(x.double(), ids, 0.9) * mask  # fmt: skip


@repository.case(f"{MORE}grpo/triton_grpo_loss/core.py", "_grpo_loss_fwd_kernel, _grpo_loss_bwd_kernel", **GRPO)  # fmt: skip
def grpo_loss(file, device, b, n, v):
    x, ids = tm.normal(b, n + 1, v, device=device), tm.integers(0, v, b, n, device=device)
    old, ref = (_logp(x, ids, 0.9) + tm.normal(b, n, device=device, scale=0.3) for _ in range(2))
    gain, up = tm.normal(b, device=device), tm.normal(b, n, device=device)
    mask = tm.integers(0, 4, b, n, device=device).clamp(max=1)

    def exact(x):
        logp = _logp(x, ids, 0.9)
        ratio = (logp - old.double()).exp()
        clipped = ratio.clamp(1 - 0.2, 1 + 0.4)
        far = ref.double() - logp
        loss = -torch.minimum(ratio * gain[:, None], clipped * gain[:, None])
        return (loss + 0.04 * (far.exp() - far - 1)) * mask

    return (
        lambda: tm.with_gradients(lambda x: file.triton_grpo_loss(x, old, ref, ids, gain, mask, inplace=False)[0], up, x),
        lambda: tm.with_gradients(exact, up, x, exact=True),
    )  # fmt: skip


@repository.case(f"{MORE}deepseekv3/TritonAdam.py", "_group_tensor_apply_adam", small=dict(sizes=[5000, 17, 2048]), production=dict(sizes=[1 << 22, 4096, 1 << 20] * 8), not_in={"ptx": "its pointers come from memory, which the machine gives none of"})  # fmt: skip
def adam_of_many(file, device, sizes):
    def tensors(positive=False):
        made = [tm.normal(n, device=device) for n in sizes]
        return [x.square() for x in made] if positive else made

    p, g, m, v = tensors(), tensors(), tensors(), tensors(True)

    def pointers(xs):
        return torch.tensor([x.data_ptr() for x in xs], dtype=torch.int64).to(device)

    def run():
        after = [[x.clone() for x in xs] for xs in (p, m, v)]
        counts = torch.tensor(sizes, dtype=torch.int32).to(device)
        file.triton_adam_group(None, pointers(after[0]), pointers(g), pointers(after[1]), pointers(after[2]), counts, 1e-2, 0.9, 0.95, 0.1, 1e-8, 0.9**3, 0.95**3, False, False, False, False)  # fmt: skip
        return after

    def want():
        rows = []
        for x, d, a, b in zip(p, g, m, v, strict=True):
            x, d, a, b = (t.double() for t in (x, d, a, b))
            a, b = 0.9 * a + 0.1 * d, 0.95 * b + 0.05 * d * d
            step = a / (1 - 0.9**3) / ((b / (1 - 0.95**3)).sqrt() + 1e-8)
            rows.append((x * (1 - 1e-3) - 1e-2 * step, a, b))
        return [list(xs) for xs in zip(*rows, strict=True)]

    return run, want


@repository.case(f"{MORE}dyt/dyt.py", "_dyt_fwd_kernel, _dyt_bwd_kernel", small=ROWS, production=MANY, rtol=1e-4, atol=1e-4)  # fmt: skip
def dynamic_tanh(file, device, m, n):
    x, g, b, up = (tm.normal(*s, device=device) for s in ((m, n), (n,), (n,), (m, n)))
    a = torch.tensor([0.5], device=device)
    return (
        lambda: tm.with_gradients(file._DYT.apply, up, x, a, g, b),
        lambda: tm.with_gradients(lambda x, a, g, b: (a * x).tanh() * g + b, up, x, a, g, b, exact=True),
    )  # fmt: skip
