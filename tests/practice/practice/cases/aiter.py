"""AITER: norms, quantisation, GEMM, RoPE, convolution, attention, written for AMD's GPUs."""

from __future__ import annotations

from types import SimpleNamespace

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

ARCH = "gfx942"
repository = Repository(
    "ROCm/aiter",
    "e4048607a535ace3a2b51ded31b1c8c2d45c0879",
    packages={"aiter": "."},
    stand_ins={
        "aiter": {
            "dtypes": SimpleNamespace(
                fp8=torch.float8_e4m3fn, fp4x2=torch.uint8, fp8_e8m0=torch.uint8
            )
        },
        "aiter.jit.utils.torch_guard": {"torch_compile_guard": lambda *_, **__: lambda f: f},
        "aiter.jit.utils.chip_info": {"get_gfx": lambda: ARCH},
        "aiter.utility.dtypes": {
            "fp8": torch.float8_e4m3fn,
            "fp4x2": torch.uint8,
            "fp8_e8m0": torch.uint8,
        },
        "aiter.ops.triton.utils.logger": {},
        "aiter.ops.triton.utils._triton.arch_info": {
            "get_arch": lambda: ARCH,
            "is_fp8_avail": lambda: True,
            "is_fp4_avail": lambda: True,
            "is_gluon_avail": lambda: False,
            "is_tdm_avail": lambda: False,
            "is_mx_scale_preshuffling_avail": lambda: False,
        },
    },
)
FOLDER = "aiter/ops/triton/"
BF16 = torch.bfloat16
ROWS = dict(small=dict(m=9, n=300), production=dict(m=8192, n=8192), rtol=2e-2, atol=2e-2)


@repository.case(
    FOLDER + "softmax.py", "_softmax_kernel_online", **dict(ROWS, rtol=1e-5, atol=1e-6)
)
def softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.softmax(x), lambda: x.double().softmax(-1)


@repository.case(FOLDER + "normalization/rmsnorm.py", "_rms_norm_kernel", **ROWS)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device, dtype=BF16), tm.normal(n, device=device, dtype=BF16)
    return lambda: file.rms_norm(x, w, 1e-6), lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(FOLDER + "normalization/rmsnorm.py", "_fused_add_rmsnorm_kernel", **ROWS)
def rms_norm_add(file, device, m, n):
    x, r = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    w = tm.normal(n, device=device, dtype=BF16)

    def run():
        out, total = torch.empty_like(x), torch.empty_like(x)
        file.rmsnorm2d_fwd_with_add(out, x, r, total, w, 1e-6)
        return out, total

    def want():
        total = x.double() + r.double()
        return tm.rms_norm(total, w, 1e-6), total

    return run, want


@repository.case(
    FOLDER + "normalization/rmsnorm.py", "_quant_rms_norm_kernel", **dict(ROWS, atol=8e-2)
)
def rms_norm_quant(file, device, m, n):
    x, w = tm.normal(m, n, device=device, dtype=BF16), tm.normal(n, device=device, dtype=BF16)

    def run():
        out = torch.empty(m, n, device=device, dtype=torch.int8)
        scale = torch.empty(m, 1, device=device)
        file.rmsnorm2d_fwd_with_dynamicquant(out, x, scale, w, 1e-6)
        return out.float() * scale

    return run, lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(FOLDER + "normalization/norm.py", "_layernorm_kernel, _layernorm_bwd_dx_fused_triton, _layernorm_bwd_dwdb_triton", **dict(ROWS, rtol=1e-3, atol=1e-3))  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, b, g = (tm.normal(*s, device=device) for s in ((m, n), (n,), (n,), (m, n)))

    def of(function, dtype):
        leaves = [t.detach().to(dtype).requires_grad_() for t in (x, w, b)]
        y = function(*leaves)
        return y, *torch.autograd.grad(y, leaves, g.to(dtype))

    return (
        lambda: of(lambda x, w, b: file.layer_norm(x, w, b, 1e-5), torch.float32),
        lambda: of(lambda x, w, b: F.layer_norm(x, (n,), w, b, 1e-5), torch.float64),
    )


