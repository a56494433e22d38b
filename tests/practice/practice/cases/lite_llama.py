"""lite_llama: products with weights of 4 and 8 bits, experts, decoding in parts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "harleyszhang/lite_llama", "3c22cc9bb8b50b8cc8af50600fb7e0d0a7cf9910", packages={"lite_llama": "."},
    stand_ins={"lite_llama.kernels.utils": {}},
)  # fmt: skip
FOLDER = "lite_llama/kernels/"
FP16 = torch.float16
HALF = dict(rtol=2e-2, atol=2e-2)


@repository.case(FOLDER + "quantization/w4a16.py", "_w4a16_matmul_kernel", small=dict(m=20, n=96, k=256), production=dict(m=64, n=4096, k=4096), **HALF)  # fmt: skip
def product_of_4_bits(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=FP16, scale=0.1)
    codes = torch.randint(0, 16, (n, k))
    scales, zeros = torch.rand(n, k // 128), torch.randint(0, 16, (n, k // 128)).float()
    packed, s, z = (a.to(device) for a in (tm.packed_int4(codes), scales, zeros))

    def want():
        w = (codes.double().unflatten(-1, (-1, 128)) - zeros.double()[..., None]) * scales.double()[..., None]  # fmt: skip
        return x.double() @ w.flatten(-2).to(device).T

    return lambda: file.w4a16_matmul(x, packed, s, z), want


@repository.case(FOLDER + "quantization/w8a8.py", "_quantize_activations_kernel, _smoothquant_matmul_kernel", small=dict(m=150, n=300, k=200), production=dict(m=4096, n=8192, k=4096), **HALF)  # fmt: skip
def product_of_int8(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=FP16)
    w = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scales = (torch.rand(n) / 500).to(device)
    bias = tm.normal(n, device=device)

    def want():
        top = x.double().abs().amax(-1, keepdim=True) / 127
        return (x.double() / top).trunc() * top @ (w.double() * scales.double()[:, None]).T + bias.double()  # fmt: skip

    return lambda: file.smoothquant_matmul(x, w, scales, bias=bias), want


def _eight_bits(is_fp8, *shape, group_n, group_k, device):
    """Weights of 8 bits, their scales, and what they stand for in float64."""
    if is_fp8:
        fp8 = tm.fp8(*shape, device=device)
        w, given = fp8.float().double(), fp8.view(torch.uint8)
    else:
        given = tm.integers(-127, 128, *shape, device=device, dtype=torch.int8)
        w = given.double() / 64
    *e, n, k = shape
    scales = (torch.rand(*e, -(-n // group_n), -(-k // group_k)) * 0.2).to(device)
    wide = scales.double().repeat_interleave(group_n, -2)[..., :n, :]
    wide = wide.repeat_interleave(group_k, -1)[..., :k]
    return given, scales if is_fp8 else scales / 64, w * wide


for _fp8 in (True, False):

    @repository.case(FOLDER + "quantization/w8a16.py", "dequant_fp8e4m3, _w8a16_matmul_kernel" if _fp8 else "_w8a16_matmul_kernel", small=dict(m=20, n=200, k=256), production=dict(m=64, n=8192, k=8192) if _fp8 else dict(m=4096, n=4096, k=4096), name="product_of_" + ("fp8" if _fp8 else "int8_and_fp16"), **HALF)  # fmt: skip
    def product_of_8_bits(file, device, m, n, k, fp8=_fp8):
        x = tm.normal(m, k, device=device, dtype=FP16, scale=0.5)
        group = (128, 128) if fp8 else (1, k)
        w, scales, exact = _eight_bits(fp8, n, k, group_n=group[0], group_k=group[1], device=device)
        return (
            lambda: file.w8a16_matmul(x, w, scales, group_n=group[0], group_k=group[1]),
            lambda: x.double() @ exact.T,
        )

    @repository.case(FOLDER + "fused_moe.py", "_fused_moe_kernel, _silu_and_mul_kernel, _moe_sum_kernel", small=dict(m=20, e=4, topk=2, n=96, k=128), production=dict(m=2048, e=64, topk=8, n=768, k=2048), name="experts" + "_of_fp8" * _fp8, **HALF)  # fmt: skip
    def experts(file, device, m, e, topk, n, k, fp8=_fp8):
        file.torch_to_triton_dtype = {FP16: file.tl.float16}
        x = tm.normal(m, k, device=device, dtype=FP16)
        weights, ids = tm.topk_ids(m, e, topk, device)
        if fp8:
            parts = [_eight_bits(True, e, *s, group_n=128, group_k=128, device=device) for s in ((2 * n, k), (k, n))]  # fmt: skip
            (w1, s1, exact1), (w2, s2, exact2) = parts
            more = dict(w1_scale=s1, w2_scale=s2, group_n=128, group_k=128)
        else:
            w1, w2 = (tm.normal(e, *s, device=device, dtype=FP16, scale=0.1) for s in ((2 * n, k), (k, n)))  # fmt: skip
            exact1, exact2, more = w1, w2, {}

        def want():
            h = tm.silu_mul(tm.moe(x, exact1, ids)).flatten(0, 1)
            y = tm.moe(h, exact2, ids.reshape(-1, 1))
            return (y.view(m, topk, k) * weights.double()[..., None]).sum(1)

        return lambda: file.fused_moe(x, w1, w2, weights, ids, **more), want


@repository.case(FOLDER + "flashdecoding.py", "_flash_decoding_stage1_kernel, _flash_decoding_stage2_kernel", small=dict(b=3, n=300, h=4, hk=2, d=64), production=dict(b=32, n=4096, h=32, hk=8, d=128), **HALF)  # fmt: skip
def decoding(file, device, b, n, h, hk, d):
    lengths = tm.lengths(b, n)
    q = tm.normal(b, h, d, device=device, dtype=FP16)
    k, v = (tm.normal(b * n, hk, d, device=device, dtype=FP16) for _ in range(2))
    table = torch.randperm(b * n).view(b, n).to(torch.int32).to(device)
    slots = torch.randperm(b).to(torch.int32).to(device)
    lens = torch.tensor(lengths, dtype=torch.int32, device=device)

    def want():
        rows = []
        for i, length in enumerate(lengths):
            at = table[slots[i].long(), :length].long()
            a, c = (x[at].transpose(0, 1) for x in (k, v))
            rows.append(tm.attention(q[i][:, None], a, c)[0][:, 0])
        return torch.stack(rows)

    return lambda: file.flash_decoding(q, k, v, d**-0.5, table, slots, lens, n), want
