"""What every example shares: its arguments, the comparison with a float64 reference, the one line
that it prints.

Outputs can be kept with ``--save FILE.npz`` (or EXAMPLE_SAVE), as raw bits, so that two runs can
be compared bit by bit. A name that ends in ``~`` marks a result whose rounding depends on the
order of execution.

Tensors are on the CPU, or where EXAMPLE_DEVICE says: EXAMPLE_DEVICE=cuda.
"""

import argparse
import os
import sys

import numpy as np
import torch

DEVICE = os.environ.get("EXAMPLE_DEVICE") or "cpu"

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def arguments(description, size, help_size="elements of the problem"):
    """Parse ``--size``, ``--seed`` and ``--save``; seeds torch."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--size", type=int, default=size, help=f"{help_size} (default {size})")
    parser.add_argument("--seed", type=int, default=0, help="seed of the made-up data")
    parser.add_argument(
        "--save", default=os.environ.get("EXAMPLE_SAVE"), help="write the outputs to this .npz file"
    )
    parser.add_argument("--only", default="", help="run only cases whose label contains this text")
    options = parser.parse_args()
    if options.size < 1:
        parser.error(f"--size is {options.size}, expected at least 1")
    torch.manual_seed(options.seed)
    return options


def as_bits(tensor):
    """The tensor's bits as a NumPy array of integers (NumPy has no bfloat16 and no float8)."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bool:
        return tensor.to(torch.uint8).numpy()
    return tensor.view(_BITS[tensor.element_size()]).numpy().copy()


class Report:
    """Collects comparisons; ``finish`` prints the line and exits with 1 when one failed."""

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.outputs = {}
        self.worst = 0.0
        self.failures = []

    def wants(self, label):
        return self.options.only in label

    def check(self, label, got, want, tolerance, order_dependent=False):
        """Hold ``got`` to ``want``: the largest error is at most tolerance * max(1, max |want|)."""
        self.outputs[label + ("~" if order_dependent else "")] = as_bits(got)
        got64, want64 = (
            got.detach().to("cpu", torch.float64),
            want.detach().to("cpu", torch.float64),
        )
        if got64.shape != want64.shape:
            self.failures.append(
                f"{label}: shape {tuple(got64.shape)}, expected {tuple(want64.shape)}"
            )
            return
        error = (got64 - want64).abs().max().item() if want64.numel() else 0.0
        scale = max(1.0, want64.abs().max().item()) if want64.numel() else 1.0
        if not error <= tolerance * scale:  # also when error is not a number
            self.failures.append(f"{label}: max error {error:.3g}, allowed {tolerance * scale:.3g}")
        else:
            self.worst = max(self.worst, error)

    def finish(self):
        if not self.outputs:
            self.failures.append(f"no case has '{self.options.only}' in its label")
        if self.options.save:
            np.savez(self.options.save, **self.outputs)
        if self.failures:
            print(f"{self.name}: WRONG ({'; '.join(self.failures)})")
            sys.exit(1)
        print(f"{self.name}: ok (max error {self.worst:.2e})")
