"""All points of a sweep, and how each is run: made from a ``Request``, which is plain data, so that
other processes and machines make the same plan.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import math
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from blockscope import _core
from blockscope.launch_file.case import Case
from blockscope.launch_file.case_of_file import case_of, names_of
from blockscope.launch_file.contents import File, Launch
from blockscope.launch_file.replay import Replay, settings_of
from blockscope.sweep import axes as axes_
from blockscope.sweep.axes import Axis
from blockscope.sweep.formula import Formula
from blockscope.sweep.result import Result
from blockscope.sweep.results_file import digest_of, key_of
from blockscope.sweep.run_point import run_point
from blockscope.sweep.vary import Varied
from blockscope.users_files import users_files

_PLAIN = (bool, int, float, str, type(None))
_MOST_NAMED = 10
LAUNCH = "launch"  # the axis of the launches of a file


@dataclass
class Request:
    """What was asked for. ``function`` is that of a script, empty for a launch file. ``content`` is
    the launch file, where the process that runs points may lack it."""

    path: str
    function: str = ""
    launch: int | None = None
    vary: list[str] = field(default_factory=list)
    set: dict[str, str] = field(default_factory=dict)
    grid: str | None = None
    keep: list[str] = field(default_factory=list)
    fixed_sizes: bool = False
    checks: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    seconds_of_point: float = 60.0
    content: bytes | None = None

    def plan(self) -> Plan:
        """Errors: ValueError for what cannot be; LaunchFileError."""
        return FunctionPlan(self) if self.function else LaunchPlan(self)


class Plan(ABC):
    """Points by their number, from 0 to ``count`` - 1."""

    axes: list[Axis]
    count: int
    said: list[str]  # what the user should know of how points are made

    def __init__(self, request: Request) -> None:
        self.request = request
        self.said = []

    def point(self, index: int) -> dict[str, Any]:
        """The parameters of a point, by the names of the axes."""
        values = {}
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            values[axis.name] = axis.values[place]
        return {axis.name: values[axis.name] for axis in self.axes}

    def run(self, index: int) -> Result:
        """Run a point, checked."""
        request = self.request
        point = self.point(index)
        return run_point(
            index, point, lambda: self._launch(index, point), request.checks, request.options,
            request.seconds_of_point,
        )  # fmt: skip

    @abstractmethod
    def _launch(self, index: int, point: dict[str, Any]) -> None: ...

    @abstractmethod
    def asked(self) -> str:
        """Of what was asked for, and decides the result of a point with given parameters: a digest.
        Results are kept under it."""

    @abstractmethod
    def sources(self) -> dict[str, str]:
        """Digests of what launches are made of, by names for people; of a function it may be more
        after a point, which can import."""

    def identity(self) -> str:
        """Of both together: a digest that names files."""
        return _digest(self.asked(), self.sources())


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


class LaunchPlan(Plan):
    """The launches of a file, as they are or varied."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._file = _opened(request)
        self._replay = Replay(self._file)
        chosen = [
            each for each in self._file.launches if request.launch in (None, each.number)
        ]  # fmt: skip
        if not chosen:
            numbers = ", ".join(str(each.number) for each in self._file.launches[:10]) or "none"
            raise ValueError(
                f"'{request.path}' has no launch {request.launch}, its launches are {numbers}"
            )
        # Of an autotuned kernel a launch may be in a file with several configurations.
        self._launches: dict[int, list[Launch]] = {}
        for each in chosen:
            self._launches.setdefault(each.number, []).append(each)
        self._varied: list[tuple[Launch, Varied, dict[str, Any]]] = []
        own = axes_.parse(request.vary)
        self._is_varied = bool(own or request.set)
        if self._is_varied:
            self._varied = [(each, *self._varied_launch(each, own)) for each in chosen]
        elif request.grid is not None or request.keep:
            raise ValueError("--grid and --keep are for sweeps that vary something (--vary)")
        several = [Axis((LAUNCH,), tuple(self._launches))] if len(self._launches) > 1 else []
        self.axes = [*several, *own] or [Axis((LAUNCH,), tuple(self._launches))]
        self.count = math.prod(len(axis.values) for axis in self.axes)

    def _varied_launch(self, launch: Launch, own: list[Axis]) -> tuple[Varied, dict[str, Any]]:
        request = self.request
        kernel = self._replay.kernel(launch)
        case = case_of(self._file, launch, kernel)
        formulas = {name: Formula(text) for name, text in request.set.items()}
        grid = Formula(request.grid) if request.grid is not None else None
        try:
            varied = Varied(
                case, own, formulas=formulas, grid=grid, kept=request.keep,
                fixed=request.fixed_sizes,
            )  # fmt: skip
        except ValueError as error:
            raise ValueError(f"launch {launch.number} of '{launch.kernel_name}': {error}") from None
        if varied.grid.is_inferred and not varied.grid.is_constant:
            self.said.append(
                f"the grid of launch {launch.number} is ({varied.grid.text}), as its numbers say "
                "(--grid names another)"
            )
        return varied, names_of(launch, kernel, self._replay)

    def _launch(self, index: int, point: dict[str, Any]) -> None:
        number = point.get(LAUNCH, next(iter(self._launches)))
        if not self._is_varied:
            for launch in self._launches[number]:
                self._replay.run(launch)
        for launch, varied, names in self._varied:
            if launch.number == number:
                case: Case = varied.case(point)
                with settings_of(launch):
                    _core.number_next_launch(number)
                    exec("\n".join(case.lines(literal=False)), {**names, "_data": case.data_of})

    def asked(self) -> str:
        request = self.request
        chosen = request.launch if len(self._launches) == 1 else None
        return _digest(
            chosen, request.set, request.grid, sorted(request.keep), request.fixed_sizes,
            request.checks, request.options, [axis.targets for axis in self.axes],
        )  # fmt: skip

    def sources(self) -> dict[str, str]:
        """The file by no path: it is the same launch wherever it lies."""
        content = self.request.content
        if content is None:
            return {"the launch file": digest_of(self.request.path)}
        return {"the launch file": hashlib.sha256(content).hexdigest()}


