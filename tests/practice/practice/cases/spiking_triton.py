"""spikingjelly_triton: neurons that add up what they are given over time, and spike and start again
at a threshold, with gradients by a stand-in for the derivative of a spike."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("PengXue0812/spikingjelly_triton", "8df63ab46f510aab3be4ac81dc3d33d211cba769")  # fmt: skip
FILE = "neuron_new/neuron_backend.py"
SIZES = dict(small=dict(t=3, n=2048), production=dict(t=8, n=1 << 21))
RATE = 2.0


class ATan:
    """The kernels go by the names of these classes, and take their numbers."""

    alpha = RATE

    @staticmethod
    def slope(x):
        return RATE / 2 / (1 + (torch.pi / 2 * RATE * x).square())


class Sigmoid:
    alpha = RATE

    @staticmethod
    def slope(x):
        y = (RATE * x).sigmoid()
        return RATE * y * (1 - y)


class _Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.slope(x), None


def _neurons(x, v, a, b, kind, reset, is_detached):
    """``reset``: where a neuron starts again, or None where the threshold, 1, is subtracted."""
    spikes, voltages = [], []
    for row in x:
        h = a * v + b * row
        spike = _Spike.apply(h - 1.0, kind.slope)
        spent = spike.detach() if is_detached else spike
        v = h - spent if reset is None else h * (1 - spent) + reset * spent
        spikes.append(spike)
        voltages.append(v)
    return torch.stack([torch.stack(spikes), torch.stack(voltages)])


def _inputs(t, n, device):
    """In steps of 1/64, which are exact, so that no rounding decides a spike."""
    x, v = ((torch.randint(-64, 160, s) / 64).to(device) for s in ((t, n), (n,)))
    return x, v, tm.normal(2, t, n, device=device)


for _kind, _reset, _detached in ((ATan, None, False), (Sigmoid, 0.0, True)):

    @repository.case(FILE, "IFNode_multi_step_forward_kernel, IFNode_multi_step_backward_kernel, get_grad_s_to_h, get_grad_v_to_h", rtol=1e-4, atol=1e-4, name=f"sums_{_kind.__name__.lower()}", **SIZES)  # fmt: skip
    def sums(file, device, t, n, kind=_kind, reset=_reset, is_detached=_detached):
        x, v, up = _inputs(t, n, device)
        kernels = file.IFNode_multi_step_forward_kernel, file.IFNode_multi_step_backward_kernel

        def ours(x, v):
            return torch.stack(
                file.IFNodeMultiStepATGF.apply(
                    x, v, True, 1.0, reset, is_detached, kind(), *kernels
                )
            )

        def right(x, v):
            return _neurons(x, v, 1.0, 1.0, kind, reset, is_detached)

        return (
            lambda: tm.with_gradients(ours, up, x, v),
            lambda: tm.with_gradients(right, up.double(), x, v, exact=True),
        )

    @repository.case(FILE, "LinearNode_multi_step_forward_kernel, LinearNode_multi_step_backward_kernel", rtol=1e-3, atol=1e-3, name=f"weighted_{_kind.__name__.lower()}", **SIZES)  # fmt: skip
    def weighted(file, device, t, n, kind=_kind, is_detached=_detached):
        """With weights of the past and the present; their gradients, to which all neurons add, are
        divided by the number of elements."""
        x, v, up = _inputs(t, n, device)
        a, b = (torch.tensor(w, device=device) for w in (0.5, 1.0))
        kernels = file.LinearNode_multi_step_forward_kernel, file.LinearNode_multi_step_backward_kernel  # fmt: skip

        def ours(x, v, a, b):
            return torch.stack(
                file.LinearNodeMultiStepATGF.apply(
                    x, v, a, b, True, True, 1.0, -0.25, is_detached, kind(), *kernels
                )
            )

        def right(x, v, a, b):
            return _neurons(x, v, a, b, kind, -0.25, is_detached)

        def scaled(results):
            return [r / (t * n) if r.dim() == 0 else r for r in results]

        return (
            lambda: scaled(tm.with_gradients(ours, up, x, v, a, b)),
            lambda: scaled(tm.with_gradients(right, up.double(), x, v, a, b, exact=True)),
        )
