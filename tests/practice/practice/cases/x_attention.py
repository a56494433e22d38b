"""x-attention: which blocks matter, by products of strided rows and sums of softmaxes over blocks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mit-han-lab/x-attention", "e37988770b9d1bebd489eba011d615f35587ba08")
FILE, BF16 = "xattn/src/kernels.py", torch.bfloat16


@repository.case(FILE, "flat_group_gemm_kernel", small=dict(h=1, q=128, k=256, d=64), production=dict(h=32, q=2048, k=2048, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def products(file, device, h, q, k, d):
    x, y = (tm.normal(1, h, n, d, device=device, dtype=BF16) for n in (q, k))
    return lambda: file.flat_group_gemm(x, y, k - q, k), lambda: x.double() @ y.double().mT


for _causal in (False, True):

    @repository.case(FILE, "flat_group_gemm_fuse_reshape_kernel", small=dict(h=1, q=256, k=512, d=64, stride=2), production=dict(h=32, q=16384, k=16384, d=128, stride=8), rtol=1e-2, atol=3e-2, name="antidiagonals" + "_causal" * _causal)  # fmt: skip
    def antidiagonals(file, device, h, q, k, d, stride, causal=_causal):
        x, y = (tm.normal(1, h, n, d, device=device, dtype=BF16) for n in (q, k))
        start = (k - q) // stride

        def run():
            out = file.flat_group_gemm_fuse_reshape(x, y, stride, start, k // stride, causal)
            return _seen(out) if causal else out

        def _seen(out):  # blocks after the diagonal are not written
            rows, columns = (torch.arange(n, device=device) // 128 for n in out.shape[-2:])
            return out.masked_fill(rows[:, None] + start // 128 < columns, 0)

        def want():
            rows = x.double().unflatten(2, (-1, stride)).flip(3).flatten(3)
            out = rows @ y.double().unflatten(2, (-1, stride)).flatten(3).mT
            return _seen(out) if causal else out

        return run, want

    @repository.case(FILE, f"softmax_fuse_block_sum_kernel_{'non_' * (not _causal)}causal", small=dict(h=1, q=64, k=128, block=16, segment=64), production=dict(h=32, q=2048, k=2048, block=16, segment=512), rtol=1e-2, atol=1e-2, name="block_sums" + "_causal" * _causal)  # fmt: skip
    def block_sums(file, device, h, q, k, block, segment, causal=_causal):
        x = tm.normal(1, h, q, k, device=device, dtype=BF16)
        args = block, segment, k - q, k, k - 3, 0.5, causal

        def want():
            s = x.double() * 0.5
            if causal:
                s = s.masked_fill(torch.ones_like(s).triu(k - q + 1).bool(), -1e6)
            p = (s * torch.log(torch.tensor(2.0))).softmax(-1)
            p[:, :, q - 3 :] = 0
            return p.unflatten(3, (-1, block)).sum(-1).unflatten(2, (-1, block)).sum(3)

        return lambda: file.softmax_fuse_block_sum(x, *args), want
