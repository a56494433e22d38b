"""A kernel with its arguments, and what torch computes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class Case:
    """`want` takes the arguments before the launch, and gives what some of them are after it."""

    kernel: Any
    arguments: list[Any]
    grid: tuple[int, ...]
    want: Callable[..., dict[int, torch.Tensor]]
    constants: dict[str, Any]
    tolerance: float = 2e-2
    warps: int = 4
    stages: int = 3

    def clone(self, device: str = "cpu") -> list[Any]:
        return [a.to(device, copy=True) if torch.is_tensor(a) else a for a in self.arguments]

    def check(self, found: list[Any]) -> None:
        for index, want in self.want(*self.clone()).items():
            torch.testing.assert_close(
                found[index].cpu().double(), want.double(), rtol=self.tolerance,
                atol=self.tolerance,
            )  # fmt: skip


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 1.0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.randn(*shape, generator=generator) * scale).to(dtype)


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int32, seed: int = 0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randint(low, high, shape, generator=generator).to(dtype)


CASES: dict[str, Case] = {}


def case(name, kernel, arguments, grid, want, tolerance=2e-2, warps=4, stages=3, **constants):
    CASES[name] = Case(kernel, arguments, grid, want, constants, tolerance, warps, stages)
