"""A recorded launch with other numbers: what an argument's new value changes with it.

An argument whose number is a dimension of tensors takes them along, with their strides and the
arguments that have these; where one number may mean two things, that is an error that says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from blockscope.launch_file import dtypes
from blockscope.launch_file.case import Argument, Case, Parts, Tensor, Text
from blockscope.launch_file.sizes import derived_numbers, fit_storages, renumbered, resized
from blockscope.launch_file.source_text import constant_text
from blockscope.runtime.memory.buffer import contiguous_strides, element_count
from blockscope.runtime.options import LAUNCH_OPTIONS
from blockscope.sweep.axes import Axis
from blockscope.sweep.case_numbers import SHAPE, number_of
from blockscope.sweep.formula import Formula
from blockscope.sweep.grids import Grid

_FIXED = "{} cannot vary: memory with addresses, or with tensors of several dtypes, keeps its size"


class Varied:
    """The cases of a launch. ``fixed``: tensors stay as they are; arguments in ``kept`` do, too.

    Errors: ValueError for axes that do not fit the launch.
    """

    def __init__(
        self,
        case: Case,
        axes: Sequence[Axis],
        *,
        formulas: Mapping[str, Formula],
        grid: Formula | None,
        kept: Collection[str] = (),
        fixed: bool = False,
    ) -> None:
        self._case = _flattened(case, axes, fixed)
        self._axes, self._formulas, self._kept = axes, formulas, frozenset(kept)
        self._arguments = {each.name: each for each in self._case.arguments}
        self._tensors = {each.name: each for each in self._case.tensors()}
        for name in (*(target for axis in axes for target in axis.targets), *formulas):
            self._check_target(name)
        for axis in axes:
            if any(target.endswith(".dtype") for target in axis.targets):
                for value in axis.values:
                    _dtype_named(value)
        for name in kept:
            if name not in self._arguments:
                raise ValueError(f"'{name}' is no argument of '{case.kernel}'")
            if name in self._tensors:
                raise ValueError(
                    f"'{name}' is a tensor, and what stays by --keep is a number; --fixed-sizes "
                    "keeps all tensors"
                )
        self._linked = {axis for axis in axes if not fixed and self._is_linked(axis)}
        samples = [] if grid is not None else [self._numbers(point) for point in self._samples()]
        varied = {target for axis in axes for target in axis.targets}
        self.grid = Grid(self._case, grid, samples, varied)

    def case(self, point: Mapping[str, Any]) -> Case:
        """The launch at a point: values by the names of the axes. Errors: ValueError."""
        made = self._numbers(point)
        made.grid = self.grid.of(made)
        for axis in self._axes:
            for target in axis.targets:
                if target.endswith(".dtype"):
                    _convert(made, target.removesuffix(".dtype"), str(point[axis.name]))
        return made

    # -- what the axes mean -----------------------------------------------------------------------

    def _check_target(self, target: str) -> None:
        if match := SHAPE.fullmatch(target):
            tensor = self._tensor(match[1])
            if int(match[2]) >= len(tensor.shape):
                raise ValueError(f"'{match[1]}' has {len(tensor.shape)} dimensions, not {target}")
        elif target.endswith(".dtype"):
            tensor = self._tensor(target.removesuffix(".dtype"))
            if self._case.storages[tensor.storage].dtype != tensor.dtype:
                raise ValueError(f"'{target}' cannot vary: it is a view of another dtype")
        elif target not in self._arguments and target not in LAUNCH_OPTIONS:
            names = ", ".join(self._arguments)
            raise ValueError(f"'{self._case.kernel}' has no argument '{target}', it has {names}")
        elif isinstance(getattr(self._arguments.get(target), "value", 0), Tensor):
            raise ValueError(f"'{target}' is a tensor; {target}.shape[0] and {target}.dtype vary")

    def _tensor(self, name: str) -> Tensor:
        if name not in self._tensors:
            names = ", ".join(self._tensors) or "none"
            raise ValueError(f"'{name}' is no tensor of the launch, its tensors are {names}")
        return self._tensors[name]

    def _is_linked(self, axis: Axis) -> bool:
        """Whether the axis is the size of tensors by its number. Errors: ValueError where it may
        be, and it is not sure which."""
        numbers = {self._arguments[t].value for t in axis.targets if self._is_size(t)}
        is_explicit = any(SHAPE.fullmatch(target) for target in axis.targets)
        if is_explicit or not numbers:
            return False
        if len(numbers) > 1:
            raise ValueError(
                f"'{', '.join(axis.targets)}' vary together, and were {_listed(numbers)}: name the "
                f"sizes that follow, as in {axis.name}=x.shape[0]=..., or --fixed-sizes"
            )
        (old,) = numbers
        holders = [t for t in self._case.tensors() if old in t.shape]
        if not holders:
            return False
        way = (
            f"record a launch whose sizes differ, or name what follows, as in "
            f"{axis.name}={holders[0].name}.shape[{holders[0].shape.index(old)}]=..., or "
            "--fixed-sizes"
        )
        if old <= 1:
            raise ValueError(f"'{axis.name}' was {old}, and so are sizes of tensors: {way}")
        for tensor in holders:
            if tensor.shape.count(old) > 1:
                shape = "x".join(map(str, tensor.shape))
                raise ValueError(
                    f"'{axis.name}' was {old}, and '{tensor.name}' is [{shape}]: it is not known "
                    f"which of its sizes follows; {way}"
                )
        strides = {s for t in self._case.tensors() for s in t.strides}
        varied = {target for each in self._axes for target in each.targets}
        for argument in self._case.arguments:
            name, value = argument.name, argument.value
            is_other = name not in varied and name not in self._kept and not argument.is_constexpr
            if is_other and value == old and type(value) is int and old not in strides:
                raise ValueError(
                    f"'{axis.name}' was {old}, and so was '{name}': to vary it too, say "
                    f"{axis.name}={name}=...; to leave it, --keep {name}"
                )
        return True

    def _is_size(self, target: str) -> bool:
        argument = self._arguments.get(target)
        return argument is not None and not argument.is_constexpr and type(argument.value) is int

    def _samples(self) -> list[dict[str, Any]]:
        """Points that show which formulas of the grid differ."""
        found = []
        for axis in self._axes:
            values = axis.values
            for value in {
                values[0],
                values[-1],
                values[len(values) // 2],
                values[len(values) // 3],
            }:
                for rest in (0, -1):
                    point = {each.name: each.values[rest] for each in self._axes}
                    found.append({**point, axis.name: value})
        return found

    # -- one point --------------------------------------------------------------------------------

    def _numbers(self, point: Mapping[str, Any]) -> Case:
        """The case with the numbers of a point, and its grid as it was."""
        sizes: dict[int, int] = {}
        for axis in self._linked:
            old = next(self._arguments[t].value for t in axis.targets if self._is_size(t))
            value = point[axis.name]
            if type(value) is not int or value < 1:
                raise ValueError(
                    f"{axis.name}={value} cannot be: it is the size of tensors (or --fixed-sizes)"
                )
            if sizes.setdefault(old, value) != value:
                raise ValueError(f"'{axis.name}' and another axis were both {old}")
        varied = {target for axis in self._axes for target in axis.targets}
        kept = self._kept | varied
        made = resized(self._case, sizes, constants=False, may_grow=True, kept=kept)
        if made is None:
            raise ValueError(_FIXED.format(_listed(axis.name for axis in self._linked)))
        made = self._reshaped(made, point, kept)
        places = {argument.name: argument for argument in made.arguments}
        for axis in self._axes:
            for target in axis.targets:
                if "." not in target:
                    _set(made, places, target, point[axis.name])
        for name, formula in self._formulas.items():
            number = formula.value(partial(number_of, made))
            if "." in name:
                made = self._with_shapes(made, {name: number}, kept)
                places = {argument.name: argument for argument in made.arguments}
            else:
                _set(made, places, name, number)
        return made

    def _reshaped(self, made: Case, point: Mapping[str, Any], kept: frozenset[str]) -> Case:
        shapes = {
            target: point[axis.name]
            for axis in self._axes
            for target in axis.targets
            if SHAPE.fullmatch(target)
        }
        return self._with_shapes(made, shapes, kept) if shapes else made

    def _with_shapes(self, case: Case, shapes: dict[str, Any], kept: frozenset[str]) -> Case:
        """The case with dimensions that were named one by one."""
        made = case.copy()
        for target, value in shapes.items():
            if type(value) is not int or value < 0:
                raise ValueError(f"{target}={value} cannot be: sizes are whole numbers")
            match = SHAPE.fullmatch(target)
            assert match is not None
            for tensor in made.tensors():
                if tensor.name == match[1]:
                    place, is_contiguous = int(match[2]), tensor.is_contiguous
                    if not is_contiguous and place:
                        raise ValueError(
                            f"{target} cannot vary: '{match[1]}' is not contiguous, and its "
                            "strides would have to be known"
                        )
                    tensor.shape = (*tensor.shape[:place], value, *tensor.shape[place + 1 :])
                    if is_contiguous:
                        tensor.strides = contiguous_strides(tensor.shape)
        if not fit_storages(case, made, may_grow=True):
            raise ValueError(_FIXED.format(", ".join(shapes)))
        numbers = derived_numbers(case, made)
        changed = {a: b for a, b in numbers.items() if a != b}
        for argument in made.arguments:
            if argument.name not in kept and not argument.is_constexpr:
                argument.value = renumbered(argument.value, changed)
        return made


def _flattened(case: Case, axes: Sequence[Axis], fixed: bool) -> Case:
    """Where an argument is the number of all elements of tensors, they are vectors: a kernel sees
    memory, no shapes."""
    targets = {target for axis in axes for target in axis.targets}
    counts = {
        a.value
        for a in case.arguments
        if a.name in targets and not a.is_constexpr and type(a.value) is int
    }
    dims = {n for tensor in case.tensors() for n in tensor.shape}
    made = case.copy()
    described = {id(each.tensor) for each in made.descriptors()}
    for tensor in made.tensors():
        count = element_count(tensor.shape)
        is_count = count > 1 and count in counts and count not in dims
        named = any(target.startswith(f"{tensor.name}.shape") for target in targets)
        if fixed or named or id(tensor) in described:
            continue
        if is_count and tensor.is_contiguous:
            tensor.shape, tensor.strides = (count,), (1,)
    return made


def _set(made: Case, places: dict[str, Argument], name: str, value: Any) -> None:
    """Give an argument or an option a value."""
    if name not in places:
        made.options[name] = constant_text(value)
        return
    argument = places[name]
    old = argument.value
    if isinstance(old, Text) and old.text.startswith("tl.") and isinstance(value, str):
        argument.value = Text(f"tl.{value.removeprefix('tl.')}")  # a dtype
    elif isinstance(value, str):
        argument.value = Text(constant_text(value))
    elif isinstance(old, Parts):
        raise ValueError(f"'{name}' is a tuple, which cannot vary")
    else:
        argument.value = value


def _dtype_named(text: Any) -> str:
    """A dtype by its name or its short one. Errors: ValueError."""
    name = str(text).removeprefix("tl.")
    name = _LANGUAGE.get(name, name)
    if name not in dtypes.NAMES:
        raise ValueError(f"'{text}' is no dtype, expected one such as fp16, bf16, int32")
    return name


def _convert(made: Case, name: str, dtype: str) -> None:
    """Give the memory of a tensor another dtype, with the values that it has."""
    dtype = _dtype_named(dtype)
    number = next(t.storage for t in made.tensors() if t.name == name)
    storage = made.storages[number]
    if storage.dtype == dtype:
        return
    if storage.fill == "table":
        raise ValueError(f"'{name}' has addresses, whose dtype cannot vary")
    if storage.fill == "data":
        old, new = dtypes.numpy_dtype(storage.dtype), dtypes.numpy_dtype(dtype)
        if old is None or new is None:
            raise ValueError(f"{name}.dtype={dtype} needs ml_dtypes (pip install ml_dtypes)")
        with np.errstate(all="ignore"):
            values = np.ascontiguousarray(storage.data).reshape(-1).view(old)
            wide = values if new.kind in "iub" or old.kind in "iub" else values.astype(np.float64)
            storage.data = wide.astype(new).view(np.uint8).reshape(storage.count, -1)
    if storage.library == "numpy" and not dtypes.numpy_name(dtype):
        if dtypes.torch_dtype(dtype) is None:
            raise ValueError(f"{name}.dtype={dtype} needs torch: NumPy has no such numbers")
        storage.library, storage.is_read_only = "torch", False
    storage.dtype = dtype
    for tensor in made.tensors():
        if tensor.storage == number:
            tensor.dtype = dtype


_LANGUAGE = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "bool": "int1",
}  # fmt: skip


def _listed(values: Any) -> str:
    return ", ".join(map(str, sorted(values)))
