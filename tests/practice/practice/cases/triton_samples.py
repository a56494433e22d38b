"""triton-samples: small kernels of unusual parts of the language; the files launch them at import."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Deep-Learning-Profiling-Tools/triton-samples", "07f349c82c26262f2f4614d1511ebff17b5731c3")  # fmt: skip
FP16 = torch.float16


@repository.case("ops/gather.py", "kernel", small=dict(n=32, c=8), production=dict(n=512, c=64))
def gather(file, device, n, c):
    x = tm.normal(n, c, device=device, dtype=FP16)
    index = [tm.integers(0, most, n, c, device=device, dtype=torch.int32) for most in (n, c)]

    def run():
        outs = [torch.empty_like(x) for _ in index]
        for axis, out in enumerate(outs):
            file.kernel[(1,)](x, index[axis], out, axis, n, c)
        return outs

    return run, lambda: [x.gather(axis, index[axis].long()) for axis in (0, 1)]


@repository.case("ops/scan-2d.py", "kernel", small=dict(m=3, n=32, c=4), production=dict(m=1024, n=64, c=16), rtol=1e-2, atol=1e-2)  # fmt: skip
def scan(file, device, m, n, c):
    x, out = tm.normal(m, n, c, device=device), torch.empty(m, n, c, device=device)

    def run():
        file.kernel[(m,)](x, out, c, c, n)
        return out

    def want():
        y = x.double()
        for _ in range(10):
            y = y.cumsum(1)
        return y

    return run, want


def _permuted(file, name, axis, shift):
    def build(module, device, n):
        shape = (n,) if axis is None else (n, n)
        x, out = tm.normal(*shape, device=device), torch.empty(*shape, device=device)

        def run():
            module.kernel[(1,)](x, out, n)
            return out

        return run, lambda: x.roll(-shift if axis is None else shift, axis or 0)

    repository.case(file, f"kernel, {name}", small=dict(n=32), production=dict(n=32), name=name)(build)  # fmt: skip


_permuted("ops/permute1d.py", "permute", None, -15)
_permuted("ops/permute2d-col.py", "permute2d_col", 1, -8)


@repository.case("ops/binary-search.py", "kernel, binary_search", small=dict(n=64, c=16), production=dict(n=512, c=64))  # fmt: skip
def search(file, device, n, c):
    codes = torch.randint(0, 100, (c,), dtype=torch.int32).sort().values
    codes[-1] = 100
    codes, x = codes.to(device), tm.integers(0, 100, n, device=device, dtype=torch.int32)
    out = torch.empty_like(x)

    def run():
        file.kernel[(1,)](x, out, codes, n, c)
        return out

    return run, lambda: codes[torch.searchsorted(codes, x)]


@repository.case("ops/float64-log.py", "kernel2", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-12, atol=1e-12)  # fmt: skip
def logarithm(file, device, n):
    x = torch.rand(n, dtype=torch.float64).to(device) + 1e-3
    out = torch.empty_like(x)

    def run():
        file.kernel2[(file.triton.cdiv(n, 1024),)](x, out, n, 1024)
        return out

    return run, lambda: x.log()
