"""HyperAttention: keys and queries by hashes, attention between neighbours of the sorted ones."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("amirzandieh/HyperAttention", "aa5bb4572088dfa23c206a83a4388310ea791272")
BF16 = torch.bfloat16


@repository.case("src/angular_lsh_triton.py", "_angular_lsh_kernel", share=2e-2, small=dict(b=1, h=2, s=200, d=64), production=dict(b=4, h=32, s=16384, d=64))  # fmt: skip
def hashes(file, device, b, h, s, d):
    x = tm.normal(b, h, s, d, device=device, dtype=BF16)
    directions = tm.normal(1, 1, d, 7, device=device, dtype=BF16)
    places = torch.randperm(128, dtype=torch.int32).to(device)
    bits = (2 ** torch.arange(7)).view(1, 1, 1, -1).to(device)

    def want():
        positive = x.double() @ directions.double() > 0
        return places[(positive * bits).sum(-1)]

    return lambda: file._angular_lsh(x, directions, places, bits), want


def _attention(backward):
    def build(file, device, b, h, s, d, block, sample):
        q, k, v, up = (tm.normal(b, s, h, d, device=device, dtype=BF16) for _ in range(4))
        of_q, of_k = (torch.rand(b, s, h).argsort(1).to(device) for _ in range(2))

        def right(q, k, v):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            ranks = [x.argsort(1).transpose(1, 2) // block for x in (of_q, of_k)]
            counts = (ranks[0][..., None] == ranks[1][..., None, :]).double()
            counts[..., :sample] += 1  # A column that was drawn is counted in its block, too.
            p = (q @ k.transpose(-1, -2) * d**-0.5).exp() * counts
            return (p / p.sum(-1, keepdim=True) @ v).transpose(1, 2)

        def function(q, k, v):
            return file.HyperAttnFunc.apply(q, k, v, of_q, of_k, block, sample)[0]

        inputs = q, k, v
        if not backward:
            return lambda: function(*inputs), lambda: right(*(x.double() for x in inputs))
        return (
            lambda: tm.with_gradients(function, up, *inputs),
            lambda: tm.with_gradients(right, up.double(), *inputs, exact=True),
        )

    kernels = "_fwd_hyper_kernel"
    if backward:
        kernels += ", _bwd_preprocess_do_o_dot, _bwd_permuted_block_diagonal_kernel, _bwd_sampled_col_kernel"  # fmt: skip
    repository.case("src/hyper_attn_triton.py", kernels, rtol=3e-2, atol=5e-2, share=1e-3, name="attention" + "_gradient" * backward, small=dict(b=1, h=2, s=512, d=64, block=256, sample=128), production=dict(b=1, h=16, s=16384, d=64, block=512, sample=256))(build)  # fmt: skip


_attention(False)
_attention(True)
