"""Inputs and references that several repositories' cases need. Inputs are made on the CPU, so that
every device gets the same ones; references are in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0


def normal(*shape: int, device: str, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Any:
    return (torch.randn(*shape) * scale).to(dtype).to(device)


def integers(
    low: int, high: int, *shape: int, device: str, dtype: torch.dtype = torch.int64
) -> Any:
    """Uniform in low..high-1."""
    return torch.randint(low, high, shape).to(dtype).to(device)


def starts(lengths: list[int], device: str, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    """0, and the sums of the lengths."""
    return torch.tensor([0, *lengths]).cumsum(0).to(dtype).to(device)


def lengths(count: int, most: int, least: int = 1) -> list[int]:
    """``count`` different lengths up to ``most``, the first of which is ``most``."""
    return [max(least, most - i * most // (count + 1)) for i in range(count)]


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    causal: bool = False,
    window: int | None = None,
    bias: torch.Tensor | None = None,
    softcap: float = 0.0,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention and the natural logarithm of its sums.

    Shapes: q (..., Hq, Lq, D), k (..., Hk, Lk, D), v (..., Hk, Lk, E), sink (Hq), where Hq is a
    multiple of Hk. The last query sees the last key; of ``window`` keys that are seen the query's
    own is one.
    """
    q, k, v = (x.double() for x in (q, k, v))
    groups = q.shape[-3] // k.shape[-3]
    k, v = (x.repeat_interleave(groups, dim=-3) for x in (k, v))
    s = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias.double()
    rows = torch.arange(s.shape[-2], device=s.device)[:, None] + s.shape[-1] - s.shape[-2]
    columns = torch.arange(s.shape[-1], device=s.device)
    if causal:
        s = s.masked_fill(columns > rows, float("-inf"))
    if window is not None:
        s = s.masked_fill(columns <= rows - window, float("-inf"))
    if sink is None:
        return s.softmax(-1).nan_to_num() @ v, s.logsumexp(-1)
    column = sink.double()[:, None, None].expand(*s.shape[:-1], 1)
    p = torch.cat([s, column], -1).softmax(-1)[..., :-1]
    return p @ v, torch.cat([s, column], -1).logsumexp(-1)


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    x = x.double()
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return y if weight is None else y * weight.double()


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> torch.Tensor:
    weight, bias = (None if w is None else w.double() for w in (weight, bias))
    return F.layer_norm(x.double(), x.shape[-1:], weight, bias, eps)


def rotated(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, interleaved: bool = False
) -> Any:
    """RoPE: turns the halves of the last axis, or its even and odd elements; cos and sin have half
    of the axis."""
    x, cos, sin = x.double(), cos.double(), sin.double()
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    parts = a * cos - b * sin, b * cos + a * sin
    return torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)


def dequantised_blocks(x: torch.Tensor, scales: torch.Tensor, *block: int) -> torch.Tensor:
    """x times the scale of its block; ``block`` gives the sizes of the last axes."""
    scales = scales.double()
    for i, size in enumerate(reversed(block)):
        axis = -1 - i
        scales = scales.repeat_interleave(size, axis).narrow(axis, 0, x.shape[axis])
    return x.to(torch.float32).double() * scales


def moe(x: torch.Tensor, weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Each row times the transposed matrix of each of its experts. Shapes: x (M, K), weights
    (E, N, K), ids (M, T); gives (M, T, N)."""
    x, weights = x.double(), weights.double()
    out = x.new_zeros(*ids.shape, weights.shape[1])
    for expert in ids.unique().tolist():
        rows, slots = (ids == expert).nonzero(as_tuple=True)
        out[rows, slots] = x[rows] @ weights[expert].T
    return out


def silu_mul(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.double().chunk(2, -1)
    return F.silu(gate) * up


def topk_ids(m: int, experts: int, topk: int, device: str) -> tuple[Any, Any]:
    """Weights that sum to 1, and different experts for each row."""
    values, ids = torch.rand(m, experts).topk(topk)
    return (values / values.sum(-1, keepdim=True)).to(device), ids.to(device)


def fp8(*shape: int, device: str, dtype: torch.dtype = FP8, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape) * scale).to(dtype).to(device)


def packed_int4(
    values: torch.Tensor, order: tuple[int, ...] = tuple(range(8)), axis: int = -1
) -> Any:
    """Eight 4-bit values in each int32 along an axis; ``order[i]`` goes to bits 4*i."""
    axis %= values.dim()
    grouped = values.to(torch.int64).unflatten(axis, (-1, 8))
    word = sum(grouped.select(axis + 1, o) << (4 * i) for i, o in enumerate(order))
    return torch.where(word >= 1 << 31, word - (1 << 32), word).to(torch.int32)


def with_gradients(
    function: Callable[..., Any], upstream: torch.Tensor, *inputs: torch.Tensor, exact: bool = False
) -> list[torch.Tensor]:
    """The result of a function, and the gradients of its inputs for the gradient ``upstream`` of
    the result. ``exact``: all of it in float64."""
    leaves = [(x.double() if exact else x).detach().clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    grads = torch.autograd.grad(result, leaves, upstream.to(result.dtype))
    return [result.detach(), *grads]
