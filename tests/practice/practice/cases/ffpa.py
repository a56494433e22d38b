"""FFPA: attention with heads of more than 256 elements, a piece of them at a time."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "xlite-dev/ffpa-attn", "92e1d3b52e5a952b4a9d32e0c3cf25c1fbed6dad",
    packages={"ffpa_attn": "src"},
    stand_ins={
        "ffpa_attn.triton._autotune_utils": {"autotune_seqlen_key": lambda length, mode: length},
        "ffpa_attn.triton._persistent_autotune": {
            "PersistentConfigRequest": lambda **more: None, "dtype_name": str,
            "lookup_persistent_config": lambda request: None,
        },
    },
)  # fmt: skip
FOLDER = "src/ffpa_attn/triton/"
SIZES = dict(small=dict(b=1, h=4, hk=2, m=100, n=130, d=192), production=dict(b=1, h=16, hk=4, m=4096, n=4096, d=320))  # fmt: skip
EVEN = dict(small=dict(b=1, h=2, hk=1, m=128, n=128, d=128), production=dict(b=1, h=16, hk=4, m=4096, n=4096, d=512))  # fmt: skip
NEAR = dict(rtol=2e-2, atol=1e-2)


def _inputs(device, b, h, hk, m, n, d):
    dtype = torch.bfloat16
    q = tm.normal(b, h, m, d, device=device, dtype=dtype)
    return q, *(tm.normal(b, hk, n, d, device=device, dtype=dtype) for _ in range(2))


def _forward(name, file, kernels, launch, **sizes):
    def build(file, device, b, h, hk, m, n, d):
        q, k, v = _inputs(device, b, h, hk, m, n, d)

        def run():
            out = torch.empty_like(q)
            lse = torch.zeros(b, h, -(-m // 128) * 128, device=device)
            getattr(file, launch)(q, k, v, out, lse, causal=True)
            return out, lse[..., :m]

        return run, lambda: tm.attention(q, k, v, causal=True)

    repository.case(FOLDER + file, kernels, **sizes, **NEAR, name=name)(build)


_forward("prefill", "_ffpa_fwd.py", "_ffpa_fwd_kernel_impl, _update_o_accs", "_ffpa_attn_forward_generic_impl", **SIZES)  # fmt: skip
_forward("prefill_by_descriptors", "_ffpa_fwd_sm90.py", "_ffpa_fwd_sm90_kernel_impl", "_ffpa_attn_forward_sm90_generic_impl", **EVEN)  # fmt: skip


@repository.case(FOLDER + "_ffpa_fwd.py", "_ffpa_decode_fwd_stage1_kernel, _ffpa_decode_fwd_stage2_kernel", small=dict(b=2, h=4, hk=2, m=1, n=300, d=192), production=dict(b=8, h=16, hk=4, m=1, n=32768, d=320), **NEAR)  # fmt: skip
def decode(file, device, b, h, hk, m, n, d):
    q, k, v = _inputs(device, b, h, hk, m, n, d)

    def run():
        out, lse = torch.empty_like(q), torch.zeros(b, h, m, device=device)
        file._ffpa_attn_forward_decode_impl(q, k, v, out, lse, num_splits=4 if n < 1000 else 16)
        return out, lse

    return run, lambda: tm.attention(q, k, v)


@repository.case(FOLDER + "_ffpa_bwd.py", "_ffpa_bwd_pre_impl, _ffpa_bwd_kernel_impl", **SIZES, rtol=3e-2, atol=3e-2)  # fmt: skip
def gradients(file, device, **sizes):
    q, k, v = _inputs(device, **sizes)
    up = tm.normal(*q.shape, device=device, dtype=q.dtype)
    out, lse = tm.attention(q, k, v, causal=True)
    padding = -lse.shape[-1] % 128
    out = out.to(q.dtype)
    lse = torch.nn.functional.pad(lse.float(), (0, padding)).contiguous()

    def run():
        dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
        file._ffpa_attn_backward_triton_impl(up, q, k, v, out, lse, None, dq, dk, dv, None, True)
        return dq, dk, dv

    def want():
        def right(*x):
            return tm.attention(*x, causal=True)[0]

        return tm.with_gradients(right, up, q, k, v, exact=True)[1:]

    return run, want
