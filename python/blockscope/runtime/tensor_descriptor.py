"""A tensor descriptor made on the host and passed to a kernel as an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockscope import _core

ALIGNMENT_BYTES = 16


def _item_bytes(base: Any) -> int | None:
    """Bytes of one element of ``base``; None when the object does not say."""
    size = getattr(base, "element_size", None)
    if callable(size):
        return int(size())
    return getattr(getattr(base, "dtype", None), "itemsize", None)


@dataclass
class TensorDescriptor:
    """A base tensor, its shape and strides, and the block that one load or store moves. Loads of
    float32 round to tf32 with ``round_f32_to_tf32``.

    Units:  strides are in elements.
    Errors: ValueError for wrong ranks, a last stride other than 1, a base that is not aligned to 16
            bytes, a leading stride that is not a multiple of 16 bytes, or rounding of a dtype other
            than float32.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        self.shape = shape = list(self.shape)
        self.strides = strides = list(self.strides)
        if self.padding == "zero" and not self.round_f32_to_tf32:
            # Files make descriptors for each launch: Python words what is wrong, else C++ is asked.
            self.block_shape = block = list(self.block_shape)
            if _core.fits_descriptor(self.base, shape, strides, block):
                return
        self._check()

    def _check(self) -> None:
        self.block_shape = [int(getattr(size, "value", size)) for size in self.block_shape]
        rank = len(self.shape)
        if not 1 <= rank <= 5:
            raise ValueError(f"tensor descriptor has rank {rank}, expected 1 to 5")
        for name, values in (("strides", self.strides), ("block_shape", self.block_shape)):
            if len(values) != rank:
                raise ValueError(
                    f"tensor descriptor has {len(values)} {name} for a shape of rank {rank}"
                )
        if self.strides[-1] != 1:
            raise ValueError(f"tensor descriptor has last stride {self.strides[-1]}, expected 1")
        for size in self.block_shape:
            if size < 1 or size & (size - 1):
                raise ValueError(
                    f"tensor descriptor has block_shape {self.block_shape}, expected powers of two"
                )
        if self.padding not in ("zero", "nan"):
            raise ValueError(
                f"tensor descriptor has padding '{self.padding}', expected 'zero' or 'nan'"
            )
        if self.round_f32_to_tf32 and not str(self.dtype).endswith("float32"):
            raise ValueError(
                f"tensor descriptor has dtype {self.dtype}, round_f32_to_tf32 is only supported "
                "for float32 tensors"
            )
        self._check_alignment()

    def _check_alignment(self) -> None:
        pointer = getattr(self.base, "data_ptr", None)
        if callable(pointer) and (address := pointer()) % ALIGNMENT_BYTES:
            raise ValueError(
                f"tensor descriptor has a base at an address {address % ALIGNMENT_BYTES} bytes "
                f"past a multiple of {ALIGNMENT_BYTES}"
            )
        item = _item_bytes(self.base)
        for axis, stride in enumerate(self.strides[:-1] if item else ()):
            if (stride * item) % ALIGNMENT_BYTES:  # type: ignore[operator]
                raise ValueError(
                    f"tensor descriptor has stride {stride} ({stride * item} bytes) in dimension "  # type: ignore[operator]
                    f"{axis}, expected a multiple of {ALIGNMENT_BYTES} bytes"
                )

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        stride = getattr(tensor, "stride", None)
        strides = stride() if callable(stride) else [
            size // tensor.itemsize for size in tensor.strides
        ]  # fmt: skip
        return cls(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    @property
    def device(self) -> Any:
        return getattr(self.base, "device", "cpu")

    def data_ptr(self) -> int:
        return self.base.data_ptr()
