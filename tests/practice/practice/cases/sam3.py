"""SAM 3: the distance to the next background pixel, connected components with a union-find in
global memory, the suppression of boxes, and a focal loss."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "facebookresearch/sam3", "99d02f28c8d34610ab35559b72642b01f10fdb1e", packages={"sam3": ""}
)


def _blobs(device, b, h, w, share=0.55):
    return (torch.rand(b, h, w) < share).to(device)


@repository.case("sam3/model/edt.py", "edt_kernel", small=dict(b=2, h=24, w=19), production=dict(b=64, h=512, w=512), rtol=1e-6)  # fmt: skip
def distance_transform(file, device, b, h, w):
    x = _blobs(device, b, h, w, 0.97)
    x[:, 0, 0] = False

    def want():
        far = torch.where(x, torch.inf, 0.0).double()
        i, j = (torch.arange(n, device=x.device).double() for n in (w, h))
        rows = torch.stack([(far + (i - at) ** 2).amin(-1) for at in range(w)], -1)
        return torch.stack([(rows + (j[:, None] - at) ** 2).amin(-2) for at in range(h)], -2).sqrt()

    return lambda: file.edt_triton(x), want


# `find` loads labels plainly while other programs change them with atomic_min.
@repository.case("sam3/perflib/triton/connected_components.py", "_init_labels_kernel, _local_prop_kernel, _pointer_jump_kernel, _count_labels_kernel, _broadcast_sizes_kernel, find, union", small=dict(b=2, h=21, w=37), production=dict(b=16, h=512, w=512), finds="race-read-write")  # fmt: skip
def components(file, device, b, h, w):
    x = _blobs(device, b, h, w, 0.45).to(torch.int32)

    def want():
        first = torch.arange(b * h * w, device=x.device).view(b, h, w).double()
        labels = torch.where(x != 0, first, torch.inf)
        while True:
            near = torch.nn.functional.pad(labels, (1, 1, 1, 1), value=torch.inf)
            shifted = [near[:, i : i + h, j : j + w] for i in range(3) for j in range(3)]
            least = torch.where(x != 0, torch.stack(shifted).amin(0), torch.inf)
            if torch.equal(least, labels):
                break
            labels = least
        labels = torch.where(x != 0, labels, -1).long()
        sizes = torch.bincount(labels.flatten() + 1, minlength=b * h * w + 1)
        return labels + 1, torch.where(x != 0, sizes[labels + 1], 0)

    return lambda: file.connected_components_triton(x), want


@repository.case("sam3/perflib/triton/nms.py", "_nms_suppression_kernel", small=dict(n=150), production=dict(n=4096))  # fmt: skip
def suppressed_boxes(file, device, n):
    corner, scores = torch.rand(n, 2) * 4, torch.rand(n).to(device)
    low, high = torch.maximum(corner[:, None], corner), torch.minimum(corner[:, None], corner) + 1
    both = (high - low).clamp(min=0).prod(-1)
    ious = (both / (2 - both)).to(device)

    def want():
        order = scores.sort(descending=True, stable=True).indices
        kept, over = [], (ious > 0.4).cpu()
        for i in order.tolist():
            if not any(over[j, i] for j in kept):
                kept.append(i)
        return torch.tensor(kept)

    return lambda: file.nms_triton(ious, scores, 0.4), want


def _focal(x, y, alpha, gamma):
    p = x.sigmoid()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
    chance = p * y + (1 - p) * (1 - y)
    return (alpha * y + (1 - alpha) * (1 - y)) * loss * (1 - chance) ** gamma


@repository.case("sam3/train/loss/sigmoid_focal_loss.py", "sigmoid_focal_loss_fwd_kernel, sigmoid_focal_loss_bwd_kernel", small=dict(n=1000), production=dict(n=1 << 24), rtol=1e-4)  # fmt: skip
def focal_loss(file, device, n):
    x, up = (tm.normal(n, device=device) for _ in range(2))
    y = (torch.rand(n) < 0.3).float().to(device)
    return (
        lambda: tm.with_gradients(lambda x: file.triton_sigmoid_focal_loss(x, y, 0.25, 2.0), up, x),
        lambda: tm.with_gradients(lambda x: _focal(x, y.double(), 0.25, 2.0), up, x, exact=True),
    )


@repository.case("sam3/train/loss/sigmoid_focal_loss.py", "sigmoid_focal_loss_fwd_kernel_reduce, sigmoid_focal_loss_bwd_kernel_reduce", small=dict(n=9000), production=dict(n=1 << 24), rtol=1e-4)  # fmt: skip
def focal_loss_sum(file, device, n):
    x, up = tm.normal(n, device=device, dtype=torch.float16), torch.tensor(0.5).to(device)
    y = (torch.rand(n) < 0.3).float().to(device)

    def run():
        loss, grad = tm.with_gradients(
            lambda x: file.triton_sigmoid_focal_loss_reduce(x, y, 0.25, 2.0), up, x
        )
        return loss, grad.float()

    def want():
        loss, grad = tm.with_gradients(
            lambda x: _focal(x, y.double(), 0.25, 2.0).sum(), up, x, exact=True
        )
        return loss, grad.half()

    return run, want
