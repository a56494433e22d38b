"""punica_triton_kernel: products with the LoRA matrices that each token or sequence asks for."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "jeejeelee/punica_triton_kernel",
    "17c316f3758a76dd66aa75b63ff8779f12340aca",
    packages={"kernels": "."},
)
F16 = torch.float16


def _ids(device, count, loras):
    ids = torch.arange(count) * 5 % loras
    ids[1] = -1  # one without a LoRA
    return ids.to(device)


def _product(x, weights, ids):
    out = [x[i].double() @ weights[j].double().T * (j >= 0) for i, j in enumerate(ids.tolist())]
    return torch.stack(out)


@repository.case("kernels/sgmv_shrink.py", "_sgmv_shrink_kernel", rtol=1e-2, atol=1e-2, small=dict(lengths=(50, 33, 71), loras=3, k=200, rank=16), production=dict(lengths=(512,) * 32, loras=16, k=4096, rank=64))  # fmt: skip
def sequences_shrink(file, device, lengths, loras, k, rank):
    x = tm.normal(sum(lengths), k, device=device, dtype=F16)
    weights = tm.normal(loras, rank, k, device=device, dtype=F16, scale=k**-0.5)
    ids = _ids(device, len(lengths), loras)
    sizes = torch.tensor(lengths).to(device)
    starts = sizes.cumsum(0) - sizes

    def run():
        out = torch.zeros(len(x), rank, device=device)
        file.sgmv_shrink(x, weights, out, starts, sizes, ids, len(lengths), max(lengths), 0.5)
        return out

    def want():
        return 0.5 * _product(x, weights, ids.repeat_interleave(sizes))

    return run, want


@repository.case("kernels/bgmv_shrink.py", "_bgmv_shrink_kernel", rtol=1e-2, atol=1e-2, small=dict(n=5, loras=3, k=600, rank=12), production=dict(n=512, loras=32, k=16384, rank=64))  # fmt: skip
def tokens_shrink(file, device, n, loras, k, rank):
    x = tm.normal(n, k, device=device, dtype=F16)
    weights = tm.normal(loras, rank, k, device=device, dtype=F16, scale=k**-0.5)
    ids = _ids(device, n, loras)

    def run():
        out = torch.zeros(n, rank, device=device)
        file.bgmv_shrink(x, weights, out, ids, 0.5)
        return out

    return run, lambda: 0.5 * _product(x, weights, ids)


@repository.case("kernels/bgmv_expand_slice.py", "_bgmv_expand_slice_kernel", rtol=2e-2, atol=2e-2, small=dict(n=5, loras=3, rank=12, out=320), production=dict(n=1024, loras=32, rank=64, out=4096))  # fmt: skip
def tokens_expand_slice(file, device, n, loras, rank, out):
    x = tm.normal(n, rank, device=device)
    weights = tm.normal(loras, out, rank, device=device, dtype=F16, scale=rank**-0.5)
    given = tm.normal(n, 3 * out, device=device, dtype=F16)
    ids = _ids(device, n, loras)

    def run():
        result = given.clone()
        file.bgmv_expand_slice(x, weights, result, ids, out, out)
        return result

    def want():
        result = given.double()
        result[:, out : 2 * out] += _product(x.to(F16), weights, ids)
        return result

    return run, want
