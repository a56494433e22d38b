"""Cases: a kernel or wrapper of a repository, its inputs in two sizes, and what is right."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Build = Callable[..., tuple[Callable[[], Any], Callable[[], Any]]]


#: For files with tests beside their kernels: stands in for pytest only where there is none, since
#: the mode ptx uses it.
PYTEST: Mapping[str, Mapping[str, Any]] = (
    {} if importlib.util.find_spec("pytest") else {"pytest": {}}
)


@dataclass(frozen=True)
class Case:
    """One run of one or several kernels.

    ``build(file, device, **size)`` makes the inputs and gives two functions: ``run()`` launches and
    gives the results, ``want()`` gives what is right, computed in float64 where that has a meaning.
    Both give a tensor, or tuples, lists or dicts of them; None is not compared. ``run`` may be
    called again. ``file`` is the module of the repository.
    """

    repository: Repository
    name: str
    file: str
    kernels: str
    build: Build
    small: Mapping[str, Any]
    production: Mapping[str, Any]
    rtol: float
    atol: float
    share: float  # of the elements that may be further off, as where a sum decides a rounding
    not_in: Mapping[str, str]  # modes in which it cannot run anywhere, with the reason
    finds: str  # codes, with commas, of what the checks must find: a mistake of the kernel

    @property
    def id(self) -> str:
        return f"{self.repository.name}/{self.name}"


@dataclass
class Repository:
    """A public repository, by its name on GitHub, and the commit that its cases were written for.

    packages: its top-level packages, each with the folder that it lies in. Their ``__init__`` files
    are not run, but for those named in ``inits``.
    folders: more folders of its files to look for modules in.
    stand_ins: modules of others that are not there. Each has the given attributes; any other one is
    something that can be called, used as a decorator or derived from, and does nothing.
    """

    name: str
    commit: str
    packages: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    inits: tuple[str, ...] = ()
    stand_ins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def case(
        self,
        file: str,
        kernels: str,
        *,
        small: Mapping[str, Any],
        production: Mapping[str, Any],
        rtol: float = 1e-5,
        atol: float = 1e-5,
        share: float = 0.0,
        not_in: Mapping[str, str] | None = None,
        finds: str = "",
        name: str = "",
    ) -> Callable[[Build], Build]:
        """Decorates the ``build`` of a case."""

        def add(build: Build) -> Build:
            case = Case(
                self, name or build.__name__, file, kernels, build, small, production,
                rtol, atol, share, not_in or {}, finds,
            )  # fmt: skip
            if any(other.name == case.name for other in self.cases):
                raise ValueError(f"{self.name} has two cases called '{case.name}'")
            self.cases.append(case)
            return build

        return add


def difference(case: Case, got: Any, want: Any) -> str:
    """In words what is wrong with the results of a case; empty when they are right."""
    is_empty = True
    for place, ours, right in _pairs("result", got, want):
        is_empty = False
        if words := _difference(case, place, ours, right):
            return words
    return "the case compares nothing" if is_empty else ""


def _difference(case: Case, place: str, got: torch.Tensor, want: torch.Tensor) -> str:
    if got.shape != want.shape:
        return f"{place} has shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    ours, right = (_float64(x) for x in (got, want))
    far = ~torch.isclose(ours, right, rtol=case.rtol, atol=case.atol, equal_nan=True)
    count = int(far.sum())
    if count <= case.share * far.numel():
        return ""
    first = tuple(far.nonzero()[0].tolist())
    return (
        f"{place} differs in {count} of {far.numel()} elements, first at {first}: "
        f"{ours[first].item():.6g}, expected {right[first].item():.6g}"
    )


def _float64(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().cpu()
    return (x.to(torch.float32) if x.is_floating_point() and x.itemsize == 1 else x).to(
        torch.float64
    )


def _pairs(place: str, got: Any, want: Any) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    if want is None:
        return
    if isinstance(want, torch.Tensor):
        yield place, got, want
    elif isinstance(want, Mapping):
        for key, right in want.items():
            yield from _pairs(f"{place}[{key!r}]", got[key], right)
    else:
        if len(got) != len(want):
            raise ValueError(f"{place} has {len(got)} parts, expected {len(want)}")
        for i, (ours, right) in enumerate(zip(got, want, strict=True)):
            yield from _pairs(f"{place}[{i}]", ours, right)