@repository.case(
    FOLDER + "normalization/norm.py", "_quant_fused_add_layernorm_kernel", **dict(ROWS, atol=8e-2)
)
def layer_norm_add_quant(file, device, m, n):
    x, r = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    w, b = (tm.normal(n, device=device, dtype=BF16) for _ in range(2))

    def run():
        out = torch.empty(m, n, device=device, dtype=torch.int8)
        total, scale = torch.empty_like(x), torch.empty(m, 1, device=device)
        file.layernorm2d_fwd_with_add_dynamicquant(out, x, r, total, scale, w, b, 1e-5)
        return out.float() * scale, total

    def want():
        total = x.double() + r.double()
        return tm.layer_norm(total, w, b, 1e-5), total

    return run, want


@repository.case(FOLDER + "topk.py", "_topk_kernel", small=dict(m=9, n=300, k=8), production=dict(m=8192, n=1024, k=8), rtol=0, atol=0)  # fmt: skip
def topk_one_stage(file, device, m, n, k):
    x = tm.normal(m, n, device=device)
    return lambda: tuple(file.topk(x, k)), lambda: tuple(x.topk(k))


@repository.case(FOLDER + "topk.py", "topk_stage1_kernel, topk_stage2_kernel", small=dict(m=3, n=5000, k=8), production=dict(m=512, n=131072, k=64), rtol=0, atol=0)  # fmt: skip
def topk_two_stages(file, device, m, n, k):
    x = tm.normal(m, n, device=device)
    return lambda: tuple(file.topk(x, k)), lambda: tuple(x.topk(k))


@repository.case(FOLDER + "activation.py", "_act_mul_and_dynamic_fp8_group_quant_kernel", small=dict(m=9, n=512), production=dict(m=8192, n=8192), rtol=0.07, atol=2e-3)  # fmt: skip
def gelu_mul_fp8(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=BF16)

    def run():
        out, scales = file.act_mul_and_fp8_group_quant(x, "gelu", 128, torch.float8_e4m3fn)
        return tm.dequantised_blocks(out, scales, 128)

    def want():
        gate, up = x.double().chunk(2, -1)
        return F.gelu(gate) * up

    return run, want


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def _mxfp4(codes, scales):
    """Values of packed 4-bit floats with a power of 2 for each 32 of them."""
    levels = torch.tensor(E2M1 + tuple(-x for x in E2M1), dtype=torch.float64, device=codes.device)
    both = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).long()
    return levels[both] * torch.exp2(scales.double() - 127).repeat_interleave(32, -1)


