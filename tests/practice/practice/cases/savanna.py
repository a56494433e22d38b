"""Savanna (Hyena of Evo 2): gated convolutions as products with Toeplitz matrices that the kernels
make, and permutations around them."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Zymrael/savanna", "0d42c604f31ba42c3aa07d156948fc19f128bb57",
    packages={"savanna": ""}, stand_ins={"einops": {}},
)  # fmt: skip
FOLDER = "savanna/kernels/triton_src"
BF16, F16 = torch.bfloat16, torch.float16


def _inputs(device, b, n, g, d, taps, dtype):
    x, gate_in, gate_out, up = (tm.normal(b, n, g, d, device=device, dtype=dtype) for _ in range(4))
    return x, gate_in, gate_out, tm.normal(g, 1, taps, device=device, dtype=dtype, scale=0.3), up


def _convolved(x, h):
    """Along axis 1, causal; one filter for each group of channels (axis 2)."""
    b, n, g, d = x.shape
    rows = F.pad(x.permute(0, 2, 3, 1).reshape(b, g * d, n), (h.shape[-1] - 1, 0))
    y = F.conv1d(rows, h.repeat_interleave(d, 0), groups=g * d)
    return y.view(b, g, d, n).permute(0, 3, 1, 2)


def _gated(x, gate_in, gate_out, h):
    return _convolved(x * gate_in, h) * gate_out


for _g, _taps in ((1, 4), (2, 16)):

    @repository.case(f"{FOLDER}/cgcg/src/fwd.py", "_two_pass_fwd_refactor_kernel, load_toeplitz, load_correction_toeplitz, toeplitz_idx", small=dict(b=2, n=128, d=32, chunk=32), production=dict(b=4, n=8192, d=1024, chunk=128), rtol=2e-2, atol=3e-2, name=f"gated_convolution_{_g}")  # fmt: skip
    def gated_convolution(file, device, b, n, d, chunk, g=_g, taps=_taps):
        x, gate_in, gate_out, h, _ = _inputs(device, b, n, g, d, taps, BF16)

        def run():
            return file.two_pass_fwd_grouped(
                x, gate_in, gate_out, h, autotune=False, CHUNK_SIZE=chunk, BLOCK_D=32,
                num_warps=4, num_stages=2,
            )  # fmt: skip

        def want():
            product = (x * gate_in).double()
            y = _convolved(product, h.double())
            return product, y, y * gate_out.double()

        return run, want


for _version in ("v1", "v2"):

    @repository.case(f"{FOLDER}/cgcg/src/bwd.py", f"_two_pass_bwd_grouped_kernel_{_version}, _get_T_store_idx, _get_Tc_store_idx, _diag_to_row, load_toeplitz, load_correction_toeplitz", small=dict(b=1, n=96, d=32, taps=4, chunk=32), production=dict(b=2, n=8192, d=512, taps=128, chunk=128), rtol=5e-2, atol=0.1, share=0.01, name=f"gradients_{_version}")  # fmt: skip
    def gradients(file, device, b, n, d, taps, chunk, version=_version):
        x, gate_in, gate_out, h, up = _inputs(device, b, n, 2, d, taps, F16)
        y = _convolved((x * gate_in).float(), h.float()).to(F16).contiguous()

        def run():
            return file.two_pass_bwd_grouped(
                up, x, gate_in, gate_out, h, y, version, CHUNK_SIZE=chunk, BLOCK_D=32,
                num_warps=4, num_stages=2, return_wgrad=True, return_dgrad=True,
            )  # fmt: skip

        def want():
            return tm.with_gradients(_gated, up, x, gate_in, gate_out, h, exact=True)[1:]

        return run, want


@repository.case(f"{FOLDER}/cgcg/src/bwd_kernels.py", "pre_conv_kernel, post_conv_kernel", small=dict(b=2, n=64, d=32), production=dict(b=1, n=8192, d=4096), rtol=1e-2)  # fmt: skip
def around_convolution(file, device, b, n, d):
    up, gate, y, x = (tm.normal(b, n, d, device=device, dtype=BF16) for _ in range(4))
    turned = tm.normal(b, d, n, device=device, dtype=BF16)

    def run():
        rows, grads = torch.empty(3, b, n, d, dtype=BF16, device=device), torch.empty(2, b, d, n, dtype=BF16, device=device)  # fmt: skip
        grid = (n // 32, b * d // 32)
        file.pre_conv_kernel[grid](up, gate, y, x, rows[0], *grads, b, n, d, 32, 32)
        file.post_conv_kernel[(b * n // 32, d // 32)](turned, x, gate, rows[1], rows[2], b, n, d, 32, 32)  # fmt: skip
        return rows, grads

    def want():
        a, c, e, f, t = (v.double() for v in (up, gate, y, x, turned.transpose(1, 2)))
        return torch.stack([a * e, t * c, t * f]), torch.stack([a * c, f]).transpose(2, 3)

    return run, want


@repository.case(f"{FOLDER}/short_hyena/src/fwd_kernels.py", "_pre_conv_fwd_kernel", small=dict(m=64, n=96), production=dict(m=8192, n=4096), rtol=1e-2)  # fmt: skip
def product_permuted(file, device, m, n):
    q, k, v = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(3))

    def run():
        both, turned = (torch.empty(n, m, dtype=BF16, device=device) for _ in range(2))
        file._pre_conv_fwd_kernel[(6,)](q, k, v, both, turned, m, n, 32, 32, 2, True, num_warps=4)
        return both, turned

    return run, lambda: ((k.double() * v.double()).T, q.T)


@repository.case(f"{FOLDER}/short_hyena/src/fwd_kernels.py", "_post_conv_fwd_kernel", small=dict(b=2, d=32, n=64), production=dict(b=1, d=4096, n=8192), rtol=1e-2)  # fmt: skip
def gate_permuted(file, device, b, d, n):
    x = tm.normal(b, d, n + 2, device=device, dtype=BF16)[..., :n]
    q = tm.normal(b, d, n, device=device, dtype=BF16)

    def run():
        y = torch.empty(b, n, d, dtype=BF16, device=device)
        file._post_conv_fwd_kernel[(6,)](
            x, q, y, b, 1, d, n, d * (n + 2), n + 2, d * n, n, 32, 32, 2, num_warps=4
        )
        return y

    return run, lambda: (x.double() * q.double()).transpose(1, 2)
