"""triton_kernels: products of ragged matrices, which make their kernels of the source of others."""

from __future__ import annotations

from contextlib import nullcontext
from unittest import mock

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("triton-lang/Triton-to-tile-IR", "50ec1da08373023d0aa8469725c6b59dbd2da16e", packages={"triton_kernels": "python/triton_kernels"}, inits=("triton_kernels.numerics_details",))  # fmt: skip
FOLDER = "python/triton_kernels/triton_kernels/"
HALF = dict(rtol=1e-2, atol=2e-2)
PADDED = "outside-view"


@triton.constexpr_function
def is_tileir():
    return False


if not hasattr(tl.target_info, "is_tileir"):
    tl.target_info.is_tileir = is_tileir  # of this repository's own Triton


def _hopper(device):
    """Where the host asks Triton what to compile for, not torch."""
    if device != "cpu":
        return nullcontext()
    kind, target = type(triton.runtime.driver.active), GPUTarget("cuda", 90, 32)
    return mock.patch.object(kind, "get_current_target", lambda _: target)


# Its tensors are views of larger ones, whose padding the kernels write.
@repository.case(f"{FOLDER}topk.py", "_topk_forward, streaming_topk", finds=PADDED, small=dict(m=37, n=45, k=4), production=dict(m=8192, n=128, k=8), rtol=1e-3, atol=1e-3)  # fmt: skip
def top_k(file, device, m, n, k):
    x = tm.normal(m, n, device=device)

    def run():
        found = file.topk(x, k)
        return found.vals, found.indx.long(), found.mask.storage.data

    def want():
        values, indices = x.double().topk(k)
        indices, order = indices.sort(-1)
        bits = torch.zeros(m, -(-n // 32) * 32, dtype=torch.int64).scatter(1, indices.cpu(), 1)
        words = (bits.unflatten(1, (-1, 32)) << torch.arange(32)).sum(-1)
        return values.softmax(-1).gather(1, order), indices, words

    return run, want


@repository.case(f"{FOLDER}compaction.py", "_masked_compaction", small=dict(m=31, n=64, k=8), production=dict(m=65536, n=128, k=16))  # fmt: skip
def compaction(file, device, m, n, k):
    indices = torch.rand(m, n).argsort(-1)[:, :k].to(torch.int32).to(device)
    values = tm.normal(m, k, device=device)
    mask = torch.rand(m, n) < 0.5
    words = (mask.int().unflatten(1, (-1, 32)) << torch.arange(32, dtype=torch.int32)).sum(-1)

    def want():
        kept = mask.gather(1, indices.cpu().long())
        order = (~kept).int().argsort(dim=1, stable=True)
        rows = (torch.where(kept, x.cpu(), -1).gather(1, order) for x in (values, indices))
        return tuple(rows)

    return lambda: file.compaction(values, indices, words.to(torch.int32).to(device)), want


@repository.case(f"{FOLDER}swiglu.py", "_swiglu", small=dict(m=33, n=100), production=dict(m=8192, n=5760), rtol=1e-3, atol=1e-3)  # fmt: skip
def swiglu(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device)

    def want():
        gate, linear = x.double()[:, ::2].clamp(max=1.5), x.double()[:, 1::2].clamp(-1.5, 1.5)
        return gate * torch.sigmoid(0.5 * gate) * (linear + 1)

    return lambda: file.swiglu(x, 0.5, file.PrecisionConfig(limit=1.5)), want


@repository.case(f"{FOLDER}numerics_details/mxfp.py", "_downcast_to_mxfp, _upcast_from_mxfp", small=dict(m=37, n=96), production=dict(m=8192, n=8192))  # fmt: skip
def microscaled(file, device, m, n):
    x, kinds = tm.normal(m, n, device=device, dtype=torch.bfloat16), (torch.uint8, tm.FP8)

    def both(down, up):
        return [up(*down(x, kind, -1), torch.bfloat16, -1) for kind in kinds]

    return (
        lambda: both(file.downcast_to_mxfp, file.upcast_from_mxfp),
        lambda: both(file.downcast_to_mxfp_torch, file.upcast_from_mxfp_torch),
    )


@repository.case(f"{FOLDER}reduce.py", "_reduce_forward", small=dict(k=4, m=31, n=50), production=dict(k=8, m=4096, n=4096), **HALF)  # fmt: skip
def reduced(file, device, k, m, n):
    x, mask = tm.normal(k, m, n, device=device), (torch.rand(k, m, 1) < 0.6).expand(k, m, n).to(device)  # fmt: skip
    return (
        lambda: file.reduce(x, 0, mask=mask)[0],
        lambda: torch.where(mask, x.double(), 0.0).sum(0),
    )


def _product(is_ragged):
    def build(file, device, m, n, k, experts):
        half = torch.float16
        from triton_kernels.tensor_details.ragged_tensor import make_ragged_tensor_metadata

        a = tm.normal(m, k, device=device, dtype=half)
        w = tm.normal(experts, k, n, device=device, dtype=half, scale=0.2)
        bias = tm.normal(experts, n, device=device)
        sizes = torch.tensor([m // experts] * (experts - 1) + [m - m // experts * (experts - 1)])
        rows = torch.randperm(m)

        def run():
            with _hopper(device):
                if not is_ragged:
                    return file.matmul(a, w[0], bias[0], precision_config=file.PrecisionConfig())
                ragged = make_ragged_tensor_metadata(sizes.to(torch.int32).to(device), m)
                return file.matmul(
                    a, w, bias, ragged, gather_indx=rows.to(torch.int32).to(device),
                    precision_config=file.PrecisionConfig(),
                )  # fmt: skip

        def want():
            x, weights, shift = (t.cpu().double() for t in (a, w, bias))
            if not is_ragged:
                return x @ weights[0] + shift[0]
            parts = x[rows].split(sizes.tolist())
            return torch.cat([p @ weights[e] + shift[e] for e, p in enumerate(parts)])

        return run, want

    return build


for _name, _ragged in (("product", False), ("ragged_product", True)):
    repository.case(f"{FOLDER}matmul.py", "_matmul, _p_matmul", small=dict(m=100, n=96, k=64, experts=3), production=dict(m=4096, n=2880, k=2880, experts=32), name=_name, finds=PADDED * _ragged, **HALF)(_product(_ragged))  # fmt: skip