@repository.case(FOLDER + "quant/quant.py", "_dynamic_mxfp4_quant_kernel", small=dict(m=9, n=256), production=dict(m=8192, n=8192), rtol=0.26, atol=4.0)  # fmt: skip
def mxfp4_quant(file, device, m, n):
    # Its exponents must not be negative: it converts them from float to uint8.
    x = tm.normal(m, n, device=device, dtype=BF16, scale=16)

    def run():
        codes, scales = file.dynamic_mxfp4_quant(x)
        return _mxfp4(codes.view(torch.uint8), scales.view(torch.uint8)[:, : n // 32])

    return run, lambda: x


@repository.case(FOLDER + "quant/quant.py", "_dynamic_per_token_quant_fp8_i8_kernel", small=dict(m=9, n=300), production=dict(m=8192, n=8192), rtol=1e-3, atol=1e-5, share=1e-2)  # fmt: skip
def int8_per_token(file, device, m, n):
    """Rounds towards 0."""
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        out, scale = (
            torch.empty(m, n, device=device, dtype=torch.int8),
            torch.empty(m, device=device),
        )
        file.dynamic_per_token_quant_fp8_i8(out, x, scale)
        return out, scale

    def want():
        scale = x.double().abs().amax(-1) / 127
        return (x.double() / scale[:, None]).trunc(), scale

    return run, want


@repository.case(FOLDER + "quant/quant.py", "_dynamic_per_tensor_quant_fp8_i8_kernel, _static_per_tensor_quant_fp8_i8_kernel", small=dict(m=9, n=300), production=dict(m=8192, n=8192), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_per_tensor(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        out, scale = (
            torch.empty(m, n, device=device, dtype=torch.float8_e4m3fn),
            torch.zeros(1, device=device),
        )
        file.dynamic_per_tensor_quant_fp8_i8(out, x, scale)
        return out, scale

    def want():
        scale = x.double().abs().amax() / 448
        return x.double() / scale, scale[None]

    return run, want


GEMM = dict(
    small=dict(m=40, n=256, k=256), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=0.1
)
CONFIG = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4, "num_warps": 4, "num_stages": 3,
}  # fmt: skip


def _config(**more):
    return dict(CONFIG, **more)


# The last programs of the reduction go round to the first rows, and write them again.
@repository.case(
    FOLDER + "gemm/basic/gemm_a16w16.py",
    "_gemm_a16_w16_kernel, _gemm_splitk_reduce_kernel",
    **GEMM,
    finds="race-same-value",
)
def gemm_bf16_split_k(file, device, m, n, k):
    x, w = tm.normal(m, k, device=device, dtype=BF16), tm.normal(n, k, device=device, dtype=BF16)
    config = _config(NUM_KSPLIT=2, SPLITK_BLOCK_SIZE=k // 2, cache_modifier=None)
    return lambda: file.gemm_a16w16(x, w, config=config), lambda: x.double() @ w.double().T


@repository.case(FOLDER + "gemm/basic/gemm_a16w16_atomic.py", "_gemm_a16_w16_atomic_kernel", **GEMM)
def gemm_bf16_atomic(file, device, m, n, k):
    x, w = tm.normal(m, k, device=device, dtype=BF16), tm.normal(n, k, device=device, dtype=BF16)

    def run():
        y = torch.zeros(m, n, device=device)
        return file.gemm_a16w16_atomic(
            x,
            w,
            torch.float32,
            y,
            _config(NUM_KSPLIT=2, SPLITK_BLOCK_SIZE=k // 2, cache_modifier=""),
        )

    return run, lambda: x.double() @ w.double().T


@repository.case(FOLDER + "gemm/basic/gemm_a16w16_gated.py", "_gemm_a16_w16_gated_kernel", **GEMM)
def gemm_bf16_gated(file, device, m, n, k):
    x, w = (
        tm.normal(m, k, device=device, dtype=BF16, scale=0.3),
        tm.normal(n, k, device=device, dtype=BF16, scale=0.3),
    )

    def want():
        gate, up = (x.double() @ w.double().T).chunk(2, -1)
        return F.silu(gate) * up

    return lambda: file.gemm_a16w16_gated(
        x, w, config=_config(cache_modifier=""), activation="silu_exp2"
    ), want


@repository.case(FOLDER + "gemm/basic/gemm_a8w8.py", "_gemm_a8w8_kernel", **GEMM)
def gemm_int8(file, device, m, n, k):
    x, w = (tm.integers(-127, 128, s, k, device=device, dtype=torch.int8) for s in (m, n))
    s, t, b = (
        torch.rand(m, 1).to(device) / 100,
        torch.rand(1, n).to(device) / 100,
        tm.normal(1, n, device=device),
    )
    config = _config(NUM_KSPLIT=1, SPLITK_BLOCK_SIZE=k, cache_modifier=None)
    return (
        lambda: file.gemm_a8w8(x, w, s, t, b, config=config),
        lambda: x.double() @ w.double().T * s.double() * t.double() + b.double(),
    )


@repository.case(FOLDER + "gemm/basic/gemm_a8w8_blockscale.py", "_gemm_a8w8_blockscale_kernel", small=dict(m=40, n=256, k=512), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=0.1)  # fmt: skip
def gemm_fp8_blocks(file, device, m, n, k):
    x, w = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    s, t = torch.rand(m, k // 128).to(device) / 8, torch.rand(n // 128, k // 128).to(device) / 8
    config = _config(BLOCK_SIZE_K=128, NUM_KSPLIT=1, SPLITK_BLOCK_SIZE=k, cache_modifier=None)
    return (
        lambda: file.gemm_a8w8_blockscale(x, w, s, t, config=config),
        lambda: tm.dequantised_blocks(x, s, 128) @ tm.dequantised_blocks(w, t, 128, 128).T,
    )


@repository.case(FOLDER + "gemm/basic/gemm_afp4wfp4.py", "_gemm_afp4wfp4_kernel", small=dict(m=64, n=128, k=256), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=0.3)  # fmt: skip
def gemm_mxfp4(file, device, m, n, k):
    """tl.dot_scaled of 4-bit floats."""
    x, w = (tm.integers(0, 256, s, k // 2, device=device, dtype=torch.uint8) for s in (m, n))
    s, t = (tm.integers(122, 130, z, k // 32, device=device, dtype=torch.uint8) for z in (m, n))
    config = _config(
        BLOCK_SIZE_K=256,
        NUM_KSPLIT=1,
        SPLITK_BLOCK_SIZE=k,
        cache_modifier=None,
        waves_per_eu=0,
        matrix_instr_nonkdim=16,
    )
    return lambda: file.gemm_afp4wfp4(
        x, w, s, t, config=config
    ), lambda: _mxfp4(x, s) @ _mxfp4(w, t).T


@repository.case(FOLDER + "gemm/batched/batched_gemm_bf16.py", "_batched_gemm_bf16_kernel", small=dict(b=3, m=40, n=96, k=128), production=dict(b=16, m=1024, n=1024, k=1024), rtol=2e-2, atol=0.1)  # fmt: skip
def batched_gemm_bf16(file, device, b, m, n, k):
    x, w = (tm.normal(b, s, k, device=device, dtype=BF16) for s in (m, n))
    return (
        lambda: file.batched_gemm_bf16(
            x,
            w,
            config=_config(
                NUM_KSPLIT=1,
                SPLITK_BLOCK_SIZE=k,
                cache_modifier="",
                waves_per_eu=0,
                matrix_instr_nonkdim=16,
            ),
        ),
        lambda: x.double() @ w.double().transpose(1, 2),
    )


@repository.case(FOLDER + "gmm.py", "gmm_kernel", small=dict(g=4, m=60, n=96, k=128), production=dict(g=16, m=1024, n=1536, k=2048), rtol=2e-2, atol=0.1)  # fmt: skip
def grouped_gemm(file, device, g, m, n, k):
    lengths = tm.lengths(g, m)
    x = tm.normal(sum(lengths), k, device=device, dtype=BF16)
    w = tm.normal(g, k, n, device=device, dtype=BF16)
    sizes = torch.tensor(lengths, device=device, dtype=torch.int32)
    config = dict(
        BLOCK_SIZE_M=64,
        BLOCK_SIZE_K=64,
        BLOCK_SIZE_N=64,
        GROUP_SIZE=1,
        GRID_DIM=8,
        num_warps=4,
        num_stages=2,
    )

    def want():
        return torch.cat([part.double() @ w[i].double() for i, part in enumerate(x.split(lengths))])

    return lambda: file.gmm(x, w, sizes, config=config), want


@repository.case(FOLDER + "rope/rope.py", "_rope_kernel_sbhd_fwd", small=dict(s=9, b=2, h=3, d=64), production=dict(s=8192, b=1, h=32, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def rope(file, device, s, b, h, d):
    x = tm.normal(s, b, h, d, device=device, dtype=BF16)
    angles = (torch.rand(s, 1, 1, d // 2) * 6).to(device)
    return (
        lambda: file.rope_fwd(x, angles, 0, True, False),
        lambda: tm.rotated(x, angles.double().cos(), angles.double().sin()),
    )


@repository.case(FOLDER + "rope/rope.py", "_rope_kernel_sbhd_bwd", small=dict(s=9, b=2, h=3, d=64), production=dict(s=8192, b=1, h=32, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def rope_backward_pairs(file, device, s, b, h, d):
    x = tm.normal(s, b, h, d, device=device, dtype=BF16)
    angles = (torch.rand(s, 1, 1, d // 2) * 6).to(device)
    return (
        lambda: file.rope_bwd(x, angles, 1, True, False),
        lambda: tm.rotated(x, angles.double().cos(), -angles.double().sin(), interleaved=True),
    )


CONV = dict(
    small=dict(b=1, c=16, h=12, o=24),
    production=dict(b=8, c=256, h=56, o=256),
    rtol=2e-2,
    atol=5e-2,
)


def _conv(function, kernel, **options):
    def build(file, device, b, c, h, o):
        x = tm.normal(b, c, h, h, device=device, dtype=torch.float16)
        w = tm.normal(
            o, c, kernel, kernel, device=device, dtype=torch.float16, scale=(c * kernel**2) ** -0.5
        )
        bias = tm.normal(o, device=device, dtype=torch.float16)
        return (
            lambda: getattr(file, function)(x, w, bias, **options),
            lambda: F.conv2d(x.double(), w.double(), bias.double(), **options),
        )

    return build


CONV2D = FOLDER + "conv/conv2d.py"
repository.case(CONV2D, "_conv2d_general_kernel", **CONV, name="conv_5x5_stride")(_conv("conv2d_general", 5, stride=(2, 2), padding=(2, 2)))  # fmt: skip
repository.case(CONV2D, "_conv2d_1x1_kernel", **CONV, name="conv_1x1")(_conv("conv2d_1x1", 1))
repository.case(CONV2D, "_conv2d_3x3_kernel", **CONV, name="conv_3x3")(
    _conv("conv2d_nchw", 3, padding=(1, 1))
)
repository.case(CONV2D, "_winograd_f4x3_input_transform_kernel, _winograd_f4x3_gemm_kernel", **CONV, name="conv_winograd")(_conv("conv2d_winograd_f4x3", 3, padding=(1, 1)))  # fmt: skip


@repository.case(FOLDER + "attention/prefill_attention.py", "_fwd_kernel", small=dict(b=3, n=150, h=4, hk=2, d=64), production=dict(b=4, n=4096, h=32, hk=8, d=128), rtol=2e-2, atol=1e-2)  # fmt: skip
def prefill(file, device, b, n, h, hk, d):
    lengths = tm.lengths(b, n)
    q, k, v = (
        tm.normal(sum(lengths), x, d, device=device, dtype=torch.float16) for x in (h, hk, hk)
    )
    places = tm.starts(lengths, device)[:-1]
    sizes = torch.tensor(lengths, device=device, dtype=torch.int32)

    def run():
        out = torch.empty_like(q)
        file.context_attention_fwd(q, k, v, out, places, sizes, n)
        return out

    def want():
        parts = zip(*(x.split(lengths) for x in (q, k, v)), strict=True)
        return torch.cat(
            [
                tm.attention(*(x.transpose(0, 1) for x in p), causal=True)[0].transpose(0, 1)
                for p in parts
            ]
        )

    return run, want


@repository.case(FOLDER + "attention/fp8_mqa_logits.py", "_fp8_mqa_logits_kernel", small=dict(m=20, n=150, h=16, d=64), production=dict(m=2048, n=8192, h=64, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def mqa_logits(file, device, m, n, h, d):
    q, k = tm.fp8(m, h, d, device=device), tm.fp8(n, d, device=device)
    s, w = torch.rand(n).to(device), torch.rand(m, h).to(device)
    first = torch.zeros(m, device=device, dtype=torch.int32)
    last = (torch.arange(m) + n - m + 1).to(torch.int32).to(device)

    def want():
        scores = torch.einsum("mhd,nd->mhn", q.double(), k.double() * s.double()[:, None]).relu()
        out = (scores * w.double()[..., None]).sum(1)
        return out.masked_fill(torch.arange(n, device=device)[None] >= last[:, None], float("-inf"))

    return lambda: file.fp8_mqa_logits(q, k, s, w, first, last), want


@repository.case(FOLDER + "attention/extend_attention.py", "_fwd_kernel", small=dict(b=3, n=60, p=70, h=4, hk=2, d=64), production=dict(b=8, n=512, p=4096, h=32, hk=8, d=128), rtol=2e-2, atol=1e-2)  # fmt: skip
def extend(file, device, b, n, p, h, hk, d):
    """New tokens see a prefix by its indices, and one another."""
    new, old = tm.lengths(b, n), tm.lengths(b, p)
    q, k, v = (tm.normal(sum(new), x, d, device=device, dtype=torch.float16) for x in (h, hk, hk))
    kb, vb = (tm.normal(sum(old) + 9, hk, d, device=device, dtype=torch.float16) for _ in range(2))
    places = torch.randperm(sum(old) + 9)[: sum(old)].to(device)

    def run():
        out = torch.empty_like(q)
        file.extend_attention_fwd(
            q, k, v, out, kb, vb, tm.starts(new, device), tm.starts(old, device), places, None, True, None, max(new),
            config=dict(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=1),
        )  # fmt: skip
        return out

    def want():
        parts = []
        for a, c, e, at in zip(*(x.split(new) for x in (q, k, v)), places.split(old), strict=True):
            keys, values = torch.cat([kb[at], c]), torch.cat([vb[at], e])
            parts.append(
                tm.attention(*(x.transpose(0, 1) for x in (a, keys, values)), causal=True)[
                    0
                ].transpose(0, 1)
            )
        return torch.cat(parts)

    return run, want


@repository.case(FOLDER + "fusions/fused_mul_add.py", "_fused_mul_add_kernel", small=dict(m=9, n=300), production=dict(m=8192, n=8192), rtol=2e-2, atol=1e-2)  # fmt: skip
def mul_add(file, device, m, n):
    x, a, b = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(3))
    return lambda: file.fused_mul_add(x.clone(), a, b), lambda: x.double() * a.double() + b.double()


@repository.case(FOLDER + "moe/moe_align_block_size.py", "_moe_align_block_size_stage1_kernel", small=dict(m=40, e=8, t=2), production=dict(m=8192, e=64, t=8), rtol=0, atol=0)  # fmt: skip
def align_blocks(file, device, m, e, t):
    """The experts of blocks, the whole number of rows, and which rows an expert has."""
    ids = tm.topk_ids(m, e, t, device)[1].to(torch.int32)
    size = m * t + e * 31

    def run():
        order = torch.full((size,), m * t, device=device, dtype=torch.int32)
        owners = torch.full((-(-size // 32),), 0, device=device, dtype=torch.int32)
        total = torch.zeros(1, device=device, dtype=torch.int32)
        file.moe_align_block_size_triton(ids, e, 32, order, owners, total)
        return order.view(-1)[: size // 32 * 32].view(-1, 32).sort(-1).values.sum(), owners, total

    def want():
        counts = -(-torch.bincount(ids.flatten().long(), minlength=e) // 32)
        owners = torch.arange(e, device=device).repeat_interleave(counts)
        rows = sum(range(m * t)) + m * t * (size // 32 * 32 - m * t)
        owners = F.pad(owners, (0, -(-size // 32) - len(owners)))
        return torch.tensor(rows), owners, counts.sum()[None] * 32

    return run, want
