"""vLLM, the fork jinhuang12/vllm: mixture of experts, quantization, LoRA, RoPE, operators that do
not depend on the batch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.vllm import vllm

repository = vllm()
BF16 = torch.bfloat16
ATTENTION, LAYERS = "vllm/v1/attention/ops/", "vllm/model_executor/layers/"
HALF = dict(rtol=2e-2, atol=2e-2)


# --- operators that do not depend on the batch ---------------------------------------------------

INVARIANT = LAYERS + "batch_invariant.py"
GEMM = dict(
    small=dict(m=100, n=200, k=150), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=5e-2
)


@repository.case(INVARIANT, "matmul_kernel_persistent, _compute_pid", **GEMM)
def matmul(file, device, m, n, k):
    x, y, b = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (k, n), (n,)))
    return (
        lambda: file.matmul_persistent(x, y, b),
        lambda: x.double() @ y.double() + b.double(),
    )


@repository.case(INVARIANT, "bmm_kernel", small=dict(b=2, m=100, n=200, k=150), production=dict(b=8, m=2048, n=2048, k=2048), rtol=1e-2, atol=5e-2)  # fmt: skip
def batched_matmul(file, device, b, m, n, k):
    x, y = (tm.normal(b, *s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    return lambda: file.bmm_batch_invariant(x, y), lambda: x.double() @ y.double()


ROWS = dict(small=dict(m=7, n=1500), production=dict(m=8192, n=8192))


@repository.case(INVARIANT, "_log_softmax_kernel", **ROWS)
def log_softmax(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.log_softmax(x), lambda: x.double().log_softmax(-1)


@repository.case(INVARIANT, "mean_kernel", small=dict(a=3, b=70, c=50), production=dict(a=64, b=4096, c=512))  # fmt: skip
def mean(file, device, a, b, c):
    x = tm.normal(a, b, c, device=device)
    return lambda: file.mean_dim(x, 1), lambda: x.double().mean(1)


@repository.case(INVARIANT, "_rms_norm_kernel", **ROWS)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.rms_norm(x, w), lambda: tm.rms_norm(x, w, 1e-6)


# --- quantization -------------------------------------------------------------------------------

FP8_UTILS, INT8_UTILS = (LAYERS + f"quantization/utils/{x}_utils.py" for x in ("fp8", "int8"))
GROUPS = dict(small=dict(m=8, n=512), production=dict(m=8192, n=8192), rtol=1e-4, atol=1e-6)


def _by_group(x, most):
    groups = x.double().unflatten(-1, (-1, 128))
    scales = groups.abs().amax(-1) / most
    return (groups / scales[..., None]).flatten(-2), scales


def _fp8_groups(file, device, m, n, **options):
    """Its results times their scales; fp8 is within a sixteenth."""
    x = tm.normal(m, n, device=device)

    def run():
        q, s = file.per_token_group_quant_fp8(x, 128, **options)
        return q.float() * s.repeat_interleave(128, -1), s

    return run, lambda: (x, _by_group(x, 448.0)[1])


@repository.case(FP8_UTILS, "_per_token_group_quant_fp8", small=dict(m=8, n=512), production=dict(m=8192, n=8192), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_by_groups(file, device, **size):
    return _fp8_groups(file, device, **size)


@repository.case(FP8_UTILS, "_per_token_group_quant_fp8_colmajor", small=dict(m=7, n=512), production=dict(m=8192, n=8192), rtol=0.07, atol=1e-2)  # fmt: skip
def fp8_by_groups_columns(file, device, **size):
    return _fp8_groups(file, device, column_major_scales=True, tma_aligned_scales=True, **size)


@repository.case(FP8_UTILS, "_silu_mul_per_token_group_quant_fp8_colmajor", small=dict(m=128, n=512), production=dict(m=8192, n=8192), rtol=0.08, atol=2e-2)  # fmt: skip
def silu_mul_fp8(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        q, s = file.silu_mul_per_token_group_quant_fp8_colmajor(x)
        return q.float() * s.repeat_interleave(128, -1)

    return run, lambda: tm.silu_mul(x)


@repository.case(FP8_UTILS, "_w8a8_triton_block_scaled_mm", small=dict(m=70, n=200, k=256), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def fp8_blocks(file, device, m, n, k):
    x, w = (tm.fp8(*s, device=device) for s in ((m, k), (n, k)))
    xs, ws = (torch.rand(*s).to(device) for s in ((m, k // 128), (-(-n // 128), k // 128)))

    def want():
        a, b = tm.dequantised_blocks(x, xs, 1, 128), tm.dequantised_blocks(w, ws, 128, 128)
        return a @ b.T

    return lambda: file.w8a8_triton_block_scaled_mm(x, w, xs, ws, [128, 128], torch.float32), want


@repository.case(INT8_UTILS, "_per_token_quant_int8, round_int8", small=dict(m=7, n=500), production=dict(m=8192, n=8192), rtol=0, atol=1.0)  # fmt: skip
def int8_by_rows(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        scale = x.double().abs().amax(-1, keepdim=True) / 127
        return (x.double() / scale).round(), scale

    return lambda: file.per_token_quant_int8(x), want


@repository.case(INT8_UTILS, "_per_token_group_quant_int8", small=dict(m=7, n=512), production=dict(m=8192, n=8192), rtol=0, atol=1.0)  # fmt: skip
def int8_by_groups(file, device, m, n):
    x = tm.normal(m, n, device=device)
    return lambda: file.per_token_group_quant_int8(x, 128), lambda: _by_group(x, 127)


@repository.case(INT8_UTILS, "_w8a8_block_int8_matmul", small=dict(m=70, n=200, k=256), production=dict(m=4096, n=4096, k=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def int8_blocks(file, device, m, n, k):
    x, w = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    xs, ws = (torch.rand(*s).to(device) / 127 for s in ((m, k // 128), (-(-n // 128), k // 128)))

    def want():
        a, b = tm.dequantised_blocks(x, xs, 1, 128), tm.dequantised_blocks(w, ws, 128, 128)
        return a @ b.T

    return lambda: file.w8a8_block_int8_matmul(x, w, xs, ws, [128, 128], torch.float32), want


# The end of K is loaded with a mask and no other value, and summed.
@repository.case(LAYERS + "quantization/compressed_tensors/triton_scaled_mm.py", "scaled_mm_kernel", small=dict(m=33, n=100, k=150), production=dict(m=512, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def scaled_int8(file, device, m, n, k):
    x, w = (tm.integers(-127, 128, *s, device=device, dtype=torch.int8) for s in ((m, k), (n, k)))
    xs, ws, bias = torch.rand(m, 1).to(device) / 99, torch.rand(n, 1).to(device) / 99, tm.normal(n, device=device, dtype=BF16)  # fmt: skip
    return (
        lambda: file.triton_scaled_mm(x, w.T, xs, ws, BF16, bias),
        lambda: x.double() @ w.double().T * xs.double() * ws.double().T + bias.double(),
    )


def _awq(k, n, group, device):
    """Numbers of 4 bits in the order of AWQ, and what they stand for."""
    values, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // group, n))
    scales = (torch.rand(k // group, n) * 0.1).to(torch.float16)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    packed = [tm.packed_int4(x, tuple(order)).to(device) for x in (values, zeros)]
    full = (values - zeros.repeat_interleave(group, 0)).double() * scales.double().repeat_interleave(group, 0)  # fmt: skip
    return packed, scales.to(device), full.to(device)


@repository.case(LAYERS + "quantization/awq_triton.py", "awq_dequantize_kernel", small=dict(k=128, n=96), production=dict(k=4096, n=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def awq_dequantised(file, device, k, n):
    (values, zeros), scales, full = _awq(k, n, 64, device)
    return lambda: file.awq_dequantize_triton(values, scales, zeros), lambda: full


@repository.case(LAYERS + "quantization/awq_triton.py", "awq_gemm_kernel", small=dict(m=20, k=256, n=96), production=dict(m=64, k=4096, n=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def awq_gemm(file, device, m, k, n):
    (values, zeros), scales, full = _awq(k, n, 64, device)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.awq_gemm_triton(x, values, scales, zeros, 2), lambda: x.double() @ full


@repository.case(LAYERS + "quantization/qutlass_utils.py", "triton_scale_swizzle", small=dict(m=150, n=10), production=dict(m=8192, n=512), rtol=0, atol=0)  # fmt: skip
def swizzled_scales(file, device, m, n):
    x = tm.integers(0, 256, m, n, device=device, dtype=torch.uint8)

    def want():
        y = F.pad(x, (0, -n % 4, 0, -m % 128))
        y = y.unflatten(0, (-1, 128)).unflatten(2, (-1, 4)).transpose(1, 2)
        return y.unflatten(2, (4, 32)).transpose(2, 3).reshape(-1)

    return lambda: file.triton_mx_block_rearrange(x).flatten(), want


@repository.case(LAYERS + "activation.py", "_swiglustep_and_mul_kernel", small=dict(m=7, n=3000), production=dict(m=8192, n=16384))  # fmt: skip
def swiglu_step(file, device, m, n):
    x = tm.normal(m, n, device=device, scale=4)

    def run():
        out = torch.empty(m, n // 2, device=device)
        file.swiglustep_and_mul_triton(out, x, 3.0)
        return out

    def want():
        gate, up = x.double().chunk(2, -1)
        return F.silu(gate).clamp(max=3) * up.clamp(-3, 3)

    return run, want


# --- mixture of experts --------------------------------------------------------------------------

MOE = LAYERS + "fused_moe/"


@repository.case(MOE + "fused_moe.py", "fused_moe_kernel, write_zeros_to_output", small=dict(m=20, e=4, k=100, n=70, t=2), production=dict(m=2048, e=64, k=4096, n=2048, t=4), rtol=1e-2, atol=2e-2)  # fmt: skip
def experts(file, device, m, e, k, n, t):
    """The last expert lies on another machine: its rows are zeros."""
    block = 16
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (e, n, k)))
    bias = tm.normal(e, n, device=device, dtype=BF16)
    share, ids = tm.topk_ids(m, e, t, device)
    order, owner = [], []
    for expert in range(e):
        mine = (ids.flatten() == expert).nonzero()[:, 0].tolist()
        mine += [m * t] * (-len(mine) % block)
        order += mine
        owner += [expert if expert < e - 1 else -1] * (len(mine) // block)
    order, owner, count = (torch.tensor(v, dtype=torch.int32).to(device) for v in (order, owner, [len(order)]))  # fmt: skip
    config = dict(BLOCK_SIZE_M=block, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=4)

    def run():
        out = torch.full((m, t, n), 7.0, device=device, dtype=BF16)
        file.invoke_fused_moe_triton_kernel(
            x, w, out, None, None, share, order, owner, count, True, t, config, tl.bfloat16,
            False, False, False, False, False, B_bias=bias,
        )  # fmt: skip
        return out

    def want():
        y = (tm.moe(x, w, ids) + bias.double()[ids]) * share.double()[..., None]
        return y.masked_fill((ids == e - 1)[..., None], 0)

    return run, want


@repository.case(MOE + "fused_batched_moe.py", "batched_triton_kernel, expert_triton_kernel, moe_mmk", small=dict(e=3, m=40, k=100, n=70), production=dict(e=64, m=512, k=4096, n=2048), rtol=1e-2, atol=2e-2)  # fmt: skip
def batched_experts(file, device, e, m, k, n):
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((e, m, k), (e, n, k)))
    counts = torch.tensor([0, *tm.lengths(e - 1, m)], dtype=torch.int32).to(device)
    config = dict(BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32)

    def run():
        out = torch.zeros(e, m, n, device=device, dtype=BF16)
        # The wrapper is the same call with scales brought into one shape.
        file.batched_triton_kernel[(e, triton.cdiv(m, 32) * triton.cdiv(n, 32))](
            x, w, out, counts, tl.bfloat16, m, k, n, None, None, None, *x.stride(), w.stride(0),
            w.stride(2), w.stride(1), *out.stride(), 0, 0, 0, 0, 0, 0, 0, 0, False, False, False,
            BLOCK_M=config["BLOCK_SIZE_M"], BLOCK_N=config["BLOCK_SIZE_N"],
            BLOCK_K=config["BLOCK_SIZE_K"],
        )  # fmt: skip
        return out

    def want():
        y = x.double() @ w.double().transpose(1, 2)
        return y.masked_fill((torch.arange(m, device=device) >= counts[:, None])[..., None], 0)

    return run, want


@repository.case(MOE + "batched_deep_gemm_moe.py", "_silu_mul_fp8_quant_deep_gemm", small=dict(e=3, m=9, n=256), production=dict(e=64, m=512, n=4096), rtol=0.08, atol=2e-2)  # fmt: skip
def silu_mul_fp8_experts(file, device, e, m, n):
    x = tm.normal(e, m, 2 * n, device=device, dtype=BF16)
    counts = torch.tensor([0, *tm.lengths(e - 1, m)], dtype=torch.int32).to(device)
    used = torch.arange(m, device=device) < counts[:, None]

    def run():
        q, s = file.persistent_masked_m_silu_mul_quant(x, counts)
        return q[used].float() * s[used].repeat_interleave(128, -1)

    return run, lambda: tm.silu_mul(x)[used]


@repository.case(MOE + "deep_gemm_utils.py", "_fwd_kernel_ep_scatter_1, _fwd_kernel_ep_scatter_2, _fwd_kernel_ep_gather, round_up_128, apply_expert_map, _count_expert_num_tokens", small=dict(m=30, n=256, e=4, t=2), production=dict(m=4096, n=4096, e=64, t=8), rtol=1e-2, atol=1e-2)  # fmt: skip
def scattered_and_gathered(file, device, m, n, e, t):
    """Rows go to their experts and come back with weights; half of the experts are elsewhere."""
    x, scales = tm.normal(m, n, device=device), torch.rand(m, n // 128).to(device)
    share, ids = tm.topk_ids(m, e, t, device)
    mapping = torch.arange(e, dtype=torch.int32).masked_fill(torch.arange(e) % 2 == 1, -1)
    mapping = torch.where(mapping >= 0, mapping // 2, mapping).to(device)

    def run():
        y, s, owner, places = file.deepgemm_moe_permute(x, scales, ids, e // 2, mapping, None)
        out, full, rows = torch.empty_like(x), torch.zeros_like(y), places[ids % 2 == 0].long()
        full[rows] = y[rows] * s[rows].repeat_interleave(128, -1)
        file.deepgemm_unpermute_and_reduce(full, ids, share, places, mapping, out)
        return out, torch.bincount(owner + 1, minlength=e // 2 + 1)[1:]

    def want():
        mine = ids % 2 == 0
        y = tm.dequantised_blocks(x, scales, 128)
        count = torch.bincount(ids[mine] // 2, minlength=e // 2)
        return y * share.double().masked_fill(~mine, 0).sum(-1, keepdim=True), count

    return run, want


@repository.case(MOE + "fused_moe.py", "compute_identity_kernel", small=dict(m=9, n=512, t=3), production=dict(m=8192, n=4096, t=8))  # fmt: skip
def experts_of_identity(file, device, m, n, t):
    x, (share, ids) = tm.normal(m, n, device=device), tm.topk_ids(m, 8, t, device)

    def run():
        return file.zero_experts_compute_triton(ids.clone(), share.clone(), 5, "identity", x)

    return run, lambda: x.double() * share.double().masked_fill(ids < 5, 0).sum(-1, keepdim=True)


# --- LoRA and RoPE -------------------------------------------------------------------------------

LORA = "vllm/lora/ops/triton_ops/"


def _adapters(m, count, device):
    """The adapter of each token, -1 for none, and the tables that the kernels take."""
    adapter = tm.integers(-1, count, m, device=device, dtype=torch.int32)
    order = adapter.argsort(stable=True).to(torch.int32)
    ids, counts = adapter.unique(return_counts=True)
    pad = count + 1 - len(ids)
    ids, counts = F.pad(ids, (0, pad), value=-1), F.pad(counts, (0, pad)).to(torch.int32)
    starts = F.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
    no = torch.tensor([False])
    return adapter, (adapter, order, counts, starts, ids.to(torch.int32), no, torch.tensor([count + 1 - pad]))  # fmt: skip


@repository.case(LORA + "lora_shrink_op.py", "_lora_shrink_kernel, do_shrink_kernel, mm_k", small=dict(m=20, k=300, r=8, count=3), production=dict(m=4096, k=4096, r=16, count=16), rtol=1e-2, atol=2e-2)  # fmt: skip
def lora_shrink(file, device, m, k, r, count):
    adapter, tables = _adapters(m, count, device)
    x = tm.normal(m, k, device=device, dtype=BF16)
    w = [tm.normal(count, 1, r, k, device=device, dtype=BF16) for _ in range(2)]

    def run():
        out = torch.empty(2, m, r, device=device)
        file._lora_shrink(x, w, out, *tables, 0.5)
        return out

    def want():
        mine = [0.5 * (y[:, 0][adapter.long()].double() @ x.double()[..., None])[..., 0] for y in w]
        return torch.stack(mine).masked_fill((adapter < 0)[:, None], 0)

    return run, want


@repository.case(LORA + "lora_expand_op.py", "_lora_expand_kernel, do_expand_kernel, mm_k", small=dict(m=20, n=100, r=16, count=3), production=dict(m=4096, n=4096, r=16, count=16), rtol=1e-2, atol=2e-2)  # fmt: skip
def lora_expand(file, device, m, n, r, count):
    """Two slices of different widths, added to what is there."""
    adapter, tables = _adapters(m, count, device)
    x = tm.normal(2, m, r, device=device)
    w = [tm.normal(count, 1, width, r, device=device, dtype=BF16) for width in (n, n // 2)]
    before = tm.normal(m, n + n // 2, device=device, dtype=BF16)

    def run():
        out = before.clone()
        file._lora_expand(x, w, out, *tables, add_inputs=True)
        return out

    def want():
        mine = [(y[:, 0][adapter.long()].double() @ z.double()[..., None])[..., 0] for y, z in zip(w, x, strict=True)]  # fmt: skip
        return before.double() + torch.cat(mine, -1).masked_fill((adapter < 0)[:, None], 0)

    return run, want


@repository.case(LAYERS + "rotary_embedding/mrope.py", "_triton_mrope_forward", small=dict(m=9, h=3, hk=2, d=32), production=dict(m=8192, h=28, hk=4, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rope_of_three(file, device, m, h, hk, d):
    """Positions in time, height and width, each for a part of the angles."""
    q, k = (tm.normal(m, x * d, device=device) for x in (h, hk))
    angles = torch.rand(3, m, d // 2) * 6
    cos, sin = angles.cos().to(device), angles.sin().to(device)
    parts = [d // 8, d // 8, d // 4]

    def run():
        return file.triton_mrope(q.clone(), k.clone(), cos, sin, parts, d, d, False)

    def want():
        c, s = (torch.cat([x.split(parts, -1)[i][i] for i in range(3)], -1) for x in (cos, sin))
        return tuple(
            tm.rotated(x.unflatten(-1, (-1, d)), c[:, None], s[:, None]).flatten(-2) for x in (q, k)
        )

    return run, want
