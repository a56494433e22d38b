"""Kernels of the Hugging Face Hub: grouped products that gather their rows, products in fp8 and in
MX formats, the triangle multiplication of ESMFold2."""

from __future__ import annotations

import torch
import triton

from practice import torch_math as tm
from practice.case import Repository


def _first(configs, key, **more):
    """In place of a search over hundreds: one scaled product, and one by fp8 and factors."""
    del more
    few = [c for c in configs if c.kwargs.get("COMPUTE_MODE") == "dot_scaled" and c.num_warps == 8]
    wide = [c for c in few if c.kwargs["BLOCK_SIZE_N"] == 128 and c.num_stages == 3]
    return triton.autotune(wide[:1] or configs[:1], key)


repository = Repository(
    "huggingface/kernels-community", "40d4194f48b6775c4be4776ed08035fabb0e758f",
    packages={
        "deep_gemm": "deep-gemm", "finegrained_fp8": "finegrained-fp8/torch-ext",
        "esmfold2_trimul": "esmfold2-trimul/torch-ext",
    },
    stand_ins={
        "deep_gemm._C": {"get_mk_alignment_for_contiguous_layout": lambda: 128},
        "finegrained_fp8._ops": {"add_op_namespace_prefix": lambda name: "practice_fine::" + name},
        "finegrained_fp8.bayesian_autotuner": {"bayesian_autotune": _first},
    },
)  # fmt: skip
BF16 = torch.bfloat16
HALF = dict(rtol=2e-2, atol=2e-2)

# --- DeepGEMM ------------------------------------------------------------------------------------

GEMM = "deep-gemm/deep_gemm/legacy/"
GROUPED = dict(small=dict(m=256, n=300, k=136, e=3), production=dict(m=8192, n=4096, k=2048, e=8))


