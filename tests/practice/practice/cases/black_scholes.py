"""Black-Scholes: all the derivatives of the prices of options, in float64 but for constants, which
Triton makes float32."""

from __future__ import annotations

import math

import torch

from practice.case import Repository

repository = Repository("MichaelMcCulloch/Black-Scholes-Triton", "d28fa796e3c17ab94ea54e36211a2318616e03cc")  # fmt: skip


@repository.case("src/bscholes/triton_kernels.py", "greeks_kernel, norm_cdf, norm_pdf", small=dict(n=3000), production=dict(n=1 << 22), rtol=1e-6, atol=1e-6)  # fmt: skip
def greeks(file, device, n):
    s, k, t, r, sigma = (
        (low + (high - low) * torch.rand(n, dtype=torch.float64)).to(device)
        for low, high in ((50, 150), (50, 150), (0.05, 2), (0, 0.08), (0.1, 0.6))
    )

    def run():
        out = [torch.empty_like(s) for _ in range(8)]
        file.greeks_kernel[(-(-n // 1024),)](s, k, t, r, sigma, *out, n, BLOCK_SIZE=1024)
        return out

    def want():
        root = t.sqrt()
        d1 = ((s / k).log() + (r + sigma**2 / 2) * t) / (sigma * root)
        d2 = d1 - sigma * root
        density = torch.exp(-(d1**2) / 2) / math.sqrt(2 * math.pi)
        later = k * torch.exp(-r * t)
        n1, n2, n2_of_put = (torch.special.ndtr(x) for x in (d1, d2, -d2))
        decay = -s * density * sigma / (2 * root)
        return [
            n1,
            n1 - 1,
            density / (s * sigma * root),
            s * density * root / 100,
            (decay - r * later * n2) / 365,
            (decay + r * later * n2_of_put) / 365,
            later * t * n2 / 100,
            -later * t * n2_of_put / 100,
        ]

    return run, want
