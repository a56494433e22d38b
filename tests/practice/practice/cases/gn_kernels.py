"""gn-kernels: products and attention of int8, fp16 sums, tuples of strides, one loop in two forms."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gau-nernst/gn-kernels", "ba18197032228d112a36bf4105b1a0a96dd0ca50")
FP16 = torch.float16
HALF = dict(rtol=2e-2, atol=2e-2)


def _fewer(tuned):
    """Two of its 54 configurations: those that it took on GPUs like these."""
    tuned.configs = [c for c in tuned.configs if (c.kwargs["BLOCK_M"], c.kwargs["BLOCK_N"], c.num_warps) == (128, 64, 8)][:2]  # fmt: skip


for _name, _dtype, _turned in (("fp16", FP16, False), ("fp16_sums", FP16, True), ("int8", torch.int8, True), ("fp8", tm.FP8, True)):  # fmt: skip

    @repository.case("gn_kernels/triton_mm.py", "triton_mm_kernel", small=dict(m=70, n=96, k=160), production=dict(m=4096, n=4096, k=4096), name=f"product_{_name}", rtol=3e-2, atol=5e-2)  # fmt: skip
    def product(file, device, m, n, k, dtype=_dtype, turned=_turned, half=_name == "fp16_sums"):
        a, b = (torch.randn(s) * k**-0.25 for s in ((m, k), (n, k) if turned else (k, n)))
        a, b = ((x * 40).round().clamp(-127, 127) if dtype == torch.int8 else x for x in (a, b))
        a, b = (x.to(dtype).to(device) for x in (a, b))
        b = b.T if turned else b
        bias = tm.normal(n, device=device, dtype=FP16)
        scale_a, scale_b = ((torch.rand(s) / 1600).to(device) for s in ((m, 1), (1, n)))
        scales = {} if dtype == FP16 else dict(scale_a=scale_a, scale_b=scale_b)
        more = dict(acc_dtype=FP16) if half else {}
        given = {key[:-1] + key[-1].upper(): x for key, x in scales.items()}

        def want():
            c = a.float().double() @ b.float().double()
            for x in scales.values():
                c = c * x.double()
            return c + bias.double()

        return lambda: file.triton_mm(a, b, bias, **given, out_dtype=FP16, **more), want


for _name, _causal, _int8, _half in (("whole", False, False, True), ("causal", True, False, False), ("of_int8", False, True, False)):  # fmt: skip

    @repository.case("gn_kernels/triton_attn.py", "_forward_loop, triton_attn_kernel", small=dict(b=1, n=256, h=4, hk=2, d=64), production=dict(b=2, n=4096, h=32, hk=8, d=128), name=f"attention_{_name}", rtol=3e-2, atol=3e-2)  # fmt: skip
    def attention(file, device, b, n, h, hk, d, causal=_causal, int8=_int8, half=_half):
        q, k, v = (torch.randn(b, n, heads, d) for heads in (h, hk, hk))
        scales = []
        if int8:
            q, k = ((x * 30).round().clamp(-127, 127).to(torch.int8) for x in (q, k))
            scales = [(torch.rand(b, heads, n) / 20).to(device) for heads in (h, hk)]
        else:
            q, k = q.to(FP16), k.to(FP16)
        q, k, v = q.to(device), k.to(device), v.to(FP16).to(device)
        tuned = file.triton_scaled_qk_attn_kernel_autotune if int8 else file.triton_attn_kernel_autotune  # fmt: skip
        _fewer(tuned)

        def want():
            a, c, e = (x.double().transpose(1, 2) for x in (q, k, v))
            if int8:
                a, c = (x * s.double()[..., None] for x, s in zip((a, c), scales, strict=True))
            return tm.attention(a, c, e, causal=causal)[0].transpose(1, 2)

        return lambda: file.triton_attn(q, k, v, *scales, causal=causal, pv_fp16_acc=half), want


@repository.case("gn_kernels/triton_attn.py", "_forward_loop, triton_varlen_attn_kernel", small=dict(b=3, n=150, h=4, hk=2, d=64), production=dict(b=8, n=2048, h=32, hk=8, d=128), **HALF)  # fmt: skip
def attention_of_any_lengths(file, device, b, n, h, hk, d):
    lengths = tm.lengths(b, n)
    starts = tm.starts(lengths, device)
    q, k, v = (tm.normal(sum(lengths), heads, d, device=device, dtype=FP16) for heads in (h, hk, hk))  # fmt: skip

    def want():
        parts = zip(*(x.transpose(0, 1).split(lengths, 1) for x in (q, k, v)), strict=True)
        return torch.cat([tm.attention(*a)[0] for a in parts], 1).transpose(0, 1)

    return lambda: file.triton_varlen_attn(q, k, v, starts, starts, n), want