def _opened(request: Request) -> File:
    """The launch file, from its content where the file itself is elsewhere."""
    if request.content is None:
        return File(request.path)
    with tempfile.NamedTemporaryFile(suffix=".blk") as file:
        file.write(request.content)
        file.flush()
        made = File(file.name)
    made.path = request.path
    return made


class FunctionPlan(Plan):
    """A function of a script: called with the values of a point, or a generator of points."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._digests: dict[str, str] = {}
        self._modules = 0  # so many were imported when the digests were made
        self._function = _function(request.path, request.function)
        self._calls: list[tuple[dict[str, Any], Callable[[], Any]]] = []
        is_of_launches = request.set or request.keep or request.grid is not None
        if is_of_launches or request.fixed_sizes or request.launch is not None:
            raise ValueError(
                "--launch, --set, --keep, --grid and --fixed-sizes are for launch files"
            )
        own = axes_.parse(request.vary)
        if inspect.isgeneratorfunction(self._function):
            self._check_call({}, "; a function that yields points is called without arguments")
            self._calls = _chosen(request.function, self._collected(), own)
            self.count = len(self._calls)
            self.axes = _axes_of([point for point, _ in self._calls])
            return
        self._check_call({t: None for axis in own for t in axis.targets}, "")
        self.axes = own
        self.count = math.prod(len(axis.values) for axis in own)

    def _check_call(self, values: dict[str, Any], more: str) -> None:
        signature = inspect.signature(self._function)
        try:
            signature.bind(**values)
        except TypeError as error:
            takes = ", ".join(map(str, signature.parameters.values())) or "nothing"
            raise ValueError(
                f"'{self.request.function}' cannot be called so: {error}; it takes {takes}{more}"
            ) from None

    def _collected(self) -> list[tuple[dict[str, Any], Callable[[], Any]]]:
        """All that the generator yields. Errors: ValueError for what is no point."""
        name = self.request.function
        found: dict[str, tuple[dict[str, Any], Callable[[], Any]]] = {}
        for made in self._function():
            is_pair = isinstance(made, tuple) and len(made) == 2
            if not (is_pair and isinstance(made[0], dict) and callable(made[1])):
                raise ValueError(
                    f"'{name}' yields {type(made).__name__}, expected pairs of the parameters, a "
                    'dict, and a function that launches: yield {"n": n}, lambda: ...'
                )
            for key, value in made[0].items():
                if not isinstance(key, str) or not isinstance(value, _PLAIN):
                    raise ValueError(
                        f"'{name}' yields the parameter {key!r} = {value!r}, expected numbers, "
                        "texts and None by their names"
                    )
            # One result is kept for each point, so two of the same parameters cannot be told apart.
            if found.setdefault(key_of(made[0]), made) is not made:
                raise ValueError(
                    f"'{name}' yields the point {axes_.point_text(made[0])} twice, expected a "
                    "parameter that tells the two apart"
                )
            if len(found) > axes_.MOST_POINTS:
                raise ValueError(f"'{name}' yields more than {axes_.MOST_POINTS:,} points")
        return list(found.values())

    def point(self, index: int) -> dict[str, Any]:
        return dict(self._calls[index][0]) if self._calls else super().point(index)

    def _launch(self, index: int, point: dict[str, Any]) -> None:
        if self._calls:
            self._calls[index][1]()
        else:
            self._function(**{t: point[axis.name] for axis in self.axes for t in axis.targets})

    def asked(self) -> str:
        request = self.request
        # A point has the first name of parameters that are varied together: the others say more.
        together = [] if self._calls else [a.targets for a in self.axes if len(a.targets) > 1]
        return _digest(request.function, request.checks, request.options, together)

    def sources(self) -> dict[str, str]:
        """The script, and the user's modules that were imported until now, wherever they lie."""
        if self._modules == len(sys.modules):  # asked after every point
            return self._digests
        self._modules = len(sys.modules)
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        paths = {os.path.realpath(file) for file in files if isinstance(file, str)}
        own = {path for path in users_files(paths) if os.path.isfile(path)}
        for path in sorted(own | {os.path.realpath(self.request.path)}):
            if path not in self._digests:
                self._digests[path] = digest_of(path)
        return self._digests


