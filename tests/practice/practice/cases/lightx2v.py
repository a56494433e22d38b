"""LightX2V: modulation, norms and RoPE of video models, block-sparse attention, quantised caches."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ModelTC/LightX2V",
    "f8aee98b5462cca8d7288888146ebd95592bf266",
    packages={"lightx2v": "."},
    stand_ins={
        "magi_compiler": {},
        "loguru": {},
        "lightx2v.utils.registry_factory": {},
        "lightx2v_platform": {},
    },
)
NORMS = "lightx2v/common/ops/norm/triton_ops.py"
QWEN = "lightx2v/models/networks/qwen_image/infer/triton_ops.py"
LTX = "lightx2v/models/networks/ltx2/infer/triton_ops.py"
ATTENTION = "lightx2v/common/ops/attn/"
CACHE = "lightx2v/common/kvcache/kernel.py"
ROWS = dict(
    small=dict(b=2, n=70, c=200), production=dict(b=1, n=32760, c=5120), rtol=2e-2, atol=2e-2
)
BF16 = torch.bfloat16


@repository.case(NORMS, "fuse_scale_shift_kernel_blc_opt", **ROWS)
def scale_shift(file, device, b, n, c):
    x = tm.normal(b, n, c, device=device, dtype=BF16)
    scale, shift = (tm.normal(b, 1, c, device=device, dtype=BF16) for _ in range(2))
    return (
        lambda: file.fuse_scale_shift_kernel(x, scale, shift),
        lambda: x.double() * (1 + scale.double()) + shift.double(),
    )


@repository.case(NORMS, "_fused_scale_shift_4d_kernel", **ROWS)
def scale_shift_frames(file, device, b, n, c):
    x = tm.normal(b, n, c, device=device, dtype=BF16)
    scale, shift = (tm.normal(b, 10, 1, c, device=device, dtype=BF16) for _ in range(2))

    def want():
        rows = [s.double().squeeze(2).repeat_interleave(n // 10, 1) for s in (scale, shift)]
        return x.double() * (1 + rows[0]) + rows[1]

    return lambda: file.fuse_scale_shift_kernel(x, scale, shift), want


@repository.case(QWEN, "fuse_scale_shift_select01_kernel_blc_opt", **ROWS)
def scale_shift_of_two(file, device, b, n, c):
    x = tm.normal(b, n, c, device=device, dtype=BF16)
    values = [tm.normal(b, c, device=device, dtype=BF16) for _ in range(4)]
    index = tm.integers(0, 2, b, n, device=device, dtype=torch.int32)

    def want():
        one = index.bool()[..., None]
        scale, shift = (
            torch.where(one, b_.double()[:, None], a.double()[:, None])
            for a, b_ in zip(values[:2], values[2:], strict=True)
        )
        return x.double() * (1 + scale) + shift

    return lambda: file.fuse_scale_shift_select01_kernel(x, *values, index), want


@repository.case(NORMS, "_rotary_embedding_kernel", small=dict(n=70, h=3, d=64), production=dict(n=32760, h=40, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def rotary(file, device, n, h, d):
    x = tm.normal(1, n, h, d, device=device, dtype=BF16)
    angles = torch.rand(n, d // 2) * 6
    cos, sin = torch.cos(angles).to(device), torch.sin(angles).to(device)
    return (
        lambda: file.apply_rotary_embedding(x, cos, sin, interleaved=True),
        lambda: tm.rotated(x, cos[:, None], sin[:, None], interleaved=True),
    )


@repository.case(NORMS, "_norm_infer_kernel", small=dict(m=70, n=200), production=dict(m=32760, n=5120), atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, b = (
        tm.normal(m, n, device=device),
        tm.normal(n, device=device),
        tm.normal(n, device=device),
    )
    return lambda: file.norm_infer(x, w, b, 1e-6), lambda: tm.layer_norm(x, w, b, 1e-6)


@repository.case(NORMS, "_rms_norm_tiled_onepass", small=dict(m=70, n=200), production=dict(m=32760, n=5120), rtol=2e-2, atol=2e-2)  # fmt: skip
def rms_norm(file, device, m, n):
    """Launched by way of torch.library.wrap_triton."""
    x, w = tm.normal(m, n, device=device, dtype=BF16), tm.normal(n, device=device, dtype=BF16)
    return lambda: file.rms_norm_kernel(x, w), lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(NORMS, "_fused_qk_rms_norm_kernel", small=dict(m=70, k=33, n=128), production=dict(m=32760, k=8192, n=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def qk_rms_norm(file, device, m, k, n):
    """Chooses one of two pointers by the program."""
    q, k = (tm.normal(x, n, device=device, dtype=BF16) for x in (m, k))
    wq, wk = (tm.normal(n, device=device, dtype=BF16) for _ in range(2))
    return (
        lambda: file.fused_qk_rms_norm(q.clone(), k.clone(), wq, wk),
        lambda: (tm.rms_norm(q, wq, 1e-6), tm.rms_norm(k, wk, 1e-6)),
    )


@repository.case(NORMS, "_fused_norm_3drope_kernel", small=dict(n=17, h=3, d=64), production=dict(n=32760, h=40, d=128), rtol=3e-2, atol=3e-2)  # fmt: skip
def norm_rope_3d(file, device, n, h, d):
    x = tm.normal(n, h, d, device=device, dtype=BF16)
    wt, wh = (tm.normal(d // 2, device=device, dtype=BF16) for _ in range(2))
    angles = [torch.rand(n, size) * 6 for size in (d // 4, d // 8, d // 8)]
    tables = [
        torch.cat([f(a), f(a)], -1)[None].to(BF16).to(device)
        for a in angles
        for f in (torch.cos, torch.sin)
    ]

    def want():
        halves = [
            tm.rms_norm(part, w, 1e-6) for part, w in zip(x.chunk(2, -1), (wt, wh), strict=True)
        ]
        parts = halves[0], *halves[1].chunk(2, -1)
        turned = [
            tm.rotated(
                part, *(t[0, :, None, : part.shape[-1] // 2] for t in tables[2 * i : 2 * i + 2])
            )
            for i, part in enumerate(parts)
        ]
        return torch.cat(turned, -1)

    def run():
        y = x.clone()
        file.fused_norm_3drope(y, wt, wh, *tables)
        return y

    return run, want


@repository.case(LTX, "_fused_rmsnorm_modulate_kernel", **ROWS)
def rms_norm_modulate(file, device, b, n, c):
    x = tm.normal(b, n, c, device=device, dtype=BF16)
    scale, shift = (tm.normal(b, n, c, device=device, dtype=BF16) for _ in range(2))
    return (
        lambda: file.fused_rmsnorm_modulate(x, scale, shift),
        lambda: tm.rms_norm(x, None, 1e-6) * (1 + scale.double()) + shift.double(),
    )


MAPS = dict(small=dict(b=1, h=2, n=320, d=64), production=dict(b=1, h=40, n=32768, d=128))


@repository.case(ATTENTION + "utils/sla_util.py", "compress_kernel", **MAPS, rtol=1e-2, atol=1e-2)
def mean_of_blocks(file, device, b, h, n, d):
    n -= 20
    x = tm.normal(b, h, n, d, device=device, dtype=BF16)

    def want():
        return torch.stack([part.double().mean(2) for part in x.split(64, 2)], 2)

    return lambda: file.mean_pool(x, 64), want


def _sla(device, b, h, n, d):
    q, k, v, g = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(4))
    blocks = n // 64
    top = max(1, blocks // 2)
    lut = torch.rand(b, h, blocks, blocks).topk(top).indices.to(device)
    on = torch.zeros(b, h, blocks, blocks, dtype=torch.int8, device=device).scatter_(-1, lut, 1)
    mask = on.bool().repeat_interleave(64, -1).repeat_interleave(64, -2)
    return (
        (q, k, v),
        g,
        lut,
        on,
        top,
        torch.zeros(mask.shape, device=device).masked_fill(~mask, float("-inf")),
    )


def _sla_case(file, device, size, function):
    qkv, g, lut, on, top, bias = _sla(device, **size)

    def of(run, dtype):
        leaves = [x.detach().to(dtype).requires_grad_() for x in qkv]
        out = run(*leaves)
        return out, *torch.autograd.grad(out, leaves, g.to(dtype))

    return (
        lambda: of(
            lambda q, k, v: function(file).apply(q, k, v, on, lut, top, 64, 64), torch.float16
        ),
        lambda: of(lambda q, k, v: tm.attention(q, k, v, bias=bias)[0], torch.float64),
    )


SLA = dict(small=dict(b=1, h=2, n=320, d=64), production=dict(b=1, h=12, n=4096, d=128))


@repository.case(ATTENTION + "kernels/sla_kernel.py", "_attn_fwd, _attn_bwd_preprocess, _attn_bwd_dq, _attn_bwd_dkdv", **SLA, rtol=3e-2, atol=2e-2)  # fmt: skip
def sparse_linear_attention(file, device, **size):
    return _sla_case(file, device, size, lambda file: file._attention)


@repository.case(ATTENTION + "utils/sparge_util.py", "triton_block_map_to_incremental_lut_kernel", small=dict(b=1, h=2, q=5, k=37), production=dict(b=2, h=40, q=256, k=512), rtol=0, atol=0)  # fmt: skip
def block_map_to_table(file, device, b, h, q, k):
    """The distances between the blocks that are set, and their number."""
    on = tm.integers(0, 2, b, h, q, k, device=device, dtype=torch.bool)

    def want():
        table = torch.zeros(b, h, q, k, dtype=torch.int32)
        for place in torch.cartesian_prod(
            torch.arange(b), torch.arange(h), torch.arange(q)
        ).tolist():
            blocks = on[tuple(place)].cpu().nonzero()[:, 0]
            table[tuple(place)][: len(blocks)] = blocks.diff(
                prepend=torch.zeros(1, dtype=torch.int64)
            ).to(torch.int32)
        return table, on.sum(-1)

    return lambda: file.block_map_incremental_lut_triton(on), want


@repository.case(ATTENTION + "utils/sparge_util.py", "triton_fill_causal_mask", small=dict(q=7, k=14), production=dict(q=256, k=512), rtol=0, atol=0)  # fmt: skip
def causal_block_mask(file, device, q, k):
    def run():
        return file.fill_causal_mask_triton(torch.empty(q, k, device=device, dtype=torch.bool), 2.0)

    return run, lambda: torch.arange(k)[None] < (torch.arange(q)[:, None] + 1) * 2


@repository.case(ATTENTION + "utils/sparge_util.py", "triton_fill_block_map_kernel", small=dict(b=1, h=2, q=5, k=37), production=dict(b=2, h=40, q=256, k=512), rtol=0, atol=0)  # fmt: skip
def fill_block_map(file, device, b, h, q, k):
    count = tm.integers(0, k, b, h, q, device=device)
    order = torch.rand(b, h, q, k).argsort(-1).to(device)

    def run():
        return file.fill_block_map_triton(
            torch.zeros(b, h, q, k, device=device, dtype=torch.bool), count, order
        )

    def want():
        chosen = torch.arange(k, device=device) < count.clamp(min=1)[..., None]
        return torch.zeros(b, h, q, k, dtype=torch.bool, device=device).scatter(-1, order, chosen)

    return run, want


@repository.case(CACHE, "k_int8_roll_rescale_nhd_kernel", small=dict(n=9, h=3, d=96), production=dict(n=32768, h=12, d=128), atol=1.0, rtol=0, share=0)  # fmt: skip
def rescaled_int8(file, device, n, h, d):
    x = tm.integers(-127, 128, n, h, d, device=device, dtype=torch.int8)
    s, t = (torch.rand(n, h).to(device) + 0.1 for _ in range(2))

    def run():
        out = torch.empty_like(x)
        file.k_int8_roll_rescale_triton(x, out, s, t)
        return out

    return run, lambda: (x.double() * (s / t).double()[..., None]).round().clamp(-127, 127)


@repository.case(CACHE, "_pack_along_last_dim, _minmax_along_last_dim", small=dict(b=2, h=2, d=16, n=256), production=dict(b=4, h=32, d=128, n=4096), rtol=1e-3, atol=1e-3, share=1e-3)  # fmt: skip
def packed_int2(file, device, b, h, d, n):
    x = tm.normal(b, h, d, n, device=device)

    def want():
        groups = x.double().unflatten(-1, (-1, 64))
        low, high = groups.amin(-1), groups.amax(-1)
        scale = (high - low) / 3
        codes = ((groups - low[..., None]) / scale[..., None]).clamp(0, 3).round()
        return codes.flatten(-2), scale, low

    def run():
        words, scale, low = file.triton_quantize_and_pack_along_last_dim(x.clone(), 64, 2)
        codes = torch.stack([(words >> (2 * i)) & 3 for i in range(16)], -1).flatten(-2)
        return codes, scale, low

    return run, want


@repository.case(CACHE, "_unpack_dequant_lastdim_kernel", small=dict(b=2, h=2, d=16, n=256), production=dict(b=4, h=32, d=128, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def unpacked_int4(file, device, b, h, d, n):
    words = tm.integers(-(1 << 31), 1 << 31, b, h, d, n // 8, device=device, dtype=torch.int32)
    scale, low = (torch.rand(b, h, d, n // 64).half().to(device) for _ in range(2))

    def want():
        codes = torch.stack([(words.long() >> (4 * i)) & 15 for i in range(8)], -1).flatten(-2)
        return codes.double() * scale.double().repeat_interleave(
            64, -1
        ) + low.double().repeat_interleave(64, -1)

    return lambda: file.unpack_and_dequant_cache_triton(words, scale, low, 64, 4), want


@repository.case(CACHE, "fp4_dequantize_kernel", small=dict(m=8, n=128), production=dict(m=4096, n=4096), rtol=1e-3, atol=1e-3, not_in={"gpu-compile": "its assembly, cvt with .e2m1x2, is not of sm_90a"})  # fmt: skip
def dequantised_fp4(file, device, m, n):
    """Converts by inline assembly for sm_100."""
    codes = torch.randint(0, 256, (m, n // 2)).to(torch.uint8)
    scale, total = torch.rand(m, n // 16), torch.tensor([0.5])
    levels = torch.tensor(
        [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64
    )

    def want():
        both = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).long()
        return levels[both] * scale.double().repeat_interleave(16, -1) * 0.5

    return lambda: file.fp4_dequantize(
        codes.to(device), scale.to(device), total.to(device), dtype=torch.float32
    ), want


@repository.case(ATTENTION + "kernels/ulysses_layout.py", "_qkv_pre_kernel", small=dict(n=10, h=4, d=64, w=2), production=dict(n=8192, h=40, d=128, w=8), rtol=0, atol=0)  # fmt: skip
def heads_by_rank(file, device, n, h, d, w):
    qkv = [tm.normal(n, h, d, device=device, dtype=BF16) for _ in range(3)]

    def want():
        return torch.stack([x.view(n, w, h // w, d).transpose(0, 1) for x in qkv], 2)

    return lambda: file.qkv_pre(*qkv, w), want


@repository.case(ATTENTION + "kernels/ulysses_layout.py", "_attn_post_kernel", small=dict(n=10, h=4, d=64, w=2), production=dict(n=8192, h=40, d=128, w=8), rtol=0, atol=0)  # fmt: skip
def heads_from_ranks(file, device, n, h, d, w):
    x = tm.normal(w, h // w, n, d, device=device, dtype=BF16)
    return lambda: file.attn_post(x), lambda: x.permute(2, 0, 1, 3).reshape(n, h * d)
