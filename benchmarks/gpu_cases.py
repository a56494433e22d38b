"""The rows of gpu.py: what each side runs, on which tensors, and what is right."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SIDES = ("torch", "triton", "blockscope")


@dataclass
class Case:
    """What a side runs, and how its result is judged."""

    function: Callable[[], Any]
    result: Callable[[], Any] = lambda: None  # what `function` left, for the comparison


@dataclass
class Row:
    """One line of the table; torch is the reference.

    ``make(side, kernels)`` gives a Case. ``kernels`` is gpu_kernels.py as that side compiles it,
    or, where compiling is measured, a function that loads it anew.
    """

    name: str
    make: Callable[[str, Any], Case]
    reference: Callable[[], Any] | None = None
    tolerance: float = 0.0
    work: float = 0.0  # bytes or operations of one run
    unit: str = ""  # "GB/s", "TFLOP/s"
    measure: str = "gpu"  # "gpu", "host", "compile"
    is_quick: bool = False
    sides: tuple[str, ...] = SIDES


def rows() -> Iterator[Row]:
    """All rows, made when they are reached: their tensors must not exist together."""
    yield vector_add(1 << 27)
    for columns in (1024, 4096, 8192, 12672):
        yield softmax(4096, columns, is_quick=columns == 4096)
    yield layer_norm(4096, 16384)
    for size, tile in MATMULS:
        yield matmul(size, tile, is_quick=(size, tile) == (4096, (128, 256, 64, 8, 3)))
    for size, tile in MATMULS:
        yield matmul(size, tile, is_quick=False, with_descriptors=True)
    for shape in ATTENTIONS:
        yield attention(*shape, is_quick=shape == (128, False, 128, 3))
    for shape in ATTENTIONS:
        yield attention(*shape, is_quick=False, with_descriptors=True)
    for causal in (False, True):
        for stages in (2, 3):
            yield attention_backward(128, causal, stages)
    yield from launches()
    yield cold_compile("elementwise")
    yield cold_compile("matmul")


#: Size, and BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages.
MATMULS = (
    (1024, (64, 128, 64, 4, 4)),
    (2048, (128, 128, 64, 4, 4)),
    (2048, (128, 256, 64, 8, 3)),
    (4096, (128, 256, 64, 8, 3)),
    (4096, (128, 256, 64, 8, 4)),
    (8192, (128, 256, 64, 8, 3)),
    (8192, (128, 256, 64, 8, 4)),
)


#: Size of a head, causal or not, keys of a step, num_stages.
ATTENTIONS = (
    (64, False, 128, 3),
    (64, True, 64, 3),
    (128, False, 64, 3),
    (128, False, 128, 2),
    (128, False, 128, 3),
    (128, True, 64, 3),
    (128, True, 128, 3),
    (256, False, 32, 3),
    (256, False, 64, 2),
    (256, True, 32, 3),
    (256, True, 64, 2),
)


def vector_add(n: int) -> Row:
    import torch

    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")

    def make(side: str, kernels: Any) -> Case:
        out = torch.empty_like(x)
        if side == "torch":
            return Case(lambda: torch.add(x, y, out=out), lambda: out)
        grid = (-(-n // 1024),)
        return Case(lambda: kernels.add_kernel[grid](x, y, out, n, BLOCK=1024), lambda: out)

    name = f"vector add 2^{n.bit_length() - 1} fp32"
    return Row(name, make, lambda: x + y, 0.0, 12 * n, "GB/s", is_quick=True)


def softmax(row_count: int, columns: int, *, is_quick: bool) -> Row:
    import torch

    x = torch.randn(row_count, columns, device="cuda")
    block = 1 << (columns - 1).bit_length()
    warps = 4 if block <= 2048 else 8 if block <= 4096 else 16

    def make(side: str, kernels: Any) -> Case:
        out = torch.empty_like(x)
        if side == "torch":
            return Case(lambda: torch.softmax(x, 1, out=out), lambda: out)
        kernel = kernels.softmax_kernel[row_count,]
        return Case(lambda: kernel(x, out, columns, BLOCK=block, num_warps=warps), lambda: out)

    return Row(
        f"softmax {row_count}x{columns} fp32", make, lambda: torch.softmax(x.double(), 1), 1e-6,
        8 * row_count * columns, "GB/s", is_quick=is_quick,
    )  # fmt: skip


def layer_norm(row_count: int, columns: int) -> Row:
    import torch

    x = torch.randn(row_count, columns, device="cuda").half()
    w = torch.rand(columns, device="cuda").half()
    b = torch.rand(columns, device="cuda").half()

    def forward(x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (columns,), w, b, 1e-5)

    def make(side: str, kernels: Any) -> Case:
        if side == "torch":
            outs: list[Any] = [None]

            def run() -> None:
                outs[0] = forward(x, w, b)

            return Case(run, lambda: outs[0])
        out = torch.empty_like(x)
        kernel = kernels.layer_norm_kernel[row_count,]
        return Case(
            lambda: kernel(x, w, b, out, columns, 1e-5, BLOCK=columns, num_warps=16), lambda: out
        )

    return Row(
        f"LayerNorm {row_count}x{columns} fp16", make,
        lambda: forward(x.float(), w.float(), b.float()), 2e-2, 4 * row_count * columns, "GB/s",
        is_quick=True,
    )  # fmt: skip


def matmul(
    size: int, tile: tuple[int, ...], *, is_quick: bool, with_descriptors: bool = False
) -> Row:
    import torch

    block_m, block_n, block_k, warps, stages = tile
    a = torch.randn(size, size, device="cuda").half()
    b = torch.randn(size, size, device="cuda").half()

    def make(side: str, kernels: Any) -> Case:
        c = torch.empty(size, size, device="cuda", dtype=torch.float16)
        if side == "torch":
            return Case(lambda: torch.matmul(a, b, out=c), lambda: c)
        grid = (-(-size // block_m) * -(-size // block_n),)
        options = {
            "BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP": 8,
            "num_warps": warps, "num_stages": stages,
        }  # fmt: skip
        if with_descriptors:
            kernels.triton.set_allocator(  # Triton keeps descriptors of the kernel in memory
                lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda")
            )
            kernel = kernels.descriptor_matmul_kernel
            return Case(lambda: kernel[grid](a, b, c, size, size, size, **options), lambda: c)
        strides = (*a.stride(), *b.stride(), *c.stride())
        return Case(
            lambda: kernels.matmul_kernel[grid](a, b, c, size, size, size, *strides, **options),
            lambda: c,
        )

    name = "matmul with descriptors" if with_descriptors else "matmul"
    return Row(
        f"{name} {size} fp16, {block_m}x{block_n}x{block_k}, {warps} warps, {stages} stages", make,
        lambda: a.float() @ b.float(), 2e-2, 2 * size**3, "TFLOP/s", is_quick=is_quick,
    )  # fmt: skip


BATCH, HEADS, LENGTH = 4, 32, 4096


def _attention_flops(head: int, causal: bool, products: int) -> float:
    return products * 2.0 * BATCH * HEADS * LENGTH**2 * head * (0.5 if causal else 1.0)


def _attention_inputs(head: int, count: int) -> list[Any]:
    import torch

    shape = (BATCH, HEADS, LENGTH, head)
    return [torch.randn(shape, device="cuda").half() for _ in range(count)]


def _forward(
    kernels: Any, q: Any, k: Any, v: Any, causal: bool, keys: int, stages: int,
    with_descriptors: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """What launches the forward kernel, its output and its logarithms of sums."""
    import torch

    head = q.shape[-1]
    out = torch.empty_like(q)
    lse = torch.empty(q.shape[:-1], device="cuda", dtype=torch.float32)
    scale2 = math.log2(math.e) / math.sqrt(head)
    options = {"BLOCK_M": 128, "BLOCK_N": keys, "num_warps": 8}
    kernel, tensors = kernels.attention_kernel, [q, k, v, out]
    if with_descriptors:
        tools = importlib.import_module(f"{kernels.triton.__name__}.tools.tensor_descriptor")
        kernel = kernels.descriptor_attention_kernel
        rows = [t.view(-1, head) for t in tensors]
        tensors = [
            tools.TensorDescriptor(t, t.shape, t.stride(), [size, head])
            for t, size in zip(rows, (128, keys, keys, 128), strict=True)
        ]
    launch = lambda: kernel[LENGTH // 128, BATCH * HEADS](
        *tensors,
        lse,
        scale2,
        LENGTH=LENGTH,
        HEAD=head,
        CAUSAL=causal,
        num_stages=stages,
        **options,
    )
    return launch, out, lse


def _some_heads(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """The reference for two heads, in float32: all of it would not fit."""
    import torch

    q, k, v = (t[:1, :2].float() for t in (q, k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(LENGTH, LENGTH, device="cuda", dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v


def attention(
    head: int, causal: bool, keys: int, stages: int, *, is_quick: bool,
    with_descriptors: bool = False,
) -> Row:  # fmt: skip
    import torch

    q, k, v = _attention_inputs(head, 3)

    def make(side: str, kernels: Any) -> Case:
        if side == "torch":
            outs: list[Any] = [None]

            def run() -> None:
                outs[0] = torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=causal
                )

            return Case(run, lambda: outs[0][:1, :2])
        launch, out, _ = _forward(kernels, q, k, v, causal, keys, stages, with_descriptors)
        return Case(launch, lambda: out[:1, :2])

    name = "attention with descriptors" if with_descriptors else "attention"
    return Row(
        f"{name} forward {BATCH}x{HEADS}x{LENGTH}x{head} fp16{', causal' if causal else ''}, "
        f"{keys} keys, {stages} stages",
        make, lambda: _some_heads(q, k, v, causal), 2e-2, _attention_flops(head, causal, 2),
        "TFLOP/s", is_quick=is_quick,
    )  # fmt: skip


def attention_backward(head: int, causal: bool, stages: int) -> Row:
    import torch

    q, k, v, d_out = _attention_inputs(head, 4)

    def reference() -> Any:
        leaves = [t[:1, :2].float().requires_grad_() for t in (q, k, v)]
        scores = leaves[0] @ leaves[1].transpose(-1, -2) / math.sqrt(head)
        if causal:
            hidden = torch.ones(LENGTH, LENGTH, device="cuda", dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
        (torch.softmax(scores, -1) @ leaves[2]).backward(d_out[:1, :2].float())
        return torch.stack([leaf.grad for leaf in leaves])

    def make(side: str, kernels: Any) -> Case:
        if side == "torch":
            leaves = [t.detach().requires_grad_() for t in (q, k, v)]
            out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
            grads: list[Any] = []

            def run() -> None:
                grads[:] = torch.autograd.grad(out, leaves, d_out, retain_graph=True)

            return Case(run, lambda: torch.stack([g[:1, :2] for g in grads]))
        forward, out, lse = _forward(kernels, q, k, v, causal, 64, 2)
        forward()
        delta = torch.empty_like(lse)
        results = [torch.empty_like(q) for _ in range(3)]
        scale = 1 / math.sqrt(head)
        meta = {"LENGTH": LENGTH, "HEAD": head, "CAUSAL": causal}
        inputs = (q, k, v, d_out, lse, delta)
        scales = (scale, scale * math.log2(math.e))

        def launch() -> None:
            row_count = BATCH * HEADS * LENGTH
            kernels.delta_kernel[row_count // 64,](out, d_out, delta, HEAD=head, BLOCK=64)
            kernels.keys_kernel[LENGTH // 128, BATCH * HEADS](
                *inputs, *results[1:], *scales, **meta, BLOCK_M=64, BLOCK_N=128, num_warps=8,
                num_stages=stages,
            )  # fmt: skip
            kernels.queries_kernel[LENGTH // 128, BATCH * HEADS](
                *inputs, results[0], *scales, **meta, BLOCK_M=128, BLOCK_N=64, num_warps=8,
                num_stages=stages,
            )  # fmt: skip

        return Case(launch, lambda: torch.stack([t[:1, :2] for t in results]))

    return Row(
        f"attention backward {BATCH}x{HEADS}x{LENGTH}x{head} fp16{', causal' if causal else ''}, "
        f"{stages} stages",
        make, reference, 5e-2, _attention_flops(head, causal, 5), "TFLOP/s",
    )  # fmt: skip


#: What a launch is measured with; launches.py has none of CUDA.
def zeros(*size: int, dtype: str = "float32") -> Any:
    import torch

    return torch.zeros(*size, device="cuda", dtype=getattr(torch, dtype))


def launches() -> Iterator[Row]:
    """What a launch costs the host, by what there is to look at. The kernels do nothing."""
    yield launch("8 arguments", _eight_arguments)
    yield launch("constexpr keywords, function of a grid", _many_constants)
    yield launch("3 descriptors", _descriptors)
    yield launch("3 descriptors made anew", _new_descriptors)
    yield launch("tuples", _tuples)
    yield launch("autotuned", _autotuned)
    yield launch("autotuned, with hooks", _autotuned_with_hooks)
    yield launch("heuristics", _heuristics)


def launch(what: str, make: Callable[[Any], Callable[[], Any]]) -> Row:
    def case(side: str, kernels: Any) -> Case:
        if side == "torch":
            tensor = zeros(16)
            return Case(lambda: tensor.add_(0))
        return Case(make(kernels))

    return Row(f"launch, {what}", case, unit="us", measure="host", is_quick=True)


def _eight_arguments(kernels: Any) -> Callable[[], Any]:
    a, b, c, d = (zeros(16) for _ in range(4))
    return lambda: kernels.eight_arguments_kernel[1,](a, b, c, d, 16, 32, 48, 64)


def _many_constants(kernels: Any) -> Callable[[], Any]:
    a, b, c = (zeros(16, 16) for _ in range(3))
    grid = lambda meta: (-(-meta["M"] // meta["BLOCK_M"]) * -(-meta["N"] // meta["BLOCK_N"]),)
    return lambda: kernels.many_constants_kernel[grid](
        a, b, c, 512, 512, 64, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP=8, num_warps=8, num_stages=3,
    )  # fmt: skip


def _descriptor_of(kernels: Any, tensor: Any) -> Any:
    tools = importlib.import_module(f"{kernels.triton.__name__}.tools.tensor_descriptor")
    return tools.TensorDescriptor.from_tensor(tensor, [64, 64])


def _descriptors(kernels: Any) -> Callable[[], Any]:
    a, b, c = (_descriptor_of(kernels, zeros(256, 256, dtype="float16")) for _ in range(3))
    return lambda: kernels.three_descriptors_kernel[1,](a, b, c, 256, 256, 256, BLOCK=64)


def _new_descriptors(kernels: Any) -> Callable[[], Any]:
    tensors = [zeros(256, 256, dtype="float16") for _ in range(3)]
    make = type(_descriptor_of(kernels, tensors[0])).from_tensor
    block = [64, 64]
    return lambda: kernels.three_descriptors_kernel[1,](
        *[make(tensor, block) for tensor in tensors], 256, 256, 256, BLOCK=64
    )


def _tuples(kernels: Any) -> Callable[[], Any]:
    tensors, sizes = (zeros(16), zeros(16)), (32, 48)
    return lambda: kernels.tuples_kernel[1,](tensors, sizes, 0.5, BLOCK=64)


def _untimed(call: Callable[[], Any], quantiles: Any = None) -> list[float]:
    """A benchmark for autotune: here nothing depends on which configuration it takes."""
    call()
    return [1.0, 1.0, 1.0]


def _tuned(kernels: Any, **hooks: Any) -> Any:
    configs = [
        kernels.triton.Config(
            {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": size, "GROUP": 8}, **hooks
        )
        for size in (32, 64)
    ]
    return kernels.triton.autotune(configs=configs, key=["M", "N", "K"], do_bench=_untimed)(
        kernels.many_constants_kernel
    )


def _autotuned(kernels: Any) -> Callable[[], Any]:
    a, b, c = (zeros(16, 16) for _ in range(3))
    tuned, grid = _tuned(kernels), lambda meta: (-(-meta["M"] // meta["BLOCK_M"]),)
    return lambda: tuned[grid](a, b, c, 512, 512, 64, 16, 16, 16)


def _autotuned_with_hooks(kernels: Any) -> Callable[[], Any]:
    a, b, c = (zeros(16, 16) for _ in range(3))
    tuned = _tuned(kernels, pre_hook=lambda arguments: arguments["BLOCK_M"])
    return lambda: tuned[4,](a, b, c, 512, 512, 64, 16, 16, 16)


def _heuristics(kernels: Any) -> Callable[[], Any]:
    a, b, c = (zeros(16, 16) for _ in range(3))
    rules = {"GROUP": lambda arguments: 8 if arguments["M"] % 8 == 0 else 4}
    chosen = kernels.triton.heuristics(rules)(kernels.many_constants_kernel)
    return lambda: chosen[4,](
        a, b, c, 512, 512, 64, 16, 16, 16, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64
    )


def cold_compile(kind: str) -> Row:
    """Compiling a kernel that no cache knows, after the compiler has been used once."""
    import torch

    size = 1024
    a, b = (torch.zeros(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    x = torch.zeros(1 << 20, device="cuda")

    def make(side: str, kernels: Any) -> Case:
        variants = iter((64, 128, 256, 512, 1024, 2048))
        steps = iter((16, 32, 64, 128))

        def run() -> None:
            fresh = kernels()
            if kind == "elementwise":
                block = next(variants)
                fresh.add_kernel[x.numel() // block,](x, x, x, x.numel(), BLOCK=block)
            else:
                strides = (size, 1) * 3
                fresh.matmul_kernel[64,](
                    a, b, a, size, size, size, *strides, BLOCK_M=128, BLOCK_N=128,
                    BLOCK_K=next(steps), GROUP=8, num_warps=8, num_stages=3,
                )  # fmt: skip
            torch.cuda.synchronize()

        return Case(run)

    return Row(
        f"cold compile, {kind}", make, unit="ms", measure="compile", is_quick=True,
        sides=("triton", "blockscope"),
    )  # fmt: skip
