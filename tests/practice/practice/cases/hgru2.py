"""hgru2: gated linear attention in chunks, each step a kernel, and as a recurrence."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Doraemonzzz/hgru2-pytorch", "caf92f0d8f31d946ec5537f7bb6b529b7230e8ee")
GLA = "hgru2_pytorch/gla/"
BF16 = torch.bfloat16


def _gates(*shape, device):
    return torch.nn.functional.logsigmoid(torch.randn(*shape)).div(8).to(device)


def _both(function, right, inputs, ups, backward):
    def gradients(function, exact):
        leaves = [(x.double() if exact else x).detach().clone().requires_grad_() for x in inputs]
        outs = function(*leaves)
        outs = outs if isinstance(outs, tuple) else (outs,)
        return torch.autograd.grad(outs, leaves, [u.to(o.dtype) for u, o in zip(ups, outs, strict=True)])  # fmt: skip

    if backward:
        return lambda: gradients(function, False), lambda: gradients(right, True)
    return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))


def _sums(backward):
    def build(file, device, b, h, n, c, d):
        shape = (b, h, n, c, d)
        q, k = (tm.normal(*shape, device=device, dtype=BF16) for _ in range(2))
        g = _gates(*shape, device=device)
        ups = [tm.normal(*shape, device=device) for _ in range(3)] + [tm.normal(b, h, n, d, device=device)]  # fmt: skip

        def right(q, k, g):
            sums = g.cumsum(-2)
            last = sums[..., -1:, :]
            return sums, k * (last - sums).exp(), q * sums.exp(), last[..., 0, :].exp()

        return _both(file.PreprocessCumSum_GK.apply, right, (q, k, g), ups, backward)

    kernels = "_fwd_preprocess_cumsum_gk" + ", _bwd_preprocess_cumsum_gk" * backward
    repository.case(GLA + "inter_chunk_contribution/preprocess_cumsum_gk.py", kernels, rtol=2e-2, atol=0.1 if backward else 2e-2, share=1e-3, name="sums" + "_gradient" * backward, small=dict(b=1, h=2, n=3, c=16, d=32), production=dict(b=8, h=8, n=64, c=64, d=128))(build)  # fmt: skip


def _states(backward):
    def build(file, device, b, h, n, d):
        decay = torch.rand(b, h, n, d).to(device)
        added, up = (tm.normal(b, h, n, d, d, device=device) for _ in range(2))

        def right(decay, added):
            states = [torch.zeros_like(added[:, :, 0])]
            for i in range(n - 1):
                states.append(states[-1] * decay[:, :, i, :, None] + added[:, :, i])
            return torch.stack(states, 2)

        return _both(file.Chunk_memory_update_only_gk.apply, right, (decay, added), [up], backward)

    kernels = "_fwd_recurrence" + ", _bwd_recurrence" * backward
    repository.case(GLA + "inter_chunk_contribution/chunk_scan_triton_only_gk.py", kernels, rtol=1e-3, atol=1e-3, name="states" + "_gradient" * backward, small=dict(b=1, h=2, n=5, d=32), production=dict(b=4, h=8, n=64, d=128))(build)  # fmt: skip


def _scores(backward):
    def build(file, device, b, h, n, c, d):
        shape = (b, h, n, c, d)
        dtype = torch.float32 if backward else BF16
        q, k = (tm.normal(*shape, device=device, dtype=dtype) for _ in range(2))
        sums = _gates(*shape, device=device).cumsum(-2)
        up = tm.normal(b, h, n, c, c, device=device, dtype=dtype)

        def right(q, k, sums):
            x = (q * sums.exp()) @ (k * (-sums).exp()).transpose(-1, -2)
            return x.tril()

        return _both(file.FlashGRet.apply, right, (q, k, sums), [up], backward)

    kernels = "_fwd_kernel_compute_A" + ", _bwd_kernel_dqk" * backward
    repository.case(GLA + "intra_chunk_contribution/fn_only_gk.py", kernels, rtol=5e-2, atol=0.6 if backward else 0.1, share=1e-2, name="scores" + "_gradient" * backward, small=dict(b=1, h=2, n=2, c=32, d=32), production=dict(b=8, h=8, n=64, c=64, d=128))(build)  # fmt: skip


def _recurrent(backward):
    def build(file, device, b, h, s, d):
        q, k, v, up = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(4))
        g = _gates(b, h, s, d, device=device)

        def right(q, k, v, g):
            state, outs = q.new_zeros(b, h, d, d), []
            for i in range(s):
                state = state * g[:, :, i, :, None].exp() + k[:, :, i, :, None] * v[:, :, i, None]
                outs.append((q[:, :, i, :, None] * state).sum(-2))
            return torch.stack(outs, 2)

        return _both(file.FusedRecurrentGLAFunction.apply, right, (q, k, v, g), [up], backward)

    kernels = "fused_recurrent_gla_fwd_kernel" + ", fused_recurrent_gla_bwd_kernel" * backward
    repository.case(GLA + "recurrent_fuse.py", kernels, rtol=5e-2, atol=2.0 if backward else 0.2, share=1e-2, name="recurrent" + "_gradient" * backward, small=dict(b=1, h=2, s=20, d=32), production=dict(b=4, h=16, s=1024, d=128))(build)  # fmt: skip


for _backward in (False, True):
    _sums(_backward)
    _states(_backward)
    _scores(_backward)
    _recurrent(_backward)
