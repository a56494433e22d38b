"""tritonBLAS: persistent products made of aggregates, and stream-K with locks between programs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ROCm/tritonBLAS",
    "95e2c4732e6a7d20a062ff96075b8b17c7db5664",
    packages={"tritonblas": "include"},
    inits=("tritonblas.kernels.stages", "tritonblas.kernels.stages.indexing"),
)
FOLDER = "include/tritonblas/kernels/"
SMALL, LARGE = dict(m=200, n=150, k=100, size=32), dict(m=8192, n=8192, k=8192, size=128)


def _case(name, file, kernel="persistent_matmul", bias=False, streamk=False, finds=""):
    def build(file, device, m, n, k, size):
        a, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (n, k)))
        bias_row = tm.normal(n, device=device, dtype=torch.float16) if bias else None
        tiles = -(-m // size) * -(-n // size)
        programs = min(6 if size == 32 else 132, tiles)
        spare = {}
        if streamk:
            part = torch.zeros(programs, size * size, device=device)
            spare = dict(P=part, locks=torch.zeros(programs, device=device, dtype=torch.uint8))

        def run():
            c = torch.empty(m, n, device=device, dtype=torch.float16)
            for t in spare.values():
                t.zero_()
            extra = [*spare.values()]
            more = dict(STREAMK_TILES=tiles % programs) if streamk else {}
            getattr(file, kernel)[(programs,)](
                a, b.T, c, None, None, bias_row, *extra, m, n, k, a.stride(0), b.stride(0),
                c.stride(0), c.stride(1), 1 if bias else 0, stride_ak=1, stride_bk=1,
                BLOCK_SIZE_M=size, BLOCK_SIZE_N=size, BLOCK_SIZE_K=32, GROUP_SIZE_M=4,
                NUM_SMS=programs, NUM_XCDS=1, CHUNK_SIZE=1, BIAS=bias, EVEN_K=k % 32 == 0,
                CACHE_MODIFIER_A=None, CACHE_MODIFIER_B=None, QUANTIZED=False, **more,
            )  # fmt: skip
            return c

        def want():
            c = a.double() @ b.double().T
            return c + bias_row.double() if bias else c

        return run, want

    repository.case(FOLDER + file, kernel, small=SMALL, production=LARGE, rtol=1e-2, atol=1e-1, name=name, finds=finds)(build)  # fmt: skip


# Rows and columns past the end are the first ones, which two programs, or two warps of one, compute
# and store then. Stream-K waits for a plain store by volatile loads.
SAME = "race-same-value,race-warp-order"
_case("persistent_of_aggregates", "persistent_gemm.py", bias=True)
_case("persistent", "persistent_gemm_monolithic.py", finds=SAME)
_case(
    "stream_k", "streamk_gemm.py", "streamk_matmul", streamk=True, finds="race-read-write," + SAME
)