def _experts(device, m, e):
    """The expert of each row, the same one in each 128 rows, and none in the last ones."""
    ids = (torch.arange(m // 128) * e // (m // 128)).repeat_interleave(128).to(torch.int32)
    ids[-128:] = -1
    return ids.to(device)


def _by_experts(x, w, ids):
    out = torch.zeros(len(ids), w.shape[1], dtype=torch.float64, device=x.device)
    for i in range(len(w)):
        out[ids == i] = x.double()[ids == i] @ w.double()[i].T
    return out


@repository.case(GEMM + "m_grouped_gemm.py", "m_grouped_bf16_gemm_contiguous_tl_impl", **GROUPED, **HALF)  # fmt: skip
def grouped_rows(file, device, m, n, k, e):
    x = tm.normal(m, k, device=device, dtype=BF16)
    w = tm.normal(e, n, k, device=device, dtype=BF16, scale=k**-0.5)
    ids = _experts(device, m, e)

    def run():
        out = torch.empty(m, n, device=device, dtype=BF16)
        file.m_grouped_bf16_gemm_nt_contiguous_tl(x, w, out, ids)
        return out

    return run, lambda: _by_experts(x, w, ids)


@repository.case(GEMM + "a_fused_m_grouped_gemm.py", "a_fused_m_grouped_bf16_gemm_contiguous_tl_impl", **GROUPED, **HALF)  # fmt: skip
def gathered_rows(file, device, m, n, k, e):
    """Weights by columns, and rows that nobody is."""
    x = tm.normal(m // 2, k, device=device, dtype=BF16)
    w = tm.normal(e, k, n, device=device, dtype=BF16, scale=k**-0.5)
    ids, rows = _experts(device, m, e), tm.integers(-1, m // 2, m, device=device, dtype=torch.int32)

    def run():
        out = torch.empty(m, n, device=device, dtype=BF16)
        file.a_fused_m_grouped_bf16_gemm_nn_contiguous_tl(x, w, out, (ids, rows))
        return out

    def want():
        mine = torch.where((rows >= 0)[:, None], x[rows.clamp(0).long()], 0)
        return _by_experts(mine, w.mT, ids)

    return run, want


def _gradients(which):
    def build(file, device, m, n, k, e):
        scale = (m / e) ** -0.25
        rows = tm.integers(-1, m // 2, m, device=device, dtype=torch.int32)
        counts = [m // 128 // e * 128] * (e - 1) + [0]
        starts = tm.starts(counts, device)
        sizes = (m // 2, m) if which == "a" else (m, m // 2)
        a, b = (
            tm.normal(s, d, device=device, dtype=BF16, scale=scale)
            for s, d in zip(sizes, (k, n), strict=True)
        )

        def run():
            out = torch.ones(e, k, n, device=device)
            launch = getattr(file, f"{which}_fused_k_grouped_bf16_gemm_tn_contiguous_tl")
            launch(a, b, out, (rows, starts[:-1].contiguous(), starts[1:].contiguous()), True)
            return out

        def want():
            x, y = a.double(), b.double()
            given = x if which == "a" else y
            mine = torch.where((rows >= 0)[:, None], given[rows.clamp(0).long()], 0)
            x, y = (mine, y) if which == "a" else (x, mine)
            parts = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
            return torch.stack([x[i:j].T @ y[i:j] + 1 for i, j in parts])

        return run, want

    repository.case(GEMM + f"{which}_fused_k_grouped_gemm.py", f"{which}_fused_k_grouped_bf16_gemm_contiguous_tl_impl", **GROUPED, **HALF, name=f"gradients_gathered_{which}")(build)  # fmt: skip


_gradients("a")
_gradients("b")

# --- finegrained-fp8 -----------------------------------------------------------------------------

FP8 = "finegrained-fp8/torch-ext/finegrained_fp8/"
SCALED = dict(small=dict(m=40, n=256, k=384), production=dict(m=4096, n=4096, k=4096))
ROUGH = dict(rtol=5e-2, atol=5e-2)


def _strides(x):
    return x.stride(-2), x.stride(-1)


@repository.case(FP8 + "matmul.py", "w8a8_block_dynamic_fp8_matmul_kernel, _swizzle_offsets, _store_masked, fp8_act_quant_inline, decode_ue8m0_scale", **SCALED, **ROUGH)  # fmt: skip
def quantised_on_the_way(file, device, m, n, k):
    """Rows are made fp8 within the loop; the factors of the weights are powers of two."""
    x = tm.normal(m, k, device=device, dtype=BF16)
    w = tm.fp8(n, k, device=device)
    exponents = tm.integers(119, 123, n // 128, k // 128, device=device, dtype=torch.uint8)
    scales = torch.exp2(exponents.double() - 127)

    def run():
        out, block = torch.empty(m, n, device=device, dtype=BF16), file.adaptive_block_size_m(m)
        grid = -(-m // block), n // 128
        file.w8a8_block_dynamic_fp8_matmul_kernel[grid](
            x, w, out, exponents, m, n, k, *_strides(x), w.stride(1), w.stride(0), *_strides(out),
            exponents.stride(1), exponents.stride(0),
            BLOCK_SIZE_M=block, BLOCK_SIZE_N=128, BLOCK_SIZE_K=128, GROUP_SIZE_M=8,
        )  # fmt: skip
        return out.double() * k**-0.5

    def want():
        return x.double() @ tm.dequantised_blocks(w, scales, 128, 128).T * k**-0.5

    return run, want


@repository.case(FP8 + "matmul.py", "w8a8_tensor_dynamic_fp8_matmul_kernel, _swizzle_offsets, _store_masked", **SCALED, **HALF)  # fmt: skip
def scaled_by_rows(file, device, m, n, k):
    x, w = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    rows, factor = (torch.rand(m) * k**-0.5).to(device), torch.tensor([0.5], device=device)

    def run():
        out, block = torch.empty(m, n, device=device, dtype=BF16), file.adaptive_block_size_m(m)

        def grid(meta):
            return -(-m // block), -(-n // meta["BLOCK_SIZE_N"])

        file.w8a8_tensor_dynamic_fp8_matmul_kernel[grid](
            x, w, out, rows, factor, m, n, k, *_strides(x), w.stride(1), w.stride(0),
            *_strides(out), 1, BLOCK_SIZE_M=block, GROUP_SIZE_M=8,
        )  # fmt: skip
        return out

    def want():
        return (x.float().double() @ w.float().double().T) * rows.double()[:, None] * 0.5

    return run, want


def _mx_experts(name, packed):
    def build(file, device, m, n, k, e):
        x = tm.normal(m, k, device=device, dtype=BF16)
        counts = torch.tensor([m // e + (-7 if i % 2 else 7) for i in range(e)])
        ends = counts.cumsum(0).to(torch.int32).to(device)
        exponents = tm.integers(119, 123, e, n, k // 32, device=device, dtype=torch.uint8)
        if packed:
            w = tm.integers(0, 256, e, n, k // 2, device=device, dtype=torch.uint8)
            halves = (0, 0.5, 1, 1.5, 2, 3, 4, 6)
            values = torch.tensor([*halves, *(-v for v in halves)], device=device)
            nibbles = torch.stack([w & 15, w >> 4], -1).flatten(-2).long()
            real = values[nibbles].double()
        else:
            w = tm.fp8(e, n, k, device=device)
            real = w.float().double()

        def run():
            out, block = torch.empty(m, n, device=device, dtype=BF16), 64
            tiles, most = file._grouped_tile_layout(counts.to(device), block, m, e)

            def grid(meta):
                return most, -(-n // meta["BLOCK_SIZE_N"])

            file.mxfp_dynamic_matmul_grouped_kernel[grid](
                x, w, out, exponents, ends, tiles, m, n, k, *_strides(x), w.stride(0), w.stride(2),
                w.stride(1), *_strides(out), exponents.stride(0), exponents.stride(2),
                exponents.stride(1), 1, 1, num_experts=e, BLOCK_SIZE_M=block,
                NUM_EXPERTS_BIT_LENGTH=e.bit_length(), VALUES_PER_BYTE=2 if packed else 1,
                SCALE_GROUP_K=32,
            )  # fmt: skip
            return out.double() * k**-0.5

        def want():
            scales = torch.exp2(exponents.double() - 127)
            ids = torch.arange(e).repeat_interleave(counts).to(device)
            return _by_experts(x, real * scales.repeat_interleave(32, -1), ids) * k**-0.5

        return run, want

    repository.case(FP8 + "grouped.py", "mxfp_dynamic_matmul_grouped_kernel, _grouped_tile_setup, mxfp_act_quant_inline, mx_dot_scaled, store_tile", small=dict(m=100, n=128, k=256, e=2), production=dict(m=4096, n=2880, k=2880 // 128 * 128, e=8), **ROUGH, name=name)(build)  # fmt: skip


_mx_experts("mxfp8_experts", False)
_mx_experts("mxfp4_experts", True)

# --- triangle multiplication ---------------------------------------------------------------------

TRIANGLE = "esmfold2-trimul/torch-ext/esmfold2_trimul/"


@repository.case(TRIANGLE + "fused_dual_gemm.py", "_gated_dual_gemm_kernel, _gated_dual_gemm_backward_kernel", small=dict(b=1, m=9, d=64), production=dict(b=1, m=512, d=128), **HALF)  # fmt: skip
def gated_products(file, device, b, m, d):
    x = tm.normal(b, m, m, d, device=device, dtype=BF16)
    mask = (torch.rand(b, m, m) < 0.8).to(BF16).to(device)
    gate, value = (tm.normal(2 * d, d, device=device, dtype=BF16, scale=d**-0.5) for _ in range(2))
    ups = [tm.normal(d, b, m, m, device=device, dtype=BF16) for _ in range(2)]

    def run():
        leaves = [y.clone().requires_grad_() for y in (x, gate, value)]
        parts = file.fused_gated_dual_gemm_split(*leaves, mask)
        grads = torch.autograd.grad(parts, leaves, ups)
        return *(y.detach() for y in parts), grads[0], grads[1] / m, grads[2] / m

    def want():
        leaves = [y.double().requires_grad_() for y in (x, gate, value)]
        y, g, v = leaves
        parts = ((y @ g.T).sigmoid() * (y @ v.T) * mask.double()[..., None]).movedim(-1, 0).chunk(2)
        grads = torch.autograd.grad(parts, leaves, [u.double() for u in ups])
        return *(p.detach() for p in parts), grads[0], grads[1] / m, grads[2] / m

    return run, want


@repository.case(TRIANGLE + "trimul_einsum_triton.py", "_batched_einsum_kernel", small=dict(d=2, m=40), production=dict(d=128, m=512), **HALF)  # fmt: skip
def products_of_planes(file, device, d, m):
    a, b, up = (tm.normal(d, 1, m, m, device=device, dtype=BF16, scale=m**-0.25) for _ in range(3))

    def run():
        return tm.with_gradients(lambda x, y: file.TrimulBatchedEinsum.apply(x, y, "incoming"), up, a, b)  # fmt: skip

    return run, lambda: tm.with_gradients(lambda x, y: x.mT @ y, up, a, b, exact=True)


@repository.case(TRIANGLE + "fused_ln_residual.py", "_ln_fwd_kernel, _ln_bwd_kernel", small=dict(m=9, d=64), production=dict(m=768, d=128), **HALF)  # fmt: skip
def norm_of_planes(file, device, m, d):
    """Over the first axis: the result has it last."""
    x = tm.normal(d, 1, m, m, device=device, dtype=BF16)
    w, b = (tm.normal(d, device=device) for _ in range(2))
    up = tm.normal(1, m, m, d, device=device, dtype=BF16)

    def small(parts):
        return *parts[:2], *(part / m for part in parts[2:])

    def ours(x, w, b):
        return file.fused_ln_transpose(x, w, b, layout="dbij->bijd")

    def right(x, w, b):
        return tm.layer_norm(x.movedim(0, -1), w, b, 1e-5)

    return (
        lambda: small(tm.with_gradients(ours, up, x, w, b)),
        lambda: small(tm.with_gradients(right, up, x, w, b, exact=True)),
    )


@repository.case(TRIANGLE + "trimul_with_residual.py", "_gated_gemm_with_residual_kernel, _gated_gemm_with_residual_backward_kernel", small=dict(m=10, d=64), production=dict(m=512, d=128), **HALF)  # fmt: skip
def gated_onto_residual(file, device, m, d):
    x, y, r, up = (tm.normal(m * m, d, device=device, dtype=BF16) for _ in range(4))
    a, b = (tm.normal(d, d, device=device, dtype=BF16, scale=d**-0.5) for _ in range(2))
    kept = ((torch.rand(m, d) < 0.75) / 0.75).to(BF16).to(device)

    def small(parts):
        out, dx, dy, da, db, dr = parts
        return out, dx, dy, da / m, db / m, dr

    def ours(*leaves):
        return file.GatedGEMMWithResidual.apply(*leaves, kept, m, m, 0)

    def right(x, y, a, b, r):
        return r + kept.double().repeat(m, 1) * (x @ a.T).sigmoid() * (y @ b.T)

    return (
        lambda: small(tm.with_gradients(ours, up, x, y, a, b, r)),
        lambda: small(tm.with_gradients(right, up, x, y, a, b, r, exact=True)),
    )
