"""torch-semimarkov: the sum over all ways to cut a sequence into labelled segments, as for genes in
a genome, or the best one of them, and the gradients of the sum."""

from __future__ import annotations

import importlib

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("biobenkj/torch-semimarkov", "fe28273e74bd60a544ed1a8ebb26cc8afea34001", packages={"torch_semimarkov": "src"})  # fmt: skip
FOLDER = "src/torch_semimarkov/"
STREAMING = FOLDER + "streaming/"
SIZES = dict(small=dict(b=3, n=14, k=4, c=5), production=dict(b=256, n=96, k=12, c=24))


def _reduced(x, is_best):
    return x.amax(-1) if is_best else x.logsumexp(-1)


def _of_all(edges, lengths, is_best, steps):
    """``edges(n, k)`` has the scores of segments of k elements that end at n: (b, to, from)."""
    states = [torch.zeros_like(edges(1, 1)[..., 0])]
    k = steps + 1
    for n in range(1, int(lengths.max()) + 1):
        parts = [
            _reduced(states[n - d][:, None] + edges(n, d), is_best) for d in range(1, min(k, n + 1))
        ]
        states.append(_reduced(torch.stack(parts, -1), is_best))
    last = torch.stack(states)[lengths.long(), torch.arange(len(lengths), device=lengths.device)]
    return _reduced(last, is_best)


for _kind in ("log", "max"):
    _suffix = "" if _kind == "log" else "_max"

    @repository.case(FOLDER + "triton_scan.py", "semi_crf_scan_kernel" + _suffix, rtol=1e-4, atol=1e-4, name="scan_" + _kind, **SIZES)  # fmt: skip
    def scan(file, device, b, n, k, c, kind=_kind):
        """Scores of all segments are given. A sequence of one element has no segment."""
        edge = tm.normal(b, n - 1, k, c, c, device=device)
        lengths = torch.tensor(tm.lengths(b, n, 2), device=device)

        def want():
            exact = edge.double()
            return _of_all(lambda t, d: exact[:, t - d, d], lengths - 1, kind == "max", k - 1)

        return lambda: file.launch_triton_kernel(edge, lengths, semiring=kind), want


def _streamed(b, n, k, c, device, by_length=False):
    scores = torch.cat([torch.zeros(b, 1, c), (torch.randn(b, n, c) * 0.5).cumsum(1)], 1)
    shape = (k, c, c) if by_length else (c, c)
    inputs = scores, torch.randn(shape), torch.randn(k, c), *torch.randn(2, b, n, c)
    return [x.to(device) for x in inputs], torch.tensor(tm.lengths(b, n, 2), device=device)


def _total(lengths, is_best=False):
    def total(scores, transition, bias, first, last):
        def edges(t, d):
            segment = scores[:, t] - scores[:, t - d] + bias[d] + first[:, t - d] + last[:, t - 1]
            return segment[..., None] + (transition[d] if transition.dim() == 3 else transition).T

        return _of_all(edges, lengths, is_best, bias.shape[0] - 1)

    return total


for _kind in ("log", "max"):
    _suffix = "" if _kind == "log" else "_max"

    @repository.case(STREAMING + "triton_forward.py", "semi_crf_streaming_scan_kernel" + _suffix, rtol=1e-4, atol=1e-3, name="streamed_" + _kind, **SIZES)  # fmt: skip
    def streamed(file, device, b, n, k, c, kind=_kind):
        """Scores of segments are differences of sums, with a bias for each length and scores of
        the first and the last element."""
        inputs, lengths = _streamed(b, n, k, c, device)
        scores, transition, bias, first, last = inputs

        def run():
            return file.launch_streaming_triton_kernel(
                scores, transition, bias, lengths, k, semiring=kind, proj_start=first, proj_end=last
            )[0]

        return run, lambda: _total(lengths, kind == "max")(*(x.double() for x in inputs))


for _by_length in (False, True):

    @repository.case(STREAMING + "triton_backward.py", "semi_crf_streaming_backward_kernel", rtol=1e-3, atol=1e-3, name="gradients_by_length" if _by_length else "gradients", small=SIZES["small"], production=dict(b=128, n=64, k=8, c=16))  # fmt: skip
    def gradients(file, device, b, n, k, c, by_length=_by_length):
        """From the sums of the first pass, of which the second one computes parts again. That of
        the biases, which all sequences share, is divided by their number."""
        inputs, lengths = _streamed(b, n, k, c, device, by_length)
        scores, transition, bias, first, last = inputs
        up = torch.rand(b).to(device)
        total = _total(lengths)
        forward = importlib.import_module("torch_semimarkov.streaming.triton_forward")

        def run():
            out, states, interval = forward.launch_streaming_triton_kernel(
                scores, transition, bias, lengths, k, proj_start=first, proj_end=last
            )
            grads = file.launch_streaming_triton_backward(
                scores, transition, bias, lengths, out, states, interval, up,
                proj_start=first, proj_end=last,
            )  # fmt: skip
            return [out, *(g / b if i in (1, 2) else g for i, g in enumerate(grads))]

        def want():
            out, *grads = tm.with_gradients(total, up.double(), *inputs, exact=True)
            return [out, *(g / b if i in (1, 2) else g for i, g in enumerate(grads))]

        return run, want
