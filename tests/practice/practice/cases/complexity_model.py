"""complexity-model: grouped products of sorted tokens, persistent or not, attention, fused MLPs."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Web3-League/complexity-model", "aa7a1d74df79ed38ddf77d533c3d2f1f69f66ed9")
FOLDER = "complexity/cuda/"


def _offsets(counts, device):
    return tm.starts(counts, device, torch.int64)


def _by_expert(x, counts, function):
    return torch.cat([function(e, part) for e, part in enumerate(x.cpu().double().split(counts))])


def _grouped(dtype):
    def build(file, device, e, m, k, n):
        counts = [m * (i + 1) // e for i in range(e)]
        x = tm.normal(sum(counts), k, device=device, dtype=dtype)
        w = tm.normal(e, k, n, device=device, dtype=dtype, scale=k**-0.5)
        return (
            lambda: file.cggr_grouped_gemm_triton(x, w, _offsets(counts, device)),
            lambda: _by_expert(x, counts, lambda i, part: part @ w[i].cpu().double()),
        )

    return build


for _dtype, _name in ((torch.float32, "grouped_gemm"), (torch.bfloat16, "grouped_gemm_bf16")):
    repository.case(f"{FOLDER}triton_token_routed.py", "_cggr_grouped_gemm_kernel", small=dict(e=3, m=90, k=70, n=100), production=dict(e=8, m=1024, k=1024, n=1024), rtol=1e-2, atol=1e-2, name=_name)(_grouped(_dtype))  # fmt: skip


# The kernel leaves out rows of a second expert in a block of 32.
@repository.case(f"{FOLDER}persistent_cggr.py", "_persistent_cggr_kernel", small=dict(counts=(32, 64), k=64, n=128, sms=4), production=dict(counts=(128, 64, 192, 128), k=512, n=512, sms=132), rtol=1e-2, atol=1e-2)  # fmt: skip
def persistent_gemm(file, device, counts, k, n, sms):
    x = tm.normal(sum(counts), k, device=device)
    w = tm.normal(len(counts), k, n, device=device, scale=k**-0.5)
    return (
        lambda: file.persistent_cggr_gemm(x, w, _offsets([*counts], device), sms),
        lambda: _by_expert(x, counts, lambda i, part: part @ w[i].cpu().double()),
    )


@repository.case(f"{FOLDER}persistent_cggr.py", "_persistent_swiglu_cggr_kernel", small=dict(counts=(32, 32), h=64, i=64, sms=4), production=dict(counts=(64, 128, 64), h=256, i=512, sms=132), rtol=1e-2, atol=1e-2)  # fmt: skip
def persistent_swiglu(file, device, counts, h, i, sms):
    x, e = tm.normal(sum(counts), h, device=device), len(counts)
    gate, up = (tm.normal(e, h, i, device=device, scale=h**-0.5) for _ in range(2))
    down = tm.normal(e, i, h, device=device, scale=i**-0.5)

    def run():
        out = torch.zeros_like(x)
        file._persistent_swiglu_cggr_kernel[(sms,)](
            x, gate, up, down, _offsets([*counts], device), out, len(x), h, i, e,
            *x.stride(), *gate.stride(), *up.stride(), *down.stride(), *out.stride(),
            NUM_SMS=sms, BLOCK_M=32, BLOCK_I=32, BLOCK_H=64,
        )  # fmt: skip
        return out

    def expert(i, part):
        g, u, d = (w[i].cpu().double() for w in (gate, up, down))
        return (F.silu(part @ g) * (part @ u)) @ d

    return run, lambda: _by_expert(x, counts, expert)


@repository.case(f"{FOLDER}quantization.py", "_int8_gemm_kernel", small=dict(m=70, k=96, n=100), production=dict(m=2048, k=4096, n=2048), rtol=2e-3, atol=1e-2)  # fmt: skip
def int8_gemm(file, device, m, k, n):
    a, b = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (k, n)))
    sa, sb = (torch.rand(x).to(device) / 100 for x in (m, n))
    return (
        lambda: file.int8_gemm(a, b, sa, sb, torch.float32),
        lambda: (a.double() @ b.double()) * sa.double()[:, None] * sb.double(),
    )


def _attention(causal):
    def build(file, device, b, h, n, d):
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(3))
        return (
            lambda: file.flash_attention_triton(q, k, v, causal),
            lambda: tm.attention(q, k, v, causal=causal)[0],
        )

    return build


for _name, _causal, _d in (("attention_causal", True, 64), ("attention_full_96", False, 96), ("attention_causal_256", True, 256)):  # fmt: skip
    repository.case(f"{FOLDER}fused_attention.py", "_flash_attention_fwd_kernel", small=dict(b=1, h=2, n=128, d=_d), production=dict(b=4, h=16, n=2048, d=_d), rtol=1e-2, atol=1e-2, name=_name)(_attention(_causal))  # fmt: skip


@repository.case(f"{FOLDER}fused_attention.py", "_fused_qk_rmsnorm_kernel", small=dict(b=1, h=2, n=30, d=48), production=dict(b=4, h=16, n=4096, d=128))  # fmt: skip
def qk_norm(file, device, b, h, n, d):
    q, k = (tm.normal(b, h, n, d, device=device) for _ in range(2))
    wq, wk = (tm.normal(d, device=device) for _ in range(2))
    return (
        lambda: file.fused_qk_rmsnorm(q, k, wq, wk),
        lambda: (tm.rms_norm(q, wq, 1e-6), tm.rms_norm(k, wk, 1e-6)),
    )


@repository.case(f"{FOLDER}fused_mlp.py", "_fused_rmsnorm_gate_up_kernel", small=dict(m=3, h=100, i=200), production=dict(m=64, h=2048, i=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def norm_gate_up(file, device, m, h, i):
    x, w = tm.normal(m, h, device=device), tm.normal(h, device=device)
    gate, up = (tm.normal(h, i, device=device, scale=h**-0.5) for _ in range(2))

    def want():
        y = tm.rms_norm(x, w, 1e-6)
        return y @ gate.double(), y @ up.double()

    return lambda: file.fused_rmsnorm_gate_up(x, w, gate, up), want


@repository.case(f"{FOLDER}fused_mlp.py", "_fused_full_mlp_kernel", small=dict(m=3, h=100, i=150), production=dict(m=64, h=512, i=1024), rtol=1e-4, atol=1e-4)  # fmt: skip
def full_mlp(file, device, m, h, i):
    x, w = tm.normal(m, h, device=device), tm.normal(h, device=device)
    gate, up = (tm.normal(h, i, device=device, scale=h**-0.5) for _ in range(2))
    down = tm.normal(i, h, device=device, scale=i**-0.5)

    def want():
        y = tm.rms_norm(x, w, 1e-6)
        return (F.silu(y @ gate.double()) * (y @ up.double())) @ down.double()

    return lambda: file.fused_mlp(x, w, gate, up, down), want
