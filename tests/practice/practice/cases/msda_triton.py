"""msda-triton: multi-scale deformable attention, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "rziga/msda-triton", "90cda22eb5bb17db93ddfcc7feb3903d29acf6da", packages={"msda_triton": "src"}
)
FILE = "src/msda_triton/frontend.py"
HELPERS = "load_shapes_and_level_offsets, maybe_upcast"
SHAPES = dict(small=[(7, 9), (4, 5), (3, 2)], large=[(100, 134), (50, 67), (25, 34), (13, 17)])
SMALL = dict(b=2, n=5, h=3, c=12, p=3, shapes="small")
LARGE = dict(b=2, n=10000, h=8, c=32, p=4, shapes="large")


def _inputs(device, b, n, h, c, p, shapes):
    shapes = torch.tensor(SHAPES[shapes])
    pixels, levels = int(shapes.prod(-1).sum()), len(shapes)
    image = tm.normal(b, pixels, h, c, device=device)
    points = torch.rand(b, n, h, levels, p, 2).to(device)
    weights = torch.rand(b, n, h, levels * p).softmax(-1).unflatten(-1, (levels, p)).to(device)
    return image, shapes.to(device), points, weights


def _case(padding, corners):
    def build(file, device, **sizes):
        image, shapes, points, weights = _inputs(device, **sizes)
        upstream = tm.normal(*points.shape[:3], image.shape[-1], device=device)

        def run():
            args = image, shapes, points, weights, padding, corners
            return [
                file.triton_multi_scale_deformable_attention_fwd(*args),
                *file.triton_multi_scale_deformable_attention_bwd(upstream, *args),
            ]

        def want():
            call = lambda i, p, w: file.native_multiscale_deformable_attention(  # noqa: E731
                i, shapes, p, w, padding, corners
            )
            return tm.with_gradients(call, upstream, image, points, weights, exact=True)

        return run, want

    return build


for _padding, _corners in (("border", False), ("zeros", True)):
    repository.case(FILE, f"triton_multi_scale_deformable_attention_fwd_kernel, triton_multi_scale_deformable_attention_bwd_kernel, {HELPERS}", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-3, name=f"attention_{_padding}")(_case(_padding, _corners))  # fmt: skip
