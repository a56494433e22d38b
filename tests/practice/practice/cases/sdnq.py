"""SDNQ: products and attention by descriptors, as torch's custom operators, tuned after pruning."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Disty0/sdnq", "21d60c8c3fbd66501adfc8b8129f0b254cedfbac", packages={"sdnq": "src"},
    stand_ins={"sdnq.sdnext": {}, "sdnq.utils": {"get_cache_sizes": lambda device: (50 << 20, 227 << 10)}},
)  # fmt: skip
FP16 = torch.float16
HALF = dict(rtol=2e-2, atol=2e-2)
SMALL, LARGE = dict(m=70, n=96, k=80), dict(m=4096, n=4096, k=4096)


def _matrices(m, n, k, device, dtype, turned):
    a, b = (torch.randn(s) for s in ((m, k), (n, k) if turned else (k, n)))
    a, b = ((x * 20).round().clamp(-127, 127) if dtype == torch.int8 else x for x in (a, b))
    a, b = (x.to(dtype).to(device) for x in (a, b))
    return a, b.T if turned else b


for _name, _dtype, _turned, _bias in (
    ("fp16", FP16, False, 0), ("fp16_turned_with_bias", FP16, True, 1), ("int8_with_bias", torch.int8, False, 2),
):  # fmt: skip

    @repository.case("src/sdnq/kernels/triton_mm.py", "sdnq_triton_mm_kernel", small=SMALL, production=LARGE, name=f"product_{_name}", **HALF)  # fmt: skip
    def product(file, device, m, n, k, dtype=_dtype, turned=_turned, dims=_bias):
        a, b = _matrices(m, n, k, device, dtype, turned)
        bias = tm.normal(*(m, n)[2 - dims :], device=device) if dims else None
        return (
            lambda: torch.ops.sdnq.triton_mm(a, b, bias, torch.float32),
            lambda: a.double() @ b.double() + (bias.double() if dims else 0),
        )


for _name, _dtype, _turned, _whole in (("int8", torch.int8, True, False), ("fp16_one_scale", FP16, False, True)):  # fmt: skip

    @repository.case("src/sdnq/kernels/triton_scaled_mm.py", "sdnq_scaled_mm_kernel", small=SMALL, production=LARGE, name=f"scaled_product_{_name}", **HALF)  # fmt: skip
    def scaled_product(file, device, m, n, k, dtype=_dtype, turned=_turned, whole=_whole):
        a, b = _matrices(m, n, k, device, dtype, turned)
        row, column = (1, 1) if whole else (m, n)
        scale_a, scale_b = (torch.rand(s).to(device) / 10 for s in ((row, 1), (1, column)))
        bias = tm.normal(n, device=device)
        return (
            lambda: torch.ops.sdnq.scaled_mm(a, b, scale_a, scale_b, bias),
            lambda: a.double() @ b.double() * scale_a.double() * scale_b.double() + bias.double(),
        )


for _name, _causal, _mask in (("whole", False, False), ("causal", True, False), ("masked", False, True)):  # fmt: skip

    @repository.case("src/sdnq/kernels/triton_atten.py", "sdnq_attn_kernel", small=dict(z=2, h=2, n=80, d=32), production=dict(z=4, h=16, n=4096, d=128), name=f"attention_{_name}", **HALF)  # fmt: skip
    def attention(file, device, z, h, n, d, causal=_causal, masked=_mask):
        q, k, v = (tm.normal(z, h, n, d, device=device, dtype=FP16) for _ in range(3))
        mask = torch.rand(1, 1, n, n) < 0.8
        mask[..., 0] = True
        bias = torch.zeros(1, 1, n, n).masked_fill(~mask, -torch.inf).to(device)

        def run():
            given = mask.to(torch.int8).to(device) if masked else None
            out, lse = torch.ops.sdnq.triton_atten_lse_fwd(q, k, v, None, None, None, given, causal, d**-0.5)  # fmt: skip
            return out, lse

        def want():
            out, lse = tm.attention(q, k, v, causal=causal, bias=bias if masked else None)
            return out, lse / 0.6931471805599453

        return run, want
