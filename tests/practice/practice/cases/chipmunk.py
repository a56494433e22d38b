"""chipmunk: a multi-layer perceptron whose hidden units are chosen for each group of tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("sandyresearch/chipmunk", "64d197c52cdb76d0e9b391f467e3cc742d9b47a7")
AT_IMPORT = dict.fromkeys(("cpu", "check", "interpreter", "gpu-compile"), "the file launches when it is imported")  # fmt: skip
SIZES = dict(small=dict(m=256, n=512, k=128, part=256), production=dict(m=4096, n=12288, k=3072, part=3840))  # fmt: skip


def _chosen(device, m, n, part):
    ids = torch.rand(m // 128, n).argsort(-1).to(torch.int32)
    return ids.to(device), torch.full((m // 128,), part, dtype=torch.int32, device=device)


@repository.case("src/chipmunk/triton/csp_mlp_mm1.py", "matmul_kernel_one_fp8, gelu", rtol=3e-2, atol=6e-2, share=1e-3, **SIZES)  # fmt: skip
def up(file, device, m, n, k, part):
    a, b = (tm.fp8(*s, device=device) for s in ((m, k), (n, k)))
    bias, old = tm.normal(n, device=device), tm.normal(n, m, device=device, dtype=torch.bfloat16)
    ids, counts = _chosen(device, m, n, part)
    scale = torch.full((1,), k**-0.5, device=device)
    one = torch.ones(1, device=device)

    def run():
        all_of, packed = old.clone(), torch.zeros(m, n, device=device, dtype=torch.bfloat16)
        file.csp_mlp_mm1(a, b, bias, ids, counts, all_of, packed, scale, one)
        return all_of  # Tuning has stored the difference to itself as packed.

    def want():
        y = a.float().double() @ b.float().double().T * k**-0.5 + bias.double()
        y, before = F.gelu(y, approximate="tanh"), old.double().T
        all_of = before.clone()
        for i in range(m // 128):
            rows, columns = slice(128 * i, 128 * (i + 1)), ids[i, :part].long()
            all_of[rows, columns] = y[rows, columns]
        return all_of.T

    return run, want


# The last iteration loads the next block of numbers, past the end of the list, as does the launch
# that the file makes when it is imported.
@repository.case("src/chipmunk/triton/csp_mlp_mm2.py", "csp_mlp_mm2_kernel", finds="oob-load", not_in=AT_IMPORT, rtol=3e-2, atol=6e-2, small=dict(m=256, n=256, k=512, part=256), production=dict(m=4096, n=3072, k=12288, part=3840))  # fmt: skip
def down(file, device, m, n, k, part):
    a = tm.normal(m, k, device=device, dtype=torch.bfloat16)
    b = tm.normal(k, n, device=device, dtype=torch.bfloat16, scale=part**-0.5)
    c = tm.normal(m, n, device=device, dtype=torch.bfloat16)
    ids, counts = _chosen(device, m, k, part)

    def run():
        out = c.clone()
        file.csp_mlp_mm2(a, b, ids, counts, out, 132)
        return out

    def want():
        y = c.double()
        for i in range(m // 128):
            rows = slice(128 * i, 128 * (i + 1))
            y[rows] += a[rows, :part].double() @ b[ids[i, :part].long()].double()
        return y

    return run, want
