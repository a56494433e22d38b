"""HiP attention: a sort that takes indices along, RoPE undone and done again, a loss of attention."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "DeepAuto-AI/hip-attention",
    "fea42c779263a87b0a669d8ad330e219f18e5d53",
    packages={"hip_attn": "src"},
    stand_ins=dict.fromkeys(
        (
            "cuda",
            "cupy",
            "cv2",
            "numba",
            "numba.cuda",
            "einops",
            "matplotlib.pyplot",
            "tqdm",
            "vllm",
            "vllm.distributed",
            "hip_attn.v1_1.offload_runner.tensor_from_pointer",
        ),
        {},
    ),
)


@triton.jit
def _sorted(x, ids, sort: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    values, places = sort(tl.load(x + at), tl.load(ids + at), 0, DOWN)
    tl.store(x + at, values)
    tl.store(ids + at, places)


@repository.case("src/hip_attn/utils/triton_argsort.py", "argsort, _bitonic_merge, _compare_and_swap", small=dict(m=3, n=32), production=dict(m=4096, n=256))  # fmt: skip
def argsort(file, device, m, n):
    x, ids = tm.normal(m, n, device=device), torch.arange(n).repeat(m, 1).to(torch.int32).to(device)

    def run():
        found = []
        for down in (0, 1):
            values, places = x.clone(), ids.clone()
            _sorted[(m,)](values, places, file.argsort, n, down)
            found += [values, places]
        return found

    return run, lambda: [t for down in (False, True) for t in x.sort(-1, descending=down)]


@triton.jit
def _turned(x, cos, sin, out, apply: tl.constexpr, undo: tl.constexpr, T: tl.constexpr, D: tl.constexpr):  # fmt: skip
    at = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    c, s = tl.load(cos + at), tl.load(sin + at)
    y = apply(tl.load(x + at), c, s, T, D)
    tl.store(out + at, y)
    tl.store(x + at, undo(y, c, s, T, D))


@repository.case("src/hip_attn/utils/rope.py", "apply_rope, de_rope, rotate_half, merge_half, split_half", small=dict(t=16, d=32), production=dict(t=64, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def rope(file, device, t, d):
    x, angle = tm.normal(t, d, device=device), torch.rand(t, d // 2) + 0.2
    cos, sin = (torch.cat([f(angle)] * 2, -1).to(device) for f in (torch.cos, torch.sin))

    def run():
        given, out = x.clone(), torch.empty_like(x)
        _turned[(1,)](given, cos, sin, out, file.apply_rope, file.de_rope, t, d)
        return given, out

    return run, lambda: (x, tm.rotated(x.cpu(), angle.cos(), angle.sin()))


@repository.case("src/hip_attn/utils/attn_l1_loss.py", "compute_attn_lp_loss_kernel, compute_attn_lp_loss_kernel_backward", small=dict(b=1, h=2, t=128, d=48), production=dict(b=1, h=8, t=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def attention_loss(file, device, b, h, t, d):
    # Whole blocks of 64: queries behind the end make the gradient of k NaN, log(0) times 0.
    q, k = (tm.normal(b, h, t, d, device=device, scale=0.5) for _ in range(2))
    up = tm.normal(b, h, device=device)

    def exact(q, k):
        s = (q @ k.mT).masked_fill(torch.ones(t, t).triu(1).bool(), -1e9)
        return ((s.log_softmax(-1) * 0.5).exp().sum(-1) ** 2).mean(-1)

    return (
        lambda: tm.with_gradients(
            lambda q, k: file.compute_attn_lp_loss_triton(q, k, 0.5), up, q, k
        ),  # fmt: skip
        lambda: tm.with_gradients(exact, up.cpu(), q.cpu(), k.cpu(), exact=True),
    )


# Programs that use the same block of keys all mark it as used.
@repository.case("src/hip_attn/v1_2/attention_extend.py", "chunk_controllable_sampling_mask_cuda, block_sparse_attention_cuda", finds="race-same-value", small=dict(n=256, h=4, hk=2, d=64), production=dict(n=2048, h=16, hk=4, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def pruned_attention(file, device, n, h, hk, d):
    from hip_attn.v1_2.attention_metadata import HiPAttentionArgs, ScanStage

    half = torch.float16
    q = tm.normal(1, n, h, d, device=device, dtype=half)
    k, v = (tm.normal(1, n, hk, d, device=device, dtype=half) for _ in range(2))

    def stage(chunk, k):
        return ScanStage(
            stage_block_size_q=64, stage_block_stride_q=1, stage_chunk_size=chunk,
            stage_k=k, stage_stride=1,
        )  # fmt: skip

    def run():
        args = HiPAttentionArgs(
            position_ids=torch.arange(n, device=device)[None], sink_token_size=64,
            sliding_window_size=64, block_size_k=32, block_sparse_block_size_q=32,
            second_stage_k=n, stages=[stage(64, None), stage(32, n)],
        )  # fmt: skip
        return file.dual_stage_quadratic_hip_attention(q * d**-0.5, k, v, args=args)[0]

    def want():  # so many keys are kept that none is left out
        out, _ = tm.attention(*(x.cpu().transpose(1, 2) for x in (q, k, v)), causal=True)
        return out.transpose(1, 2)

    return run, want
