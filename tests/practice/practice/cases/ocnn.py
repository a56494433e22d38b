"""ocnn-pytorch: convolutions over octrees, as products that gather neighbours."""

from __future__ import annotations

import contextlib
import os

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("octree-nn/ocnn-pytorch", "b12e89937ffee8407df450e2950d1070ad2401dc", packages={"ocnn": "."}, stand_ins={"filelock": {"FileLock": contextlib.nullcontext}})  # fmt: skip
os.environ["OCNN_AUTOSAVE_AUTOTUNE"] = "0"  # it would write to the home directory
KERNELS = "ocnn/nn/kernels/"
SIZES = dict(small=dict(n=150, ci=24, co=40, v=27), production=dict(n=100000, ci=128, co=128, v=27), rtol=1e-2, atol=2e-2)  # fmt: skip


def _inputs(n, ci, co, v, device):
    x, w, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((n, ci), (co, v, ci), (co,)))  # fmt: skip
    near = tm.integers(-1, n, n, v, device=device, dtype=torch.int32)
    near[torch.rand(n, v).to(device) < 0.3] = -1
    return x, w / (ci * v) ** 0.5, b, near


def _gathered(x, near):
    return torch.where(near[..., None] < 0, 0, x.double()[near.long().clamp(min=0)])


def _forward(name, file, kernels, **more):
    @repository.case(f"{KERNELS}{file}.py", kernels, name=name, **SIZES)
    def build(module, device, n, ci, co, v):
        x, w, b, near = _inputs(n, ci, co, v, device)
        return (
            lambda: getattr(module, file)(x, w, b, near, **more),
            lambda: torch.einsum("nvi,ovi->no", _gathered(x, near), w.double()) + b.double(),
        )


_forward("forward", "conv_fwd_implicit_gemm", "conv_fwd_implicit_gemm_kernel")


@repository.case(f"{KERNELS}conv_fwd_implicit_gemm_splitk.py", "conv_fwd_implicit_gemm_splitk_kernel", **SIZES)  # fmt: skip
def forward_in_parts(file, device, n, ci, co, v):
    x, w, b, near = _inputs(n, ci, co, v, device)

    def run():
        out = torch.empty(4, n, co, device=device)
        kernel, parts = file.conv_fwd_implicit_gemm_splitk_kernel, 4
        kernel[lambda m: (-(-co // m["B2"]) * -(-n // m["B1"]), parts)](x, w, b, near, out, n, n.bit_length() - 1, ci, co, v, SPLITK=parts, allow_tf32=True)  # fmt: skip
        return out.sum(0)

    return run, lambda: torch.einsum("nvi,ovi->no", _gathered(x, near), w.double()) + b.double()


@repository.case(f"{KERNELS}conv_bwd_implicit_gemm.py", "conv_bwd_input_implicit_gemm_kernel", **SIZES)  # fmt: skip
def input_gradient(file, device, n, ci, co, v):
    x, w, b, near = _inputs(n, ci, co, v, device)
    up = tm.normal(n, co, device=device, dtype=torch.float16)
    return (
        lambda: file.conv_bwd_implicit_gemm(up, x, w, b, near, [True, False, False])[0],
        lambda: torch.einsum("nvo,ovi->ni", _gathered(up, near.flip(1)), w.double()),
    )


@repository.case(f"{KERNELS}conv_bwd_implicit_gemm.py", "conv_bwd_weight_implicit_gemm_kernel", **SIZES)  # fmt: skip
def weight_gradient(file, device, n, ci, co, v):
    x, w, b, near = _inputs(n, ci, co, v, device)
    up = tm.normal(n, co, device=device, dtype=torch.float16, scale=n**-0.5)
    return (
        lambda: file.conv_bwd_implicit_gemm(up, x, w, b, near, [False, True, False])[1],
        lambda: torch.einsum("no,nvi->ovi", up.double(), _gathered(x, near)),
    )
