"""What stands for a tensor in a launch: one of another dtype, or none at all."""

from __future__ import annotations

from typing import Any

from blockscope.language import core


class MockTensor:
    """Stands for a tensor of a dtype where a kernel is only compiled (``warmup``)."""

    is_mock = True

    def __init__(self, dtype: Any, shape: Any = None, address: int = 0) -> None:
        self.dtype = dtype
        self._address = address
        self.shape = list(shape) if shape is not None else [1]

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        is_torch = type(arg).__name__ == "dtype" and type(arg).__module__ == "torch"
        return MockTensor(arg) if is_torch or isinstance(arg, core.dtype) else arg

    def stride(self) -> list[int]:
        strides = [1]
        for size in self.shape[1:]:
            strides.append(strides[-1] * size)
        return list(reversed(strides))

    def data_ptr(self) -> int:
        """An address that is as aligned as the tensors to compile for; nothing is there."""
        return self._address

    @staticmethod
    def ptr_range() -> int:
        return 0


class MockNumber:
    """Stands for a number of a dtype where a kernel is only compiled. Nothing is compiled in."""

    def __init__(self, dtype: Any, value: int) -> None:
        self.dtype = dtype
        self.value = value  # what it is said to be divisible by


class TensorWrapper:
    """A tensor seen with another dtype."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.dtype = dtype
        self.base = base
        self.data = getattr(base, "data", base)
        self.device = getattr(base, "device", None)
        self.shape = base.shape

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *args: Any) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        return self.base.element_size()

    def untyped_storage(self) -> Any:
        return self.base.untyped_storage()

    def _as_this(self, base: Any) -> TensorWrapper:
        return TensorWrapper(base, self.dtype)

    def cpu(self) -> TensorWrapper:
        return self._as_this(self.base.cpu())

    def to(self, *args: Any, **kwargs: Any) -> TensorWrapper:
        """On another device. Errors: TypeError for a dtype, whose values only torch can convert."""
        for value in (*args, *kwargs.values()):
            if type(value).__name__ == "dtype":
                raise TypeError(
                    f"a tensor reinterpreted as {self.dtype} got .to({value}), expected a device; "
                    "convert the tensor that it was made of"
                )
        return self._as_this(self.base.to(*args, **kwargs))

    def clone(self) -> TensorWrapper:
        return self._as_this(self.base.clone())

    def new_empty(self, *sizes: Any) -> TensorWrapper:
        return self._as_this(self.base.new_empty(*sizes))

    def copy_(self, other: Any) -> TensorWrapper:
        """Take the elements of another tensor, as they are in its base."""
        self.base.copy_(getattr(other, "base", other))
        return self

    def numel(self) -> int:
        return int(self.base.numel())

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """Return ``tensor`` with its elements taken as ``dtype`` of the same size."""
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"cannot reinterpret a {type(tensor).__name__}")
