"""Maps between named coordinates that are linear over F2: ``triton.tools.LinearLayout``.

A layout says for each bit of an input coordinate (of a register, a lane) which bits of the output
coordinates it flips; all other inputs follow by exclusive or. Here all output coordinates are one
number, the first dimension in its lowest bits, and a layout is a list of such numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Bases = list[tuple[str, list[list[int]]]]


class LinearLayout:
    """Inputs are dimensions with their ``bases``, outputs are dimensions with their sizes.

    Errors: ValueError for sizes that are no powers of two, bases that are not inside of them,
            dimensions that do not fit, and where an inverse does not exist.
    """

    def __init__(self, bases: Bases, out_dims: list[tuple[str, int]]) -> None:
        for name, size in out_dims:
            if size < 1 or size & (size - 1):
                raise ValueError(f"'{name}' has size {size}, expected a power of two")
        for name, vectors in bases:
            for vector in vectors:
                if len(vector) != len(out_dims) or any(
                    not 0 <= part < size for part, (_, size) in zip(vector, out_dims, strict=True)
                ):
                    raise ValueError(f"a basis of '{name}' is {vector}, expected one in {out_dims}")
        self._bases = bases
        self._out_dims = out_dims

    # -- how layouts are made ----------------------------------------------------------------------

    @staticmethod
    def from_bases(
        bases: Iterable[tuple[str, Any]],
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> LinearLayout:
        """Without sizes each output dimension is as large as its bases need."""
        lists = [(name, [list(vector) for vector in vectors]) for name, vectors in bases]
        sizes = list(out_dim_sizes or ())
        if out_dim_sizes is None:
            for axis in range(len(out_dim_names)):
                most = max((v[axis] for _, vectors in lists for v in vectors), default=0)
                sizes.append(1 << most.bit_length())
        layout = LinearLayout(lists, list(zip(out_dim_names, sizes, strict=True)))
        if require_surjective and not layout.is_surjective():
            raise ValueError(f"not every output has an input in this layout:{layout}")
        return layout

    @staticmethod
    def identity_1d(size: int, in_dim: str, out_dim: str) -> LinearLayout:
        return LinearLayout.strided_1d(size, 1, in_dim, out_dim)

    @staticmethod
    def strided_1d(size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        bits = _bits(size)
        return LinearLayout(
            [(in_dim, [[stride << i] for i in range(bits)])], [(out_dim, size * stride)]
        )

    @staticmethod
    def zeros_1d(size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> LinearLayout:
        return LinearLayout([(in_dim, [[0]] * _bits(size))], [(out_dim, out_dim_size)])

    # -- what they are -----------------------------------------------------------------------------

    @property
    def bases(self) -> Bases:
        return self._bases

    @property
    def out_dims(self) -> list[tuple[str, int]]:
        return self._out_dims

    @property
    def num_in_dims(self) -> int:
        return len(self._bases)

    @property
    def num_out_dims(self) -> int:
        return len(self._out_dims)

    def get_in_dim_names(self) -> list[str]:
        return [name for name, _ in self._bases]

    def get_out_dim_names(self) -> list[str]:
        return [name for name, _ in self._out_dims]

    def is_surjective(self) -> bool:
        return len(_reduced(self._columns())) == self._out_bits()

    def is_injective(self) -> bool:
        columns = self._columns()
        return len(_reduced(columns)) == len(columns)

    def is_invertible(self) -> bool:
        return self.is_surjective() and self.is_injective()

    def get_matrix_view(self) -> list[list[int]]:
        """A row for each bit of the output, a column for each bit of the input."""
        columns = self._columns()
        return [[column >> bit & 1 for column in columns] for bit in range(self._out_bits())]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return (self._bases, self._out_dims) == (other._bases, other._out_dims)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        lines = [
            f"\n - {name}={1 << i} -> ({', '.join(map(str, vector))})"
            for name, vectors in self._bases
            for i, vector in enumerate(vectors)
        ]
        sizes = ", ".join(f"{name} (size {size})" for name, size in self._out_dims)
        return "".join(lines) + f"\nwhere out dims are: [{sizes}]"

    # -- what is computed with them ----------------------------------------------------------------

    def apply(self, inputs: dict[str, int]) -> dict[str, int]:
        """The output coordinates of input coordinates, by names."""
        self._check_names("inputs", inputs, self.get_in_dim_names())
        result = 0
        columns = iter(self._columns())
        for name, vectors in self._bases:
            for bit in range(len(vectors)):
                result ^= next(columns) * (inputs[name] >> bit & 1)
        return dict(zip(self.get_out_dim_names(), self._parts(result), strict=True))

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then ``outer``, which takes this one's outputs."""
        self._check_names("dimensions", outer.get_in_dim_names(), self.get_out_dim_names())
        names = self.get_out_dim_names()
        bases = [
            (
                name,
                [
                    list(outer.apply(dict(zip(names, vector, strict=True))).values())
                    for vector in vectors
                ],
            )
            for name, vectors in self._bases
        ]
        return LinearLayout(bases, outer.out_dims)

    def invert(self) -> LinearLayout:
        """The layout from outputs to inputs."""
        if not self.is_invertible():
            raise ValueError(f"this layout has no inverse:{self}")
        return self.pseudoinvert()

    def pseudoinvert(self) -> LinearLayout:
        """A layout that gives for each output an input that has it, 0 in bits that are free."""
        same = LinearLayout(
            [
                (name, [[1 << i if d == axis else 0 for d in range(self.num_out_dims)]
                        for i in range(_bits(size))])
                for axis, (name, size) in enumerate(self._out_dims)
            ],
            self._out_dims,
        )  # fmt: skip
        return same.invert_and_compose(self)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """The layout L for which ``outer`` after L is this one."""
        if self._out_dims != outer._out_dims:
            raise ValueError(f"the outputs are {self._out_dims}, expected {outer._out_dims}")
        pivots = _reduced(outer._columns())
        sizes = [(name, 1 << len(vectors)) for name, vectors in outer._bases]
        inputs = LinearLayout([], sizes)
        bases: Bases = []
        columns = iter(self._columns())
        for name, vectors in self._bases:
            solved = []
            for _ in vectors:
                rest, combination = _reduce(next(columns), pivots)
                if rest:
                    raise ValueError(f"'{name}' reaches outputs that the other layout does not")
                solved.append(inputs._parts(combination))
            bases.append((name, solved))
        return LinearLayout(bases, sizes)

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """Both side by side: the bits of ``other`` come behind those of this layout."""
        out = dict(self._out_dims)
        for name, size in other._out_dims:
            out[name] = out.get(name, 1) * size
        names = list(out)
        bases: dict[str, list[list[int]]] = {}
        for layout, below in ((self, {}), (other, dict(self._out_dims))):
            own = layout.get_out_dim_names()
            for name, vectors in layout._bases:
                for vector in vectors:
                    part = dict(zip(own, vector, strict=True))
                    row = [part.get(dim, 0) * below.get(dim, 1) for dim in names]
                    bases.setdefault(name, []).append(row)
                bases.setdefault(name, [])
        return LinearLayout(list(bases.items()), list(out.items()))

    # -- numbers for coordinates -------------------------------------------------------------------

    def _out_bits(self) -> int:
        return sum(_bits(size) for _, size in self._out_dims)

    def _columns(self) -> list[int]:
        """The output of each bit of the input, as one number."""
        result = []
        for vector in (vector for _, vectors in self._bases for vector in vectors):
            number = shift = 0
            for part, (_, size) in zip(vector, self._out_dims, strict=True):
                number |= part << shift
                shift += _bits(size)
            result.append(number)
        return result

    def _parts(self, number: int) -> list[int]:
        parts = []
        for _, size in self._out_dims:
            parts.append(number % size)
            number //= size
        return parts

    def _check_names(self, what: str, found: Iterable[str], expected: list[str]) -> None:
        if set(found) != set(expected):
            raise ValueError(f"{what} are {list(found)}, expected {expected}")


Pivots = dict[int, tuple[int, int]]
"""Independent vectors by their highest bit, each with the inputs that it is the sum of."""


def _bits(size: int) -> int:
    return size.bit_length() - 1


def _reduce(vector: int, pivots: Pivots) -> tuple[int, int]:
    """What is left of a vector, and the inputs whose vectors were taken off."""
    combination = 0
    for bit in range(vector.bit_length() - 1, -1, -1):
        if vector >> bit & 1 and bit in pivots:
            pivot, inputs = pivots[bit]
            vector ^= pivot
            combination ^= inputs
    return vector, combination


def _reduced(columns: list[int]) -> Pivots:
    pivots: Pivots = {}
    for i, column in enumerate(columns):
        rest, combination = _reduce(column, pivots)
        if rest:
            pivots[rest.bit_length() - 1] = (rest, combination ^ 1 << i)
    return pivots


__all__ = ["LinearLayout"]
