"""AOTriton: attention whose head size is a sum of powers of two, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

KERNELS = "modules/flash/kernel/"
repository = Repository(
    "ROCm/aotriton", "30ae96716b3e7a1bf0d7892ce3b8288244f8ebec", folders=(KERNELS,)
)
FP16 = torch.float16


def _inputs(device, b, h, hk, n, d):
    q, k, v = (tm.normal(b, x, n, d, device=device, dtype=FP16) for x in (h, hk, hk))
    return q, k, v, torch.zeros(2, dtype=torch.int32, device=device)


def _forward(name, causal, persistent, with_bias, d):
    @repository.case(KERNELS + "fwd_kernel.py", "attn_fwd, _attn_fwd_inner, composed_load, composed_dot_rhs, calculate_intervals", small=dict(b=1, h=4, hk=2, n=150, d=d), production=dict(b=4, h=16, hk=4, n=4096, d=d), rtol=1e-2, atol=1e-2, name=name)  # fmt: skip
    def build(file, device, b, h, hk, n, d):
        q, k, v, nothing = _inputs(device, b, h, hk, n, d)
        bias = tm.normal(b, h, n, n, device=device, dtype=FP16) if with_bias else None

        def run():
            out, lse = torch.empty_like(q), torch.empty(b, h, n, device=device)
            blocks = -(-n // 64)
            counter = torch.zeros(1, dtype=torch.int32, device=device)
            grid = (132,) if persistent else (blocks, h, b)
            file.attn_fwd[grid](
                q, k, v, bias, None, d**-0.5, lse, out, None, None, None, None, None,
                *q.stride(), *k.stride(), *v.stride(), *out.stride(),
                *(bias.stride() if with_bias else (0,) * 4), 0, 0,
                h, hk, 0, nothing, nothing, n, n, nothing, nothing, d, d, d, False,
                False, 0.0, None, None, 0, None, None, False, None,
                1 if causal else 0, 0, 0, 1 if with_bias else 0, False, False, False, False,
                2 if persistent else 0, counter, 132, 1, b,
                BLOCK_M=64, BLOCK_N=32, PRE_LOAD_V=False, NUM_XCDS=1, num_warps=4, num_stages=1,
            )  # fmt: skip
            return out, lse

        return run, lambda: tm.attention(q, k, v, causal=causal, bias=bias)


_forward("attention", False, False, False, 80)
_forward("attention_causal", True, False, False, 112)
_forward("attention_bias", False, False, True, 112)
_forward("attention_persistent", True, True, False, 112)


@repository.case(KERNELS + "bwd_preprocess.py", "bwd_preprocess, composed_inner_product_fp32", small=dict(b=1, h=2, n=150, d=112), production=dict(b=4, h=16, n=4096, d=112), rtol=1e-3, atol=1e-2)  # fmt: skip
def delta(file, device, b, h, n, d):
    x, g, _, nothing = _inputs(device, b, h, h, n, d)

    def run():
        out = torch.empty(b, h, n, device=device)
        file.bwd_preprocess[(-(-n // 64), h, b)](
            x, g, out, *x.stride(), *g.stride(), nothing, 0, n, d, BLOCK_M=64, D_HEAD=d,
            PADDED_HEAD=False,
        )  # fmt: skip
        return out

    return run, lambda: (x.double() * g.double()).sum(-1)


def _gradients(device, b, h, hk, n, d, causal):
    """Inputs of the backward kernels, and the gradients."""
    q, k, v, nothing = _inputs(device, b, h, hk, n, d)
    g = tm.normal(b, h, n, d, device=device, dtype=FP16)
    out, lse = tm.attention(q, k, v, causal=causal)
    sums = (out * g.double()).sum(-1).float()

    def want():
        return tm.with_gradients(lambda *x: tm.attention(*x, causal=causal)[0], g, q, k, v, exact=True)  # fmt: skip

    return q, k, v, g, lse.float(), sums, nothing, want


SIZES = dict(small=dict(b=1, h=2, hk=1, n=130, d=112), production=dict(b=2, h=16, hk=4, n=2048, d=112), rtol=2e-2, atol=3e-2)  # fmt: skip


@repository.case(KERNELS + "bwd_kernel_dk_dv.py", "bwd_kernel_dk_dv, bwd_inner_dk_dv, composed_dot_both", **SIZES)  # fmt: skip
def gradients_of_keys(file, device, b, h, hk, n, d):
    q, k, v, g, lse, sums, nothing, want = _gradients(device, b, h, hk, n, d, True)

    def run():
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        file.bwd_kernel_dk_dv[(-(-n // 32), hk, b)](
            q, k, v, None, d**-0.5, g, dk, dv, lse, sums,
            *q.stride(), *k.stride(), *v.stride(), 0, 0, 0, 0, *g.stride(), *dk.stride(),
            *dv.stride(), h, hk, nothing, nothing, 0, n, n, nothing, nothing, d, d, 0.0, None,
            None, 0, 0, 0, BLOCK_M=32, BLOCK_DMODEL=d, BLOCK_N=32, CAUSAL_TYPE=1,
            ENABLE_DROPOUT=False, PADDED_HEAD=False, BIAS_TYPE=0, NUM_XCDS=1, num_warps=4,
            num_stages=1,
        )  # fmt: skip
        return dk, dv

    return run, lambda: want()[2:]


@repository.case(KERNELS + "bwd_kernel_dq.py", "bwd_kernel_dq, bwd_inner_dq, composed_mul_acc", **SIZES)  # fmt: skip
def gradients_of_queries(file, device, b, h, hk, n, d):
    q, k, v, g, lse, sums, nothing, want = _gradients(device, b, h, hk, n, d, False)

    def run():
        dq = torch.empty_like(q)
        file.bwd_kernel_dq[(-(-n // 64), h, b)](
            q, k, v, None, d**-0.5, g, dq, None, lse, sums,
            *q.stride(), *k.stride(), *v.stride(), 0, 0, 0, 0, *g.stride(), *dq.stride(),
            0, 0, 0, 0, h, hk, nothing, nothing, 0, n, n, nothing, nothing, d, d, 0.0, None,
            None, 0, 0, 0, BLOCK_M=64, BLOCK_DMODEL=d, BLOCK_N=32, CAUSAL_TYPE=0,
            ENABLE_DROPOUT=False, PADDED_HEAD=False, BIAS_TYPE=0, NUM_XCDS=1, num_warps=4,
            num_stages=1,
        )  # fmt: skip
        return dq

    return run, lambda: want()[1]
