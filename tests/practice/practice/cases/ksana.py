"""KsanaLLM: experts in fp8, weights with a factor for each 128 elements along K."""

from __future__ import annotations

import torch
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Tencent/KsanaLLM", "c451219c0c447b2672faee44c9182c607dc2d964", stand_ins={"common": {}},
)  # fmt: skip
FILE = "3rdparty/LLM_kernels/csrc/kernels/nvidia/moe/fused_moe_gptq_int4_fp8_kernel/fused_moe_gptq_int4_fp8_kernel.py"  # noqa: E501


def _sorted(ids, experts, block):
    """Slots by expert, each expert's filled up to blocks, and the expert of each block."""
    slots, owners = [], []
    for expert in range(experts):
        mine = (ids.flatten() == expert).nonzero()[:, 0].tolist()
        mine += [ids.numel()] * (-len(mine) % block)
        slots += mine
        owners += [expert] * (len(mine) // block)
    return (torch.tensor(x, dtype=torch.int32) for x in (slots, owners, [len(slots)]))


@repository.case(FILE, "fused_moe_gptq_int4_fp8_kernel", small=dict(m=20, n=256, k=256, e=4, t=2), production=dict(m=2048, n=4096, k=4096, e=16, t=4), rtol=2e-2, atol=2e-2)  # fmt: skip
def experts(file, device, m, n, k, e, t, block=64):
    x, w = tm.fp8(m, k, device=device), tm.fp8(e, n, k, device=device)
    of_x, of_w = torch.rand(m, k // 128).to(device), torch.rand(e, n, k // 128).to(device)
    shares, ids = tm.topk_ids(m, e, t, device)
    slots, owners, count = (s.to(device) for s in _sorted(ids.cpu(), e, block))
    config = dict(BLOCK_SIZE_M=block, BLOCK_SIZE_N=128, BLOCK_SIZE_K=128, GROUP_SIZE_M=8, num_warps=4, num_stages=3)  # fmt: skip

    def run():
        out = torch.zeros(m, t, n, device=device, dtype=torch.bfloat16)
        file.fused_moe_gptq_int4_fp8(x, w, out, of_x, of_w, shares, ids, slots, owners, count, True, t, config, tl.bfloat16, False, [1, 128])  # fmt: skip
        return out.double() * k**-0.5

    def want():
        a = tm.dequantised_blocks(x, of_x, 1, 128)
        b = tm.dequantised_blocks(w, of_w, 1, 1, 128)
        return tm.moe(a, b, ids) * shares.double()[..., None] * k**-0.5

    return run, want
