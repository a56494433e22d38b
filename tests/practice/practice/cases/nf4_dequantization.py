"""NF4 dequantization: a table as nested choices, two scales."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice.case import Repository

repository = Repository("felipemcoelho/nf4-triton-dequantization", "bfacc6f87a5fe5ab667a58b7786bba5b8bd34100")  # fmt: skip
TABLE = torch.tensor([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
])  # fmt: skip


@repository.case("nf4_triton_dequantization/kernel_optimized.py", "_nf4_dequantize_kernel_final", small=dict(m=5, n=320), production=dict(m=8192, n=8192), rtol=1e-2)  # fmt: skip
def dequantized(file, device, m, n):
    codes, scales = torch.randint(0, 16, (m, n)), torch.randint(1, 256, (m, n // 64))
    groups = torch.rand(m, -(-n // 256))
    packed = (codes[:, ::2] << 4 | codes[:, 1::2]).to(torch.uint8).to(device)
    state = SimpleNamespace(
        absmax=scales.to(torch.uint8).to(device), state2=SimpleNamespace(absmax=groups.to(device)),
        dtype=torch.float16,
    )  # fmt: skip
    weight = SimpleNamespace(data=packed, quant_state=state)
    module = SimpleNamespace(weight=weight, out_features=m, in_features=n)

    def want():
        wide = groups.double().repeat_interleave(4, 1)[:, : n // 64] * scales / 127
        return (TABLE.double()[codes] * wide.repeat_interleave(64, 1)).to(device)

    return lambda: file._triton_dequantize_main(module), want
