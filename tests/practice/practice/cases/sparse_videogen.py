"""Sparse-VideoGen: tokens in the order of clusters or frames, and attention between clusters."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository


class _Timer:
    """A decorator and a context without effect."""

    def __init__(self, *_):
        pass

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


repository = Repository(
    "svg-project/Sparse-VideoGen",
    "5ce7b0127c0d44383ee8b9e5512431feb625f621",
    packages={"svg": "."},
    stand_ins={
        "flashinfer": {},
        "cuvs.cluster.kmeans": {},
        "svg.timer": {"time_logging_decorator": _Timer},
    },
)
PERMUTE, MODULATE = "svg/kernels/triton/permute.py", "svg/kernels/triton/modulate.py"
BF16 = torch.bfloat16


def _permute(kernel):
    def build(file, device, b, h, s, d):
        x = tm.normal(b, h, s, d, device=device, dtype=BF16)
        ids = torch.rand(b * h, s).argsort(-1).to(torch.int32).to(device)
        out = torch.empty_like(x)

        def run():
            getattr(file, kernel)[(b * h, file.triton.cdiv(s, 64))](x, ids, out, s, d, 64)
            return out

        def want():
            places = ids.long().view(b, h, s, 1).expand_as(x)
            if kernel == "_permute_kernel":
                return x.gather(2, places)
            return torch.empty_like(x).scatter(2, places, x)

        return run, want

    repository.case(PERMUTE, kernel, name=kernel.strip("_").removesuffix("_kernel"), small=dict(b=1, h=2, s=100, d=32), production=dict(b=1, h=24, s=74256, d=128))(build)  # fmt: skip


_permute("_permute_kernel")
_permute("_inverse_permute_kernel")


@repository.case(MODULATE, "_modulate_shift_fwd_fused", rtol=1e-2, atol=1e-2, small=dict(m=9, n=700), production=dict(m=32768, n=5120))  # fmt: skip
def modulate(file, device, m, n):
    x = tm.normal(1, m, n, device=device, dtype=BF16)
    width = 1 << (n - 1).bit_length()  # The factors are loaded without a mask.
    scale, shift = (tm.normal(width, device=device) for _ in range(2))

    def want():
        return x.double() * (1 + scale[:n].double()) + shift[:n].double()

    return lambda: file.triton_modulate_shift_forward(x, scale, shift, BF16), want


@repository.case("svg/models/wan/placement.py", "wan_sparse_head_placement_kernel", small=dict(b=1, h=4, d=32, text=5, frames=3, size=50), production=dict(b=1, h=24, d=128, text=226, frames=11, size=4080))  # fmt: skip
def head_placement(file, device, b, h, d, text, frames, size):
    s = text + frames * size
    q, k, v = (tm.normal(b, h, s, d, device=device, dtype=BF16) for _ in range(3))
    outs = [torch.empty_like(x) for x in (q, k, v)]
    kinds = (torch.arange(h) % 2).expand(b, h).contiguous().to(device)

    def run():
        file.wan_sparse_head_placement(q, k, v, *outs, kinds, text, frames, size)
        return outs

    def want():
        i = torch.arange(s)
        places = torch.where(i >= s - text, i, i % size * frames + i // size).to(device)
        rights = []
        for x in (q, k, v):
            right = x.clone()
            right[:, 1::2, places] = x[:, 1::2]
            rights.append(right)
        return rights

    return run, want


@repository.case("svg/kmeans_utils.py", "_dynamic_block_sparse_fwd_kernel", rtol=2e-2, atol=2e-2, small=dict(h=2, s=300, d=32, clusters=6), production=dict(h=12, s=16384, d=128, clusters=100))  # fmt: skip
def sparse_clusters(file, device, h, s, d, clusters):
    q, k, v = (tm.normal(1, h, s, d, device=device, dtype=BF16) for _ in range(3))

    def sizes():
        cuts = torch.stack([torch.randperm(s - 1)[: clusters - 1].add(1).sort().values for _ in range(h)])  # fmt: skip
        return torch.diff(cuts, prepend=torch.zeros(h, 1), append=torch.full((h, 1), s))

    of_q, of_k = sizes().long(), sizes().long()
    seen = torch.rand(h, clusters, clusters) < 0.3
    seen[..., 0] = True
    arguments = seen[None].to(device), of_q[None].to(device), of_k[None].to(device)

    def want():
        out = torch.empty_like(q, dtype=torch.float64)
        for head in range(h):
            rows = torch.arange(clusters).repeat_interleave(of_q[head])
            columns = torch.arange(clusters).repeat_interleave(of_k[head])
            mask = torch.zeros(s, s, dtype=torch.float64)
            mask.masked_fill_(~seen[head][rows][:, columns], float("-inf"))
            out[:, head] = tm.attention(q[:, head, None], k[:, head, None], v[:, head, None], bias=mask.to(device))[0][:, 0]  # fmt: skip
        return out

    return lambda: file.dynamic_block_sparse_fwd_triton(q, k, v, *arguments), want
