"""mLSTM: by chunks of two sizes, in parallel and step by step, compared with their torch form."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

_PACKAGE = "mlstm_kernels."


def _rearrange(x, pattern, nc=-1, l=-1):
    return x.unflatten(-1, (nc, l)) if "(nc l) ->" in pattern else x.flatten(-2)


repository = Repository(
    "NX-AI/mlstm_kernels",
    "39d3c61741e5d2c0e6ab8922106dd236632c5139",
    packages={"mlstm_kernels": "."},
    inits=tuple(
        _PACKAGE + name
        for name in (
            "torch.chunkwise",
            "torch.chunkwise.native",
            "torch.chunkwise.triton_limit_chunk",
            "torch.chunkwise.triton_xl_chunk",
            "torch.chunkwise.triton_xl_chunk_siging",
            "torch.parallel",
            "torch.parallel.native",
            "torch.parallel.native_siging",
            "torch.parallel.native_stablef",
            "torch.parallel.triton_limit_headdim",
            "torch.recurrent",
            "triton.chunkwise.limit_chunk",
            "triton.chunkwise.xl_chunk",
            "triton.chunkwise.xl_chunk_siging",
            "triton.parallel.limit_headdim",
            "triton.recurrent",
        )
    ),  # fmt: skip
    stand_ins={"einops": {"rearrange": _rearrange}},
)
SMALL, LARGE = dict(b=1, h=2, n=128, d=32, e=64), dict(b=2, h=8, n=4096, d=256, e=512)


def _inputs(device, b, h, n, d, e):
    q, k = (tm.normal(b, h, n, d, device=device) for _ in range(2))
    v, up = (tm.normal(b, h, n, e, device=device) for _ in range(2))
    i, f = (tm.normal(b, h, n, device=device) for _ in range(2))
    return (q, k, v, i, f + 3), up


def _case(name, file, ours, reference, kernels, size=(SMALL, LARGE), **options):
    def build(file, device, **size):
        from mlstm_kernels.torch import parallel

        x, up = _inputs(device, **size)
        right = getattr(parallel, reference)
        return (
            lambda: tm.with_gradients(lambda *x: getattr(file, ours)(*x, **options), up, *x),
            lambda: tm.with_gradients(right, up, *x, exact=True),
        )

    repository.case(file, kernels, small=size[0], production=size[1], rtol=2e-2, atol=5e-2, name=name)(build)  # fmt: skip


FP32 = dict(autocast_kernel_dtype=torch.float32)
_case("limit_chunk", "mlstm_kernels/torch/chunkwise/__init__.py", "mlstm_chunkwise__limit_chunk", "mlstm_parallel__native_custbw", "mlstm_chunkwise__recurrent_fw_C_kernel, mlstm_chunkwise__parallel_fw_Hintra_kernel, mlstm_chunkwise__recurrent_bw_dC_kernel, mlstm_chunkwise__parallel_bw_dQKV_kernel", **FP32)  # fmt: skip
_case("xl_chunk", "mlstm_kernels/torch/chunkwise/__init__.py", "mlstm_chunkwise__xl_chunk", "mlstm_parallel__native_custbw", "mlstm_chunkwise__recurrent_fw_C_kernel, mlstm_chunkwise__parallel_fw_Hintra_kernel, mlstm_chunkwise__parallel_bw_dQ_kernel, mlstm_chunkwise__parallel_bw_dK_kernel, mlstm_chunkwise__parallel_bw_dV_kernel", **FP32)  # fmt: skip
_case("xl_chunk_sigmoid", "mlstm_kernels/torch/chunkwise/__init__.py", "mlstm_siging_chunkwise__xl_chunk", "mlstm_siging_parallel__native_custbw", "mlstm_siging_chunkwise__parallel_fw_Hintra_kernel", **FP32)  # fmt: skip
_case("limit_head", "mlstm_kernels/torch/parallel/__init__.py", "mlstm_parallel__limit_headdim", "mlstm_parallel__native_custbw", "_mlstm_parallel_fwd, _mlstm_parallel_bwd_dKdV_kernel, _mlstm_parallel_bwd_dQ_kernel", (dict(SMALL, e=32), dict(LARGE, d=128, e=128)), **FP32)  # fmt: skip


def _step(name, ours, finds=""):
    def build(file, device, b, h, d, e):
        q, k, v, i, f = (tm.normal(b, h, n, device=device) for n in (d, d, e, 1, 1))
        c, n, m = (tm.normal(*s, device=device) for s in ((b, h, d, e), (b, h, d), (b, h, 1)))

        def run(function, *x, **options):
            out, states = function(*x, **options)
            return out, *states

        x = q, k, v, i, f, c, n, m
        state = dict(dtype_state=torch.float64)
        return (
            lambda: run(getattr(file, ours), *x),
            lambda: run(file.mlstm_recurrent_step__native, *(t.double() for t in x), **state),
        )

    repository.case("mlstm_kernels/torch/recurrent/__init__.py", "recurrent_step_fw_kernel", small=dict(b=2, h=2, d=64, e=64), production=dict(b=16, h=8, d=256, e=512), rtol=1e-3, atol=1e-3, name=name, finds=finds)(build)  # fmt: skip


_step("step", "mlstm_recurrent_step__triton")
# Its loads have no bounds; it is in none of the tables of its kernels.
_step(
    "step_in_two",
    "mlstm_recurrent_step__triton_alternate",
    "oob-load,oob-store,race-same-value,race-write-write",
)
