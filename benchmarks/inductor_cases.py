"""The functions of benchmarks/inductor.py: what people compile, by classes of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[], tuple[Callable[..., Any], list[Any]]]
CASES: dict[str, Case] = {}
OPTIONS: dict[str, dict[str, Any]] = {}
BACKWARD: set[str] = set()


def case(name: str, *, backward: bool = False, **options: Any) -> Callable[[Case], Case]:
    """Registers a function that makes (function, inputs); ``options`` are Inductor's.

    With ``backward`` the gradients of the inputs that need them are computed in the timed run.
    """

    def register(make: Case) -> Case:
        CASES[name] = make
        OPTIONS[name] = options
        if backward:
            BACKWARD.add(name)
        return make

    return register


def tensor(*shape: int, dtype: str = "float32", grad: bool = False) -> Any:
    import torch

    return torch.randn(shape, device="cuda").to(getattr(torch, dtype)).requires_grad_(grad)


def indices(high: int, *shape: int) -> Any:
    import torch

    return torch.randint(0, high, shape, device="cuda")


def define_cases() -> None:
    import torch
    import torch.nn.functional as F

    templates = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    big, wide = (4096, 8192), (8192, 4096)

    def simple(name: str, function: Any, *inputs: Any, **options: Any) -> None:
        case(name, **options)(lambda: (function, [make() for make in inputs]))

    def of(*shape: int, dtype: str = "float32", grad: bool = False) -> Callable[[], Any]:
        return lambda: tensor(*shape, dtype=dtype, grad=grad)

    bf16 = {"dtype": "bfloat16"}
    # pointwise
    simple("gelu_bias", lambda x, b: F.gelu(x + b, approximate="tanh"), of(*big), of(8192))
    simple("gelu_erf_bf16", lambda x: F.gelu(x), of(*big, **bf16))
    simple("swiglu_bf16", lambda x: F.silu(x[:, :4096]) * x[:, 4096:], of(*big, **bf16))
    simple("geglu_fp16", lambda x: F.gelu(x[..., ::2]) * x[..., 1::2], of(*big, dtype="float16"))
    simple("transposed_add", lambda x, y: x.t() + y, of(*big), of(*wide))
    simple("permuted_copy", lambda x: x.permute(0, 2, 1, 3).contiguous(), of(8, 1024, 32, 128))
    simple("cat", lambda x, y: torch.cat([x, y * 2, x + 1], 1), of(4096, 1000), of(4096, 3000))
    simple("roll", lambda x: x.roll((3, 5), (0, 1)) + 1, of(*big))
    simple("flip_pad", lambda x: F.pad(x.flip(1), (3, 5, 1, 2)), of(*big))
    simple("where_mask", lambda x, y: torch.where(x > y, x.exp(), y.tanh()), of(*big), of(*big))
    simple("float64_poly", lambda x: x * x * x - 2 * x + x.sqrt(), of(2048, 4096, dtype="float64"))
    simple("int_ops", lambda i: (i * 7919 % 65521) // 3 ^ (i >> 2), lambda: indices(1 << 30, *big))
    simple("bool_masks", lambda x, y: (x > 0) & (y < 1) | (x > y), of(*big), of(*big))
    simple("fp8_quantise", lambda x: (x * 0.5).clamp(-448, 448).to(torch.float8_e4m3fn), of(*big))
    simple("strided_rows", lambda x: x[::3, 1::2] * 2, of(*big))
    simple("trigonometry", lambda x: (100 * x).sin() + (x * 3).cos() * x.atan(), of(*big))
    simple("power_erf", lambda x: x.abs().pow(1.7) + x.erf() + x.lgamma(), of(*big))

    def rope(q: Any, cos: Any, sin: Any) -> Any:
        half = torch.cat([-q[..., 64:], q[..., :64]], -1)
        return q * cos + half * sin

    simple("rope_bf16", rope, of(4, 32, 2048, 128, **bf16), of(2048, 128, **bf16), of(2048, 128))
    # reductions
    simple("sum_rows", lambda x: x.sum(-1), of(*big))
    simple("sum_columns", lambda x: x.sum(0), of(*big))
    simple("sum_all", lambda x: (x * x).sum(), of(*big))
    simple("sum_middle", lambda x: x.sum(1), of(64, 512, 1024))
    simple("mean_variance", lambda x: torch.var_mean(x, -1), of(*big))
    simple("softmax_short", lambda x: x.softmax(-1), of(65536, 128))
    simple("softmax_long", lambda x: x.softmax(-1), of(256, 131072))
    simple("softmax_columns", lambda x: x.softmax(0), of(*big))
    simple("softmax_masked_bf16", lambda x, m: (x + m).float().softmax(-1).to(x.dtype),
           of(16, 16, 1024, 1024, **bf16), of(1024, 1024, **bf16))  # fmt: skip
    simple("log_sum_exp", lambda x: x.logsumexp(-1), of(4096, 32000, **bf16))
    simple("argmax", lambda x: x.argmax(-1), of(4096, 32000))
    simple("maximum_with_index", lambda x: x.max(1), of(64, 512, 1024))
    simple("any_all", lambda x: ((x > 3).any(-1), (x > -3).all(-1)), of(*big))
    simple("product", lambda x: (1 + 0.01 * x).prod(-1), of(*big))
    simple("norms", lambda x: x / x.norm(dim=-1, keepdim=True), of(*big))
    simple("layer_norm_bf16", lambda x, w, b: F.layer_norm(x, (4096,), w, b),
           of(8192, 4096, **bf16), of(4096, **bf16), of(4096, **bf16))  # fmt: skip
    simple("rms_norm_residual_bf16", lambda x, r, w: F.rms_norm(x + r, (4096,), w),
           of(8192, 4096, **bf16), of(8192, 4096, **bf16), of(4096, **bf16))  # fmt: skip
    simple("group_norm", lambda x, w: F.group_norm(x, 32, w), of(16, 256, 64, 64), of(256))
    simple("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), of(32, 128, 56, 56))
    simple("int8_rows", lambda x: (x / x.abs().amax(-1, keepdim=True) * 127).round().to(torch.int8),
           of(*big, **bf16))  # fmt: skip
    simple("int8_groups", lambda x: (x.view(4096, 64, 128) / x.view(4096, 64, 128).abs().amax(
        -1, keepdim=True) * 127).round().to(torch.int8), of(*big, **bf16))  # fmt: skip
    simple("distances", lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), of(1024, 64),
           of(1024, 64))  # fmt: skip
    simple("matrix_vector", lambda x, v: (x * v).sum(-1), of(*big, **bf16), of(8192, **bf16))
    # training
    simple("layer_norm_gradient", lambda x, w, b: F.layer_norm(x, (4096,), w, b),
           of(8192, 4096, grad=True, **bf16), of(4096, grad=True, **bf16),
           of(4096, grad=True, **bf16), backward=True)  # fmt: skip
    simple("rms_norm_gradient", lambda x, w: F.rms_norm(x, (4096,), w),
           of(8192, 4096, grad=True), of(4096, grad=True), backward=True)  # fmt: skip
    simple("softmax_gradient", lambda x: x.softmax(-1), of(4096, 4096, grad=True), backward=True)
    simple("gelu_gradient", lambda x, b: F.gelu(x + b), of(4096, 4096, grad=True),
           of(4096, grad=True), backward=True)  # fmt: skip

    @case("cross_entropy_training", backward=True)
    def cross_entropy() -> Any:
        labels = indices(32000, 2048)
        return lambda x: F.cross_entropy(x, labels), [tensor(2048, 32000, grad=True)]

    @case("dropout_training", backward=True, fallback_random=False)
    def dropout() -> Any:
        return lambda x: F.dropout(x, 0.0) * 2, [tensor(4096, 4096, grad=True)]

    @case("embedding_training", backward=True)
    def embedding() -> Any:
        i = indices(50000, 8192)
        return lambda w: F.embedding(i, w), [tensor(50000, 512, grad=True)]

    # scans, sorts, gathers, scatters
    simple("cumsum", lambda x: x.cumsum(-1), of(*big))
    simple("cumsum_columns", lambda x: x.cumsum(0), of(1024, 8192))
    simple("cumprod", lambda x: (1 + 0.01 * x).cumprod(-1), of(*big))
    simple("log_cumsum_exp", lambda x: x.logcumsumexp(-1), of(*big))
    simple("cummax", lambda x: x.cummax(-1), of(4096, 2048))
    simple("sort", lambda x: x.sort(-1), of(16384, 256))
    simple("gather_rows", lambda x, i: x[i] * 2, of(50000, 512), lambda: indices(50000, 32768))
    simple("gather_elements", lambda x, i: x.gather(1, i), of(4096, 4096),
           lambda: indices(4096, 4096, 4096))  # fmt: skip
    simple("scatter_add", lambda x, i: torch.zeros_like(x).scatter_add(1, i, x), of(4096, 4096),
           lambda: indices(4096, 4096, 4096))  # fmt: skip
    simple("index_add", lambda x, i: torch.zeros_like(x).index_add(0, i, x), of(32768, 512),
           lambda: indices(32768, 32768))  # fmt: skip
    simple("one_hot", lambda i: F.one_hot(i, 1000).float(), lambda: indices(1000, 16384))
    simple("embedding_sum", lambda w, i: F.embedding(i, w).sum(1), of(50000, 256),
           lambda: indices(50000, 8192, 32))  # fmt: skip
    simple("bucketize", lambda x, b: torch.bucketize(x, b.sort()[0]), of(*big), of(1000))
    simple("triangles", lambda x: x.tril() + x.t().triu(1), of(8192, 8192))
    # images
    image = of(32, 64, 112, 112)
    simple("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), image)
    simple("average_pool", lambda x: F.avg_pool2d(x, 3, 2, 1), image)
    simple("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, 7), image)
    simple("upsample", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), image)
    simple("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2), image)
    simple("channels_last", lambda x: x.to(memory_format=torch.channels_last) * 2, image)
    simple("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2) + 1, image)
    simple("reflection_pad", lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), image)

    # dots: templates of Inductor
    half = {"dtype": "float16"}
    simple("mm_bf16", lambda x, y: x @ y, of(4096, 4096, **bf16), of(4096, 4096, **bf16),
           **templates)  # fmt: skip
    simple("mm_fp16_relu", lambda x, y, b: (x @ y + b).relu(), of(4096, 2048, **half),
           of(2048, 4096, **half), of(4096, **half), **templates)  # fmt: skip
    simple("mm_transposed", lambda x, y: x @ y.t(), of(2048, 4096, **bf16), of(8192, 4096, **bf16),
           **templates)  # fmt: skip
    simple("mm_fp32", lambda x, y: x @ y, of(2048, 2048), of(2048, 2048), **templates)
    simple("mm_skinny", lambda x, y: x @ y, of(16, 4096, **bf16), of(4096, 14336, **bf16),
           **templates)  # fmt: skip
    simple("bmm_bf16", lambda x, y: x @ y, of(64, 1024, 128, **bf16), of(64, 128, 1024, **bf16),
           **templates)  # fmt: skip
    simple("mm_int8_weights", lambda x, y: x @ y.to(x.dtype), of(1024, 4096, **bf16),
           lambda: indices(100, 4096, 4096).to(torch.int8), **templates)  # fmt: skip
    simple("convolution", lambda x, w: F.conv2d(x, w, padding=1), of(16, 128, 56, 56, **half),
           of(128, 128, 3, 3, **half), max_autotune=True,
           max_autotune_conv_backends="TRITON")  # fmt: skip

    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def attention(name: str, mask: Any = None, score: Any = None, length: int = 4096,
                  heads: int = 16, groups: int = 1, backward: bool = False) -> None:  # fmt: skip
        @case(name, backward=backward)
        def make() -> Any:
            q = tensor(2, heads, length, 128, dtype="bfloat16", grad=backward)
            k, v = (tensor(2, heads // groups, length, 128, dtype="bfloat16", grad=backward)
                    for _ in range(2))  # fmt: skip
            blocks = mask and create_block_mask(mask, None, None, length, length, device="cuda")
            return lambda q, k, v: flex_attention(
                q, k, v, score_mod=score, block_mask=blocks, enable_gqa=groups > 1
            ), [q, k, v]

    attention("flex_full")
    attention("flex_causal", lambda b, h, q, k: q >= k)
    attention("flex_window", lambda b, h, q, k: (q >= k) & (q - k < 512))
    attention("flex_alibi", score=lambda s, b, h, q, k: s + (k - q) * (0.5 ** (h + 1)))
    attention("flex_softcap_gqa", score=lambda s, b, h, q, k: 20 * torch.tanh(s / 20), groups=4)
    attention("flex_causal_gradient", lambda b, h, q, k: q >= k, backward=True)

    @case("attention_by_parts")
    def parts() -> Any:
        def function(q: Any, k: Any, v: Any) -> Any:
            scores = (q[:, :, :, None, :] * k[:, :, None, :, :]).sum(-1) * 0.125
            return (scores.softmax(-1)[..., None] * v[:, :, None, :, :]).sum(3)

        return function, [tensor(4, 16, 128, 64) for _ in range(3)]

    @case("adamw")
    def adamw() -> Any:
        def function(p: Any, g: Any, m: Any, v: Any) -> Any:
            m = torch.lerp(m, g, 0.1)
            v = v * 0.999 + g * g * 0.001
            return p * 0.9999 - 1e-3 * m / (v.sqrt() + 1e-8), m, v

        return function, [tensor(4096, 4096) for _ in range(3)] + [tensor(4096, 4096).detach() ** 2]
