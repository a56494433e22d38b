"""applied-ai: fp8 and int4 GEMM with split K, mixture of experts, norms, attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository


def _align(ids, experts, block, order, expert_of_block, total):
    """Stands in for a C++ function: (row, slot) numbers by expert, each expert's padded to blocks."""
    flat, places, owners = ids.flatten(), [], []
    for expert in range(experts):
        mine = (flat == expert).nonzero()[:, 0]
        count = -(-len(mine) // block) * block
        places.append(F.pad(mine, (0, count - len(mine)), value=flat.numel()))
        owners += [expert] * (count // block)
    places = torch.cat(places)
    order[: len(places)] = places.to(order.dtype)
    expert_of_block[: len(owners)] = torch.tensor(
        owners, device=ids.device, dtype=expert_of_block.dtype
    )
    total.fill_(len(places))


class _Ops:
    moe_align_block_size = staticmethod(_align)

    @staticmethod
    def silu_and_mul(out, x):
        out.copy_(tm.silu_mul(x))


repository = Repository(
    "meta-pytorch/applied-ai",
    "2391954b19988bd76cf3c2ea84c1ce74b68d568b",
    stand_ins={"vllm._C": {"ops": _Ops}},
)
FP8 = "kernels/triton/inference/fp8/"
GPTQ = "kernels/triton/inference/gptq/"
MOE = "kernels/triton/inference/col_major_moe_gemm/"


@repository.case(FP8 + "float8_groupwise_quant.py", "_float8_groupwise_quant_kernel", small=dict(m=5, n=512), production=dict(m=4096, n=8192), rtol=0.07, atol=1e-3)  # fmt: skip
def float8_groupwise_quantize(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        scales = x.double().unflatten(-1, (-1, 128)).abs().amax(-1) / 448
        return x.double() / scales.repeat_interleave(128, -1), scales

    return lambda: file.float8_groupwise_quantize(x), want


@repository.case(FP8 + "splitk_gemm_fp8.py", "gemm_split_k_kernel", small=dict(m=64, n=128, k=2048), production=dict(m=64, n=8192, k=8192), rtol=1e-2, atol=0.3)  # fmt: skip
def gemm_split_k_fp8(file, device, m, n, k):
    """Whole tiles only: rows of a have no mask."""
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    return lambda: file.gemm_split_k(a, b.T), lambda: a.double() @ b.double().T


@repository.case(FP8 + "scaled_fp8_gemm.py", "scaled_gemm_splitk", small=dict(m=64, n=128, k=2048), production=dict(m=64, n=8192, k=8192), rtol=1e-2, atol=0.3)  # fmt: skip
def scaled_mm_split_k_fp8(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    return (
        lambda: file.scaled_mm_splitk(a, b.T, 0.5, 0.25),
        lambda: a.double() @ b.double().T * 0.125,
    )


def _gptq(device, k, n, group=128):
    """Words of eight rows of 4-bit weights; zeros are stored less 1."""
    w, z = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // group, n))
    scales = (torch.rand(k // group, n) * 0.1).half()
    real = (w - z.repeat_interleave(group, 0) - 1) * scales.double().repeat_interleave(group, 0)
    return (
        tm.packed_int4(w, axis=0).to(device),
        scales.to(device),
        tm.packed_int4(z).to(device),
        real.to(device),
    )


@repository.case(GPTQ + "a100_qlinear.py", "_a100_quantized_matmul", small=dict(m=16, n=64, k=512), production=dict(m=16, n=4096, k=4096), rtol=1e-2, atol=0.1)  # fmt: skip
def gptq_matmul(file, device, m, n, k):
    """Whole tiles only: its stores have no mask. Groups are as long as its blocks."""
    w, scales, zeros, real = _gptq(device, k, n)
    a = tm.normal(m, k, device=device, dtype=torch.float16)

    def run():
        c = torch.zeros(m, n, device=device, dtype=torch.float16)
        file._a100_quantized_matmul[(m // 16 * (n // 32), 1)](
            a, w, c, scales, zeros, *a.stride(), *w.stride(), *c.stride(), *scales.stride(),
            *zeros.stride(), 128, m, n, k, 16, 32, 128, 8, num_warps=4, num_stages=4,
        )  # fmt: skip
        return c

    return run, lambda: a.double() @ real


@repository.case(GPTQ + "splitk_dequant_gemm.py", "matmul_split_k_kernel, swizzle_tile", small=dict(m=16, n=64, k=1024), production=dict(m=16, n=4096, k=4096), rtol=1e-2, atol=0.2)  # fmt: skip
def gptq_matmul_split_k(file, device, m, n, k):
    w, scales, zeros, real = _gptq(device, k, n)
    a = tm.normal(m, k, device=device, dtype=torch.float16)

    def run():
        c = torch.zeros(m, n, device=device, dtype=torch.float16)
        file.matmul_split_k_kernel[(m // 16 * (n // 32), 4)](
            a, w, c, scales, zeros, *a.stride(), *w.stride(), *c.stride(), *scales.stride(),
            *zeros.stride(), 128, m, n, k, 16, 32, 128, 8, 4, num_warps=4, num_stages=3,
        )  # fmt: skip
        return c

    return run, lambda: a.double() @ real


@repository.case("kernels/triton/training/fused_softmax/softmax.py", "_softmax_kernel_fwd, _softmax_kernel_bwd", small=dict(m=7, n=781), production=dict(m=4096, n=8192), atol=1e-6)  # fmt: skip
def softmax(file, device, m, n):
    x, g = tm.normal(m, n, device=device), tm.normal(m, n, device=device)

    def run():
        y = file.fused_softmax(x)
        # Its own backward gives the kernel the probabilities as gradients and the other way round.
        dx = torch.empty_like(x)
        size = 1 << (n - 1).bit_length()
        file._softmax_kernel_bwd[(m,)](dx, n, g, n, y, n, n, block_size=size, num_warps=8)
        return y, dx

    def want():
        leaf = x.double().requires_grad_()
        y = leaf.softmax(-1)
        return y, torch.autograd.grad(y, leaf, g.double())[0]

    return run, want


@repository.case("kernels/triton/training/rms_norm/fused_rms_norm.py", "_rms_norm_fwd_kernel, _rms_norm_bwd_kernel_sm", small=dict(m=150, n=300), production=dict(m=8192, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, m, n):
    x, g, w = (
        tm.normal(m, n, device=device),
        tm.normal(m, n, device=device),
        tm.normal(n, device=device),
    )

    def of(function, dtype):
        leaves = [t.detach().to(dtype).requires_grad_() for t in (x, w)]
        y = function(*leaves)
        return y, *torch.autograd.grad(y, leaves, g.to(dtype))

    return (
        lambda: of(lambda x, w: file.fused_rms_norm_fn(x, w, eps=1e-6), torch.float32),
        lambda: of(lambda x, w: tm.rms_norm(x, w, 1e-6), torch.float64),
    )


@repository.case("kernels/triton/inference/flash_attention/stay_attention.py", "stay_attention", small=dict(b=1, h=2, n=128), production=dict(b=1, h=32, n=4096), rtol=2e-2, atol=1e-2)  # fmt: skip
def stay_attention(file, device, b, h, n):
    q, k, v = (
        tm.normal(b, h, n, 128, device=device, dtype=torch.float16, scale=0.3) for _ in range(3)
    )
    return lambda: file.flash_fn(q, k, v), lambda: tm.attention(q, k, v, 0.5)[0]


def _fused_moe(file, device, m, n, k, e, topk):
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    w1 = tm.normal(e, 2 * n, k, device=device, dtype=torch.float16, scale=k**-0.5)
    w2 = tm.normal(e, k, n, device=device, dtype=torch.float16, scale=n**-0.5)
    weights, ids = tm.topk_ids(m, e, topk, device)

    def want():
        hidden = tm.silu_mul(tm.moe(x, w1, ids)).flatten(0, 1)
        out = tm.moe(hidden, w2, ids.reshape(-1, 1)).view(m, topk, k)
        return (out * weights[..., None].double()).sum(1)

    return lambda: file.fused_moe(x, w1, w2, weights, ids), want


SMALL_MOE = dict(m=33, n=64, k=128, e=4, topk=2)
MOE_SIZE = dict(m=512, n=14336 // 4, k=4096, e=8, topk=2)


@repository.case(MOE + "v0_moe_fused.py", "fused_moe_kernel", small=SMALL_MOE, production=MOE_SIZE, rtol=2e-2, atol=2e-2)  # fmt: skip
def fused_moe_v0(file, device, **size):
    return _fused_moe(file, device, **size)


@repository.case(MOE + "v1_moe_fused.py", "fused_moe_kernel_splitk", small=SMALL_MOE, production=MOE_SIZE, rtol=2e-2, atol=2e-2)  # fmt: skip
def fused_moe_v1_split_k(file, device, **size):
    return _fused_moe(file, device, **size)


# It takes the number of column tiles for that of row tiles: right only where they are the same.
@repository.case(MOE + "v2_moe_fused.py", "fused_moe_kernel, col_major", small=dict(m=33, n=160, k=320, e=4, topk=2), production=MOE_SIZE, rtol=2e-2, atol=2e-2)  # fmt: skip
def fused_moe_v2_column_major(file, device, **size):
    return _fused_moe(file, device, **size)


@repository.case(MOE + "v2_moe_fused.py", "fused_moe_kernel, col_major", small=SMALL_MOE, production=MOE_SIZE, share=1, finds="race-same-value")  # fmt: skip
def fused_moe_v2_tiles_twice(file, device, **size):
    return _fused_moe(file, device, **size)


@repository.case("kernels/triton/inference/paged_attention/attention_triton.py", "paged_attention_v1", small=dict(h=3, d=32, block=16, blocks=8, n=100), production=dict(h=32, d=128, block=16, blocks=16, n=250), rtol=1e-4, atol=1e-4)  # fmt: skip
def paged_attention_v1(file, device, h, d, block, blocks, n):
    """One sequence: of several it takes the queries at wrong places."""
    q = tm.normal(1, h, d, device=device)
    k, v = (tm.normal(2 * blocks, h, d, block, device=device) for _ in range(2))
    table = torch.randperm(2 * blocks)[:blocks].to(torch.int32)[None].to(device)
    length = torch.tensor([n], device=device, dtype=torch.int32)

    def run():
        out = torch.empty_like(q)
        file.paged_attention_triton_v1(
            out, q, k, v, d**-0.5, table, length, block, 1, h, block * blocks, blocks, d
        )
        return out

    def want():
        keys, values = (x[table[0].long()].permute(1, 0, 3, 2).flatten(1, 2)[:, :n] for x in (k, v))
        return tm.attention(q.transpose(0, 1), keys, values)[0].transpose(0, 1)

    return run, want
