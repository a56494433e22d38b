"""Microscaling formats on the host: four-bit floats (e2m1) and power-of-two scales (e8m0)."""

from __future__ import annotations

from typing import Any

E2M1_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Magnitude of each three-bit code; the fourth bit is the sign."""

SCALE_BIAS = 127
SCALE_NAN = 255


class MXFP4Tensor:
    """Four-bit floats, one code a byte in ``data``; ``to`` and ``to_packed_tensor`` convert."""

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        import torch

        if (data is None) == (size is None):
            raise ValueError("MXFP4Tensor needs 'data' or 'size', exactly one of them")
        if data is not None:
            self.device = data.device
            self.data = self._codes(data)
        else:
            self.device = torch.device(device or "cpu")
            self.data = torch.zeros(size, dtype=torch.uint8, device=self.device)
        self.size = self.data.shape

    def random(self) -> MXFP4Tensor:
        import torch

        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    @staticmethod
    def _codes(values: Any) -> Any:
        """The nearest codes, ties to the even one; values past 6 saturate."""
        import torch

        magnitude = values.to(torch.float32).abs()
        table = torch.tensor(E2M1_VALUES, device=values.device)
        middle = (table[1:] + table[:-1]) / 2
        above = torch.bucketize(magnitude, middle, right=False)
        # At a tie bucketize gives the lower code; move odd ones up to the even neighbour.
        tie = (magnitude == middle[above.clamp(max=6)]) & (above % 2 == 1)
        code = (above + tie.long()).clamp(max=7).to(torch.uint8)
        return code | (torch.signbit(values).to(torch.uint8) << 3)

    def to(self, dtype: Any) -> Any:
        import torch

        table = torch.tensor(E2M1_VALUES, device=self.device)
        magnitude = table[(self.data & 7).long()]
        return torch.where(self.data >= 8, -magnitude, magnitude).to(dtype)

    def to_packed_tensor(self, dim: int, dtype: Any = None) -> Any:
        """Two codes a byte along ``dim``, the first one in the low half."""
        import torch

        data = self.data
        if data.shape[dim] % 2:
            pad = [0] * (2 * data.ndim)
            pad[-(2 * (dim % data.ndim) + 1)] = 1
            data = torch.nn.functional.pad(data, pad)
        low, high = data.unflatten(dim, (-1, 2)).unbind(dim % data.ndim + 1)
        packed = low | (high << 4)
        return packed if dtype is None else packed.to(dtype)

    def unpack_packed_tensor(self, packed: Any, dim: int, original_shape: Any) -> Any:
        import torch

        codes = torch.stack((packed & 15, packed >> 4), dim=dim % packed.ndim + 1)
        codes = codes.flatten(dim % packed.ndim, dim % packed.ndim + 1)
        return codes.narrow(dim, 0, original_shape[dim])


def fp8e8m0_to_float32(scale: Any) -> Any:
    """The scales of bytes, as float32 numbers: 2^(byte - 127)."""
    import torch

    scales = MXScaleTensor(size=scale.shape, device=scale.device)
    scales.data = scale.view(torch.uint8)
    return scales.to(torch.float32)


class MXScaleTensor:
    """Scales 2^(byte - 127), one a byte in ``data``; 255 is NaN."""

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        import torch

        if (data is None) == (size is None):
            raise ValueError("MXScaleTensor needs 'data' or 'size', exactly one of them")
        if data is not None:
            self.device = data.device
            exponent = torch.floor(torch.log2(data.to(torch.float32))) + SCALE_BIAS
            exponent = exponent.clamp(0, SCALE_NAN - 1)
            exponent = torch.where(torch.isfinite(data) & (data > 0), exponent, SCALE_NAN)
            self.data = exponent.to(torch.uint8)
        else:
            self.device = torch.device(device or "cpu")
            self.data = torch.full(size, SCALE_BIAS, dtype=torch.uint8, device=self.device)
        self.size = self.data.shape

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        import math

        import torch

        first = 0 if low is None else max(0, int(math.log2(low)) + SCALE_BIAS)
        last = (
            SCALE_NAN - 1 if high is None else min(254, max(0, int(math.log2(high)) + SCALE_BIAS))
        )
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        import torch

        scale = torch.exp2(self.data.to(torch.float64) - SCALE_BIAS)
        scale = torch.where(self.data == SCALE_NAN, torch.nan, scale)
        return scale.to(dtype)
