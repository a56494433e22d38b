"""ATorch: biases of experts, and fp8 tiles whose scales are powers of two."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "intelligent-machine-learning/atorch",
    "7fb7da86be5794c57440db5b96f3278c158f0c7a",
    packages={"atorch": "."},
    stand_ins={"atorch.utils.import_util": {"is_triton_available": lambda: True}},
)
FP8 = "atorch/modules/fp8/triton_kernel.py"
BF16 = torch.bfloat16
TILES = dict(small=dict(m=128, n=256), production=dict(m=16384, n=7168))


@repository.case("atorch/kernels/triton_jit/bias_gather_add.py", "_bias_gather_add_fw, _bias_gather_add_bw", rtol=1e-2, atol=1e-2, small=dict(m=20, n=200, experts=3), production=dict(m=8192, n=4096, experts=64))  # fmt: skip
def bias_of_experts(file, device, m, n, experts):
    x, up = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    bias = tm.normal(experts, n, device=device, dtype=BF16)
    ids = tm.integers(0, experts, m, device=device).sort().values
    return (
        lambda: tm.with_gradients(lambda *a: file.bias_gather_add(*a, ids), up, x, bias),
        lambda: tm.with_gradients(lambda x, b: x + b[ids.long()], up.double(), x, bias, exact=True),
    )


@repository.case(FP8, "tile_quant_kernel", share=1e-4, rtol=0.0, atol=0.0, **TILES)
def tiles_quantised(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def want():
        tiles = x.float().unflatten(1, (-1, 128))
        scales = (tiles.abs().amax(-1) / 448).log2().ceil().exp2()
        return (tiles / scales[..., None]).flatten(1).to(tm.FP8), scales

    return lambda: file.tile_quant(x, scale_rounding_mode=file.RoundingMode.ceil), want


@repository.case(FP8, "block_quant_kernel", share=1e-4, rtol=1e-6, atol=0.0, **TILES)
def blocks_quantised(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def want():
        blocks = x.float().unflatten(1, (-1, 128)).unflatten(0, (-1, 128))
        scales = blocks.abs().amax((1, 3)) / 448
        return (blocks / scales[:, None, :, None]).flatten(2).flatten(0, 1).to(tm.FP8), scales

    return lambda: file.block_quant(x), want


@repository.case(FP8, "tile_dequant_kernel", rtol=1e-2, atol=1e-3, **TILES)
def tiles_dequantised(file, device, m, n):
    x, scales = tm.fp8(m, n, device=device), torch.rand(m, n // 128).to(device)
    return lambda: file.dequant(x, scales, BF16), lambda: tm.dequantised_blocks(x, scales, 128)
