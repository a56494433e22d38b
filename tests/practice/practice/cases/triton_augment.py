"""triton-augment: colours of images, flips and affine maps."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository(
    "yuhezhang-ai/triton-augment",
    "5c718c136b732103a236b150df2feb3c25f581ec",
    packages={"triton_augment": "."},
)
FILE = "triton_augment/functional.py"
SMALL, LARGE = dict(b=2, h=30, w=41), dict(b=32, h=224, w=224)
GREY = (0.2989, 0.587, 0.114)


def _grey(x):
    return sum(x[:, i : i + 1] * GREY[i] for i in range(3))


def _blend(x, y, factor):
    return (factor * x + (1 - factor) * y).clamp(0, 1)


for _name, _kernels, _call, _right in (
    ("grey", "rgb_to_grayscale_kernel", lambda f, x: f.rgb_to_grayscale(x), lambda x: _grey(x)),
    ("brightness", "brightness_kernel", lambda f, x: f.adjust_brightness(x, 1.3), lambda x: (x * 1.3).clamp(0, 1)),
    ("contrast", "contrast_kernel", lambda f, x: f.adjust_contrast(x, 0.7), lambda x: _blend(x, _grey(x).mean((1, 2, 3), True), 0.7)),
    ("saturation", "saturation_kernel", lambda f, x: f.adjust_saturation(x, 1.4), lambda x: _blend(x, _grey(x), 1.4)),
    ("normalize", "normalize_kernel", lambda f, x: f.normalize(x, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)), lambda x: (x - torch.tensor([0.4, 0.5, 0.6], device=x.device)[:, None, None]) / torch.tensor([0.2, 0.3, 0.4], device=x.device)[:, None, None]),
    ("crop", "crop_kernel", lambda f, x: f.crop(x, 3, 5, 16, 20), lambda x: x[:, :, 3:19, 5:25]),
    ("flip", "horizontal_flip_kernel", lambda f, x: f.horizontal_flip(x), lambda x: x.flip(-1)),
    ("rotate_half", "affine_transform_kernel", lambda f, x: f.rotate(x, 180.0), lambda x: x.flip(-1, -2)),
):  # fmt: skip

    def _image(file, device, b, h, w, call=_call, right=_right):
        x = torch.rand(b, 3, h, w).to(device)
        return lambda: call(file, x), lambda: right(x.double())

    repository.case(FILE, _kernels, small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3, name=_name)(_image)  # fmt: skip