def _chosen(
    name: str, calls: list[tuple[dict[str, Any], Callable[[], Any]]], axes: list[Axis]
) -> list[tuple[dict[str, Any], Callable[[], Any]]]:
    """The points of a generator that ``--vary`` picks. Values are compared as they are written,
    which is how ``--vary`` has them. Errors: ValueError where none is left."""
    if not calls:
        raise ValueError(f"'{name}' yields no points")
    for axis in axes:
        wanted = {str(value) for value in axis.values}
        for target in axis.targets:
            there = {str(point[target]): None for point, _ in calls if target in point}
            if not there:
                names = ", ".join(dict.fromkeys(key for point, _ in calls for key in point))
                raise ValueError(f"'{name}' yields no parameter '{target}', it has {names}")
            calls = [call for call in calls if target in call[0] and str(call[0][target]) in wanted]
            if not calls:
                seen = ", ".join([*list(there)[:_MOST_NAMED], *["..."][: len(there) > _MOST_NAMED]])
                raise ValueError(
                    f"no point of '{name}' has the {target} of --vary; where all else fits, "
                    f"{target} is {seen}"
                )
    return calls


def _axes_of(points: list[dict[str, Any]]) -> list[Axis]:
    names = list(dict.fromkeys(key for point in points for key in point))
    return [Axis((key,), tuple(dict.fromkeys(p[key] for p in points if key in p))) for key in names]


def _function(path: str, name: str) -> Callable[..., Any]:
    """A function of a file, which is imported: what stands under ``__name__ == "__main__"`` does
    not run."""
    folder = os.path.dirname(os.path.realpath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"'{path}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not inspect.isfunction(found):
        names = [n for n, v in vars(module).items() if inspect.isfunction(v)]
        has = f"has no function '{name}'"
        if found is not None:
            kind = "a kernel" if hasattr(found, "arg_names") else f"of type {type(found).__name__}"
            has = f"has '{name}', which is {kind}, expected a function that makes arguments and "
            has += "launches"
        raise ValueError(f"'{path}' {has}, its functions are {', '.join(names) or 'none'}")
    return found
