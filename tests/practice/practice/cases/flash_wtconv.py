"""flash_wtconv: convolutions of images in the Haar wavelet domain, with the transform, a filter for
each channel and band and a factor in one kernel, and the inverse of several levels in another."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("amitt1236/flash_wtconv", "32577de010686468fcfb30d50cdeea749572b9ba", packages={"triton_haar": "."})  # fmt: skip
FOLDER = "triton_haar/"
SIGNS = torch.tensor([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])


def _bands(x):
    """(b, c, h, w) to (b, c, 4, h / 2, w / 2)."""
    blocks = x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2))
    return torch.einsum("bchiwj,sij->bcshw", blocks, SIGNS.view(4, 2, 2).to(x) / 2)


def _image(bands):
    blocks = torch.einsum("bcshw,sij->bchiwj", bands, SIGNS.view(4, 2, 2).to(bands) / 2)
    return blocks.flatten(4, 5).flatten(2, 3)


for _taps in (3, 5):

    @repository.case(FOLDER + "triton_haar.py", "_fused_haar_conv_scale_kernel, _fused_haar_conv_scale_backward_kernel, _compute_haar_coeffs_kernel", small=dict(b=2, c=3, h=12, w=20), production=dict(b=32, c=96, h=112, w=112), rtol=1e-3, atol=1e-3, name=f"convolution_{_taps}")  # fmt: skip
    def convolution(file, device, b, c, h, w, taps=_taps):
        """The filtered bands, the lowest one as it was, and their gradients; those of filters and
        factors are divided by what they grow with."""
        x = tm.normal(b, c, h, w, device=device)
        weight = tm.normal(4 * c, 1, taps, taps, device=device, scale=0.3)
        scale = (torch.rand(1, 4 * c, 1, 1) + 0.5).to(device)
        ups = [tm.normal(b, c, *m, h // 2, w // 2, device=device) for m in ((4,), ())]

        def right(x, weight, scale):
            bands = _bands(x)
            filtered = F.conv2d(bands.flatten(1, 2), weight, padding=taps // 2, groups=4 * c)
            return (filtered * scale).unflatten(1, (c, 4)), bands[:, :, 0]

        def results(function, dtype):
            leaves = [t.to(dtype, copy=True).requires_grad_() for t in (x, weight, scale)]
            outs = function(*leaves)
            first, *others = torch.autograd.grad(outs, leaves, [up.to(dtype) for up in ups])
            parts = [*(t.detach() for t in outs), first]
            return [*parts, *(g / (b * h * w) ** 0.5 for g in others)]

        return (
            lambda: results(lambda *a: file.fused_haar_conv_scale(*a, taps, True), torch.float32),
            lambda: results(right, torch.float64),
        )


for _levels in (1, 3, 5):

    @repository.case(FOLDER + "triton_ihaar.py", "_ihaar_cascade_kernel, _ihaar_step, _compute_haar_coeffs_kernel", small=dict(b=2, c=3, h=32, w=64), production=dict(b=32, c=96, h=128, w=128), rtol=1e-4, atol=1e-4, name=f"inverse_{_levels}")  # fmt: skip
    def inverse(file, device, b, c, h, w, levels=_levels):
        """Each level gives the next finer one what is added to its lowest band."""
        bands = [tm.normal(b, c, 4, h >> i, w >> i, device=device) for i in range(1, levels + 1)]
        up = tm.normal(b, c, h, w, device=device)

        def ours(*bands):
            return file.InverseHaarCascadeFn.apply(None, *bands)

        def right(*bands):
            image = 0.0
            for level in reversed(bands):
                low = level[:, :, :1] + image
                image = _image(torch.cat([low, level[:, :, 1:]], 2))[:, :, None]
            return image[:, :, 0]

        return (
            lambda: tm.with_gradients(ours, up, *bands),
            lambda: tm.with_gradients(right, up.double(), *bands, exact=True),
        )
