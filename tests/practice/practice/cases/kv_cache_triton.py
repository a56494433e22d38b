"""kv-cache-triton: caches of keys and values in 4 bits, and attention that reads them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "johnchmura/kv-cache-triton",
    "acf2f746e0bc2621b69c361591779df9b5460c01",
    packages={"kernels": "."},
)
SIZES = dict(small=dict(b=2, h=2, n=20, d=64), production=dict(b=4, h=8, n=8192, d=128))


def _packed(*shape, device):
    """Bytes of two 4-bit numbers, the scales of each 32, and what they mean."""
    packed = tm.integers(0, 256, *shape[:-1], shape[-1] // 2, device=device, dtype=torch.uint8)
    scales = (torch.rand(*shape[:-1], shape[-1] // 32) * 0.3 + 0.05).half().to(device)
    numbers = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).double() - 8
    return packed, scales, lambda: tm.dequantised_blocks(numbers, scales, 32)


@repository.case("kernels/gpt2/quantize.py", "_quantize_int4_kernel", rtol=1e-3, atol=0.0, share=1e-3, **SIZES)  # fmt: skip
def quantise(file, device, b, h, n, d):
    x = tm.normal(b, h, n, d, device=device, dtype=torch.float16)

    def want():
        groups = x.float().unflatten(-1, (-1, 32))
        scales = groups.abs().amax(-1, keepdim=True) / 7
        q = groups / scales
        q = ((q.abs() + 0.5).floor() * q.sign() + 8).flatten(-2).to(torch.uint8)
        return q[..., ::2] | q[..., 1::2] << 4, scales[..., 0]

    return lambda: file.quantize_int4(x), want


@repository.case("kernels/gpt2/quantize.py", "_dequantize_int4_kernel", rtol=1e-3, atol=1e-3, **SIZES)  # fmt: skip
def dequantise(file, device, b, h, n, d):
    packed, scales, meaning = _packed(b, h, n, d, device=device)
    return lambda: file.dequantize_int4(packed, scales), meaning


@repository.case("kernels/llama3/attention_quant.py", "_attention_fwd_quant_gqa_kernel", rtol=2e-2, atol=2e-2, small=dict(b=2, hq=4, hk=2, m=20, n=50, d=64), production=dict(b=2, hq=32, hk=8, m=2048, n=2048, d=128))  # fmt: skip
def attention(file, device, b, hq, hk, m, n, d):
    q = tm.normal(b, hq, m, d, device=device, dtype=torch.bfloat16, scale=0.5)
    k, v = (_packed(b, hk, n, d, device=device) for _ in range(2))

    def run():
        heads = dict(n_q_heads=hq, n_kv_heads=hk)
        return file.attention_forward_quant_gqa(q, *k[:2], *v[:2], **heads, is_causal=True)

    return run, lambda: tm.attention(q, k[2](), v[2](), causal=True)[0]
