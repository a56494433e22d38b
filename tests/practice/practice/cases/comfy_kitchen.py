"""comfy-kitchen: fp8, fp4, MX and int8 with products, neighbourhood attention, norms, rotations."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Comfy-Org/comfy-kitchen", "7d86acf60c88fd6c3c733c0e54db22ef74b8d77f", packages={"comfy_kitchen": "."})  # fmt: skip
FOLDER = "comfy_kitchen/backends/triton"
QUANT = f"{FOLDER}/quantization.py"
BF16, FP8 = torch.bfloat16, torch.float8_e4m3fn
HALF = dict(rtol=2e-2, atol=2e-2)
LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
SM100 = {"gpu-compile": "fp4 conversions are instructions of sm_100", "ptx": "fp4 conversions are instructions of sm_100"}  # fmt: skip


@repository.case(QUANT, "quantize_fp8_kernel_tl, dequantize_fp8_kernel_tl", small=dict(m=33, n=70), production=dict(m=4096, n=4096), rtol=7e-2, atol=1e-2)  # fmt: skip
def fp8(file, device, m, n):
    x, scale = tm.normal(m, n, device=device), torch.tensor(0.05, device=device)

    def run():
        y = file.quantize_per_tensor_fp8(x, scale)
        return file.dequantize_per_tensor_fp8(y, scale, torch.float32)

    return run, lambda: x


def _placed(scales, rows, columns):
    """Scales in the order of blocks of 128 by 4, as rows and columns."""
    down, across = -(-rows // 128), -(-columns // 4)
    parts = scales.float().reshape(down, across, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return parts.reshape(down * 128, across * 4)[:rows, :columns].double()


for _high in (True, False):

    @repository.case(QUANT, "quantize_nvfp4_kernel_tl, dequantize_nvfp4_kernel_tl, _compute_swizzled_scale_offset", small=dict(m=40, n=96), production=dict(m=4096, n=4096), rtol=1e-2, atol=1e-2, not_in=SM100, name=f"nvfp4_{'high' if _high else 'low'}_first")  # fmt: skip
    def nvfp4(file, device, m, n, high=_high):
        # Multiples of what fp4 has, by scales that fp8 has: nothing is rounded.
        values = torch.tensor(LEVELS)[torch.randint(0, 8, (m, n))] * (torch.randint(0, 2, (m, n)) * 2 - 1)  # fmt: skip
        values[:, ::16] = 6
        sizes = 2.0 ** torch.randint(-2, 3, (m, n // 16))
        x = (values * sizes.repeat_interleave(16, 1) * 0.25).to(device)
        whole = torch.tensor(0.25, device=device)

        def run():
            y, scales = file.quantize_nvfp4(x, whole, hi_first=high)
            return file.dequantize_nvfp4(y, whole, scales, torch.float32, high), _placed(scales, m, n // 16)  # fmt: skip

        return run, lambda: (x, sizes)


@repository.case(QUANT, "quantize_mxfp8_kernel_tl, _compute_swizzled_scale_offset", small=dict(m=40, n=96), production=dict(m=4096, n=4096), rtol=7e-2, atol=1e-2)  # fmt: skip
def mxfp8(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def run():
        y, scales = file.quantize_mxfp8(x)
        return y.float() * _placed(scales.view(torch.uint8).float() - 127, m, n // 32).exp2().repeat_interleave(32, 1)  # fmt: skip

    return run, lambda: x


for _per_channel in (False, True):

    @repository.case(QUANT, f"_quantize_rowwise_kernel, _int8_matmul_dequant_{'per_row_' if _per_channel else ''}kernel", small=dict(m=50, n=70, k=100), production=dict(m=4096, n=4096, k=4096), rtol=3e-2, atol=0.5, name=f"int8_linear{'_per_channel' if _per_channel else ''}")  # fmt: skip
    def int8_linear(file, device, m, n, k, per_channel=_per_channel):
        x, bias = tm.normal(m, k, device=device), tm.normal(n, device=device)
        weight = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
        scale = torch.rand(n if per_channel else 1).to(device) / 50

        def want():
            return x.double() @ (weight.double() * scale.double()[:, None]).T + bias.double()

        return lambda: file.int8_linear(x, weight, scale, bias, torch.float32), want


for _book in (False, True):

    @repository.case(f"{FOLDER}/w4a8_int8.py", "_dequant_int4_grouped_to_int8_kernel", small=dict(n=70, k=96, group=16), production=dict(n=4096, k=4096, group=16), name=f"int4_to_int8{'_by_a_book' if _book else ''}")  # fmt: skip
    def int4_to_int8(file, device, n, k, group, book=_book):
        data = tm.integers(-128, 128, n, k // 2, device=device, dtype=torch.int8)
        scales = (torch.rand(n, k // group) * 14).to(device)
        codes = (torch.arange(16) - 7.5).to(device) if book else None

        def want():
            whole = data.to(torch.int32) & 255
            levels = torch.stack([whole & 15, whole >> 4], -1).flatten(1)
            levels = codes[levels] if book else (levels - 8).float()
            return (levels * scales.repeat_interleave(group, 1)).round().clamp(-127, 127)

        return lambda: file._dequant_int4_grouped_to_int8(data, scales, codes, group), want


@repository.case(f"{FOLDER}/adaln.py", "_adaln_fwd_kernel", small=dict(b=3, s=10, d=100), production=dict(b=8, s=4096, d=3072), rtol=1e-4, atol=1e-4)  # fmt: skip
def modulated_norms(file, device, b, s, d):
    x = tm.normal(b, s, d, device=device)
    scale, shift = (tm.normal(b, 1, d, device=device) for _ in range(2))

    def want():
        norms = tm.layer_norm(x, None, None, 1e-6), tm.rms_norm(x, None, 1e-6)
        return [y * (1 + scale.double()) + shift.double() for y in norms]

    return lambda: [file.adaln(x, scale, shift), file.rms_adaln(x, scale, shift)], want


for _name, _causal in (("whole", [False] * 3), ("causal_in_time", [True, False, False])):

    @repository.case(f"{FOLDER}/na.py", "_na3d_kernel", small=dict(b=1, t=4, h=5, w=20, heads=2, d=24, size=[3, 3, 5]), production=dict(b=1, t=16, h=32, w=48, heads=12, d=128, size=[5, 9, 9]), rtol=1e-4, atol=1e-4, name=f"neighbourhood_{_name}")  # fmt: skip
    def neighbourhood(file, device, b, t, h, w, heads, d, size, causal=_causal):
        q, k, v = (tm.normal(b, t, h, w, heads, d, device=device) for _ in range(3))

        def seen(n, width, is_causal):
            i, j = torch.arange(n)[:, None], torch.arange(n)
            first = i - width + 1 if is_causal else (i - width // 2).clamp(0, n - width)
            return (j >= first) & (j < first + width)

        def want():
            axes = [seen(n, width, c) for n, width, c in zip((t, h, w), size, causal, strict=True)]
            mask = torch.einsum("ad,be,cf->abcdef", *(a.float() for a in axes)).reshape(t * h * w, -1)  # fmt: skip
            flat = [x.flatten(1, 3).transpose(1, 2) for x in (q, k, v)]
            bias = torch.zeros_like(mask).masked_fill(mask == 0, -torch.inf).to(device)
            return tm.attention(*flat, bias=bias)[0].transpose(1, 2).reshape(q.shape)

        return lambda: file.na3d(q, k, v, size, causal), want


for _half in (False, True):
    _suffix = "_of_halves" if _half else ""

    @repository.case(f"{FOLDER}/rope.py", "apply_rope_kernel, _apply_freq_tile", small=dict(b=2, h=3, s=10, d=24), production=dict(b=2, h=24, s=4096, d=128), rtol=1e-5, atol=1e-5, name=f"rotation{_suffix}")  # fmt: skip
    def rotation(file, device, b, h, s, d, half=_half):
        q, k = (tm.normal(b, h, s, d, device=device) for _ in range(2))
        turns = tm.normal(1, 1, s, d // 2, 2, 2, device=device)
        function = file.apply_rope_split_half if half else file.apply_rope
        return lambda: function(q, k, turns), lambda: [_turned(x, turns, half) for x in (q, k)]

    @repository.case(f"{FOLDER}/rms_rope.py", "rms_rope_kernel", small=dict(b=2, h=3, s=10, d=24), production=dict(b=2, h=24, s=4096, d=128), rtol=1e-4, atol=1e-4, name=f"norm_and_rotation{_suffix}")  # fmt: skip
    def norm_and_rotation(file, device, b, h, s, d, half=_half):
        q, k = (tm.normal(b, h, s, d, device=device) for _ in range(2))
        turns, scale = tm.normal(1, 1, s, d // 2, 2, 2, device=device), tm.normal(d, device=device)
        function = file.rms_rope_split_half if half else file.rms_rope
        return (
            lambda: function(q, k, turns, scale),
            lambda: [_turned(tm.rms_norm(x, scale, 1e-6), turns, half) for x in (q, k)],
        )


def _turned(x, turns, half):
    x = x.double()
    parts = torch.stack(x.chunk(2, -1) if half else (x[..., ::2], x[..., 1::2]), -1)
    parts = torch.einsum("...ij,...j->...i", turns.double(), parts)
    return torch.cat(parts.unbind(-1), -1) if half else parts.flatten(-2)
