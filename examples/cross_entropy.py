"""Cross entropy over a large vocabulary, forward and backward in one pass each, with an ignored
label and smoothing.

The forward kernel keeps a running maximum and sum; the backward kernel overwrites the logits
with the gradient.
"""

import torch
import triton
import triton.language as tl
from harness import DEVICE, Report, arguments


@triton.jit
def forward_kernel(
    logits_ptr,
    label_ptr,
    loss_ptr,
    lse_ptr,
    stride,
    vocabulary,
    smoothing,
    IGNORE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    logits_ptr += row.to(tl.int64) * stride
    label = tl.load(label_ptr + row)
    if label == IGNORE:
        tl.store(loss_ptr + row, 0.0)
        tl.store(lse_ptr + row, 0.0)
        return
    highest = -float("inf")
    total = 0.0
    plain_sum = 0.0
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < vocabulary
        x = tl.load(logits_ptr + columns, mask=inside, other=-float("inf")).to(tl.float32)
        new_highest = tl.maximum(highest, tl.max(x, axis=0))
        total = total * tl.exp(highest - new_highest) + tl.sum(tl.exp(x - new_highest), axis=0)
        plain_sum += tl.sum(tl.where(inside, x, 0.0), axis=0)
        highest = new_highest
    lse = highest + tl.log(total)
    wanted = tl.load(logits_ptr + label).to(tl.float32)
    loss = (1 - smoothing) * (lse - wanted) + smoothing * (lse - plain_sum / vocabulary)
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)


@triton.jit
def backward_kernel(
    logits_ptr, label_ptr, lse_ptr, d_loss_ptr, stride, vocabulary, smoothing,
    IGNORE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < vocabulary
    place = logits_ptr + row.to(tl.int64) * stride + columns
    label = tl.load(label_ptr + row)
    x = tl.load(place, mask=inside, other=-float("inf")).to(tl.float32)
    softmax = tl.exp(x - tl.load(lse_ptr + row))
    wanted = smoothing / vocabulary + tl.where(columns == label, 1 - smoothing, 0.0)
    gradient = tl.load(d_loss_ptr + row) * (softmax - wanted)
    gradient = tl.where(label == IGNORE, 0.0, gradient)
    tl.store(place, gradient.to(logits_ptr.dtype.element_ty), mask=inside)


if __name__ == "__main__":
    options = arguments("cross entropy", 3000, "words of the vocabulary")
    report = Report("cross_entropy", options)
    rows, vocabulary = 16, options.size
    for label, smoothing in (("plain", 0.0), ("smoothed", 0.1)):
        if report.wants(label):
            logits = torch.randn(rows, vocabulary, device=DEVICE) * 3
            target = torch.randint(0, vocabulary, (rows,), device=DEVICE)
            target[5] = -100
            d_loss = torch.rand(rows, device=DEVICE)
            loss, lse = torch.empty(rows, device=DEVICE), torch.empty(rows, device=DEVICE)
            wanted = logits.double().requires_grad_()
            want = torch.nn.functional.cross_entropy(
                wanted, target, reduction="none", label_smoothing=smoothing
            )
            want.backward(d_loss.double())

            forward_kernel[(rows,)](
                logits,
                target,
                loss,
                lse,
                logits.stride(0),
                vocabulary,
                smoothing,
                IGNORE=-100,
                BLOCK=1024,
            )
            report.check(label + " loss", loss, want, 1e-6)
            backward_kernel[(rows, triton.cdiv(vocabulary, 1024))](
                logits,
                target,
                lse,
                d_loss,
                logits.stride(0),
                vocabulary,
                smoothing,
                IGNORE=-100,
                BLOCK=1024,
            )
            report.check(label + " gradient", logits, wanted.grad, 1e-6)
    report.finish()
