"""triton-kernel-zoo: classics, as a textbook has them, and a product with 4-bit weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Gf0205/triton-kernel-zoo", "ff61628796da9761505cb4e1738154adb6c6aa2e")
HALF = dict(rtol=1e-2, atol=1e-2)
ROWS = dict(small=dict(m=5, n=300), production=dict(m=8192, n=4096))
F16 = torch.float16


@repository.case("kernels/02_softmax/softmax.py", "softmax_kernel", **ROWS, rtol=1e-4)
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.softmax(x), lambda: x.double().softmax(-1)


@repository.case("kernels/03_layernorm/RMSNorm.py", "rmsnorm_kernel", **ROWS, rtol=1e-4)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.rmsnorm(x, w), lambda: tm.rms_norm(x, w, 1e-5)


# Lanes after the row's end count in the variance, with the mean's square: only exact for powers of 2.
@repository.case("kernels/03_layernorm/layernorm.py", "layernorm_kernel", small=dict(m=5, n=256), production=dict(m=8192, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x = tm.normal(m, n, device=device)
    w, b = tm.normal(2, n, device=device)
    return lambda: file.layernorm(x, w, b), lambda: tm.layer_norm(x, w, b, 1e-5)


@repository.case("kernels/04_gemm/GEMM.py", "matmul_kernel", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=4096, k=4096), rtol=2e-3, atol=2e-2)  # fmt: skip
def gemm(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device, dtype=F16), tm.normal(k, n, device=device, dtype=F16)
    return lambda: file.matmul(a, b), lambda: a.double() @ b.double()


for _causal in (False, True):

    @repository.case("kernels/05_falsh_prefill/FlashAttention Prefill.py", "flash_attn_prefill_kernel", small=dict(n=150, h=2, d=64), production=dict(n=4096, h=32, d=128), **HALF, name="prefill" + "_causal" * _causal)  # fmt: skip
    def prefill(file, device, n, h, d, causal=_causal):
        q, k, v = (tm.normal(n, h, d, device=device, dtype=F16) for _ in range(3))
        heads = [x.transpose(0, 1) for x in (q, k, v)]
        return (
            lambda: file.flash_attn_prefill(q, k, v, causal),
            lambda: tm.attention(*heads, causal=causal)[0].transpose(0, 1),
        )


@repository.case("kernels/06_Paged Decode Attention/Paged Attention.py", "paged_decode_attention_kernel", small=dict(b=3, h=2, d=64, n=70), production=dict(b=64, h=32, d=128, n=2048), **HALF)  # fmt: skip
def paged_decode(file, device, b, h, d, n, block=16):
    blocks = -(-n // block)
    q = tm.normal(b, h, d, device=device, dtype=F16)
    k, v = (tm.normal(b * blocks, h, block, d, device=device, dtype=F16) for _ in range(2))
    table = torch.randperm(b * blocks, dtype=torch.int32).view(b, blocks).to(device)
    lengths = tm.lengths(b, n)
    counts = torch.tensor(lengths, dtype=torch.int32, device=device)

    def want():
        outs = []
        for i, length in enumerate(lengths):
            rows = (x[table[i].long()].transpose(0, 1).flatten(1, 2)[:, :length] for x in (k, v))
            outs.append(tm.attention(q[i][:, None], *rows)[0][:, 0])
        return torch.stack(outs)

    return lambda: file.paged_decode_attn(q, k, v, table, counts), want


@repository.case("kernels/07_Fused RoPE/RoPE.py", "fused_rope_kernel", small=dict(n=9, hq=6, hk=3, d=64), production=dict(n=8192, hq=32, hk=8, d=128), rtol=2e-3, atol=2e-3)  # fmt: skip
def rope(file, device, n, hq, hk, d):
    q, k = (tm.normal(n, h, d, device=device, dtype=F16) for h in (hq, hk))
    angles = torch.rand(n, d // 2).to(device) * 6
    cos, sin = angles.double().cos()[:, None], angles.double().sin()[:, None]
    return lambda: file.rope(q, k, angles), lambda: [tm.rotated(x, cos, sin) for x in (q, k)]


@repository.case("kernels/08_Fused SiLU-Mul/silu.py", "swiglu_hardcore_kernel", small=dict(m=3, n=1000), production=dict(m=1024, n=28672), rtol=2e-3, atol=2e-3)  # fmt: skip
def swiglu(file, device, m, n):
    gate, up = (tm.normal(m, n, device=device, dtype=F16) for _ in range(2))
    return lambda: file.swiglu_hardcore(gate, up), lambda: F.silu(gate.double()) * up.double()


@repository.case("kernels/09_W4A量化GEMM/w4a16.py", "w4a16_gemm_kernel", small=dict(m=70, n=256, k=256), production=dict(m=512, n=4096, k=4096), rtol=2e-3, atol=5e-2)  # fmt: skip
def w4a16(file, device, m, n, k):
    a = tm.normal(m, k, device=device, dtype=F16)
    weights = file.quantize_weight_w4(tm.normal(k, n, device=device, dtype=F16))
    exact = file.dequantize_weight_w4(*weights, k, n, 128)
    return lambda: file.w4a16_gemm(a, *weights), lambda: a.double() @ exact.double()
