"""Triton's benchmarks for Intel GPUs: products, a Stream-K product and attention by tensor
descriptors, running sums. Their configurations have an option of that backend, so that the kernels
below them are launched."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "intel/intel-xpu-backend-for-triton",
    "6c1649935d83fcc8dff48f608f6556cb50d6a6fb",
    stand_ins={"triton_kernels_benchmark": {}},
)
FOLDER = "benchmarks/triton_kernels_benchmark"
BF16, F16 = torch.bfloat16, torch.float16

for _axis in (0, 1):

    @repository.case(f"{FOLDER}/prefix_sums.py", "scan_kernel", small=dict(m=32, n=16), production=dict(m=64, n=64), rtol=1e-4, name=f"running_sums_{_axis}")  # fmt: skip
    def running_sums(file, device, m, n, axis=_axis):
        x = tm.normal(m, n, device=device)

        def run():
            got = x.clone()
            file.scan_kernel[(1,)](got, m, n, axis)
            return got

        return run, lambda: x.double().cumsum(axis)


@repository.case(f"{FOLDER}/gemm_streamk_benchmark.py", "first_wave, full_tiles, mac_loop, swizzle_tile", small=dict(m=192, n=128, k=160, block=32, warps=4), production=dict(m=3072, n=4096, k=3072, block=128, warps=8), rtol=1e-3, atol=1e-2)  # fmt: skip
def stream_k(file, device, m, n, k, block, warps):
    a, b = tm.normal(m, k, device=device, dtype=BF16), tm.normal(k, n, device=device, dtype=BF16)
    programs = 5 if m < 1000 else 132
    steps, tiles = -(-k // 32), (m // block) * (n // block)
    parts = tiles % programs + (programs if tiles > 2 * programs else 0)
    each, rest = divmod(parts * steps, programs)

    def run():
        c = torch.zeros(m, n, device=device)
        sizes = (m, n, k, *a.stride(), *b.stride(), *c.stride())
        blocks = dict(BLOCK_SIZE_M=block, BLOCK_SIZE_N=block, BLOCK_SIZE_K=32, GROUP_SIZE_M=4, num_warps=warps)  # fmt: skip
        file.first_wave.fn[(programs,)](a, b, c, *sizes, each, rest, steps, **blocks)
        file.full_tiles.fn[(tiles - parts,)](a, b, c, *sizes, parts, **blocks)
        return c

    return run, lambda: a.double() @ b.double()


@repository.case(f"{FOLDER}/gemm_splitk_benchmark.py", "_kernel", small=dict(m=96, n=64, k=320, block=32, split=2, warps=4), production=dict(m=512, n=4096, k=16384, block=128, split=4, warps=8), rtol=2e-2, atol=0.1)  # fmt: skip
def split_k(file, device, m, n, k, block, split, warps):
    a, b = tm.normal(m, k, device=device, dtype=BF16), tm.normal(k, n, device=device, dtype=BF16)

    def run():
        c = torch.zeros(m, n, device=device)
        file._kernel.fn[((m // block) * (n // block), split)](
            a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), file.tl.float32,
            block, block, 32, 4, split, num_warps=warps, num_stages=3,
        )  # fmt: skip
        return c

    return run, lambda: a.double() @ b.double()


for _causal in (False, True):

    @repository.case(f"{FOLDER}/flash_attention_benchmark.py", "_attn_fwd, _attn_fwd_inner", small=dict(b=1, h=2, n=128, d=32, blocks=(32, 32), warps=4), production=dict(b=2, h=16, n=4096, d=128, blocks=(128, 64), warps=8), rtol=1e-2, atol=1e-2, name="attention_causal" if _causal else "attention")  # fmt: skip
    def attention(file, device, b, h, n, d, blocks, warps, causal=_causal):
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=F16) for _ in range(3))

        def run():
            o, sums = torch.empty_like(q), torch.empty(b, h, n, device=device)
            file._attn_fwd[(b, h, n // blocks[0])](
                d**-0.5, sums, b, h, q, k, v, o, n, d, *blocks, 3 if causal else 1, False, False,
                num_warps=warps, num_stages=3,
            )  # fmt: skip
            return o

        return run, lambda: tm.attention(q, k, v, causal=causal)[0]
