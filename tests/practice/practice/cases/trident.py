"""Trident: the layers of torch.nn, forward and backward."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton

from practice import torch_math as tm
from practice.case import Repository

_autotune = triton.autotune


def _autotune_of_triton_2(configs, key, prune, reset, warmup, rep):
    """Trident gives these six by their places, where Triton 3 has other parameters."""
    return _autotune(
        configs, key, prune_configs_by=prune, reset_to_zero=reset, warmup=warmup, rep=rep
    )


triton.autotune = _autotune_of_triton_2

repository = Repository(
    "kakaobrain/trident",
    "6c429c6b1a2d33711d964a9d643c2b4b1610afdf",
    packages={"trident": "."},
    inits=(
        "trident",
        "trident.function",
        "trident.kernel",
        "trident.language",
        "trident.language.math",
        "trident.operation",
        "trident.util",
    ),
    stand_ins={"nvtx": {}},
)
SMALL, LARGE = dict(rows=9, n=300), dict(rows=4096, n=4096)
TRITON_2 = "tl.math.max is of Triton 2"
SEED = "its seed of 64 bits does not fit the parameter, which is int32"


def nowhere(why):
    return dict.fromkeys(("cpu", "interpreter", "check", "gpu-compile", "gpu"), why)


def layer(kernel, function, right, *shapes, small=SMALL, production=LARGE, **options):
    """A case that compares a layer and its gradients. ``shapes(rows, n)`` are those of its inputs,
    the last one that of its result."""

    def build(file, device, **size):
        *inputs, out = (tm.normal(*shape(**size), device=device) for shape in shapes)
        ours = getattr(file, function.split(":")[0])
        return (
            lambda: tm.with_gradients(lambda *xs: options["call"](ours, *xs), out, *inputs),
            lambda: tm.with_gradients(right, out, *inputs, exact=True),
        )

    options.setdefault("call", lambda ours, *xs: ours(*xs))
    name = function.replace(":", "_")
    repository.case(
        "trident/function/function.py", kernel, small=small, production=production,
        rtol=options.get("rtol", 1e-4), atol=options.get("atol", 1e-4), name=name,
        not_in=options.get("not_in"), finds=options.get("finds", ""),
    )(build)  # fmt: skip


def matrix(rows, n):
    return rows, n


def vector(rows, n):
    return (n,)


def column(rows, n):
    return (rows,)


layer("GELU", "gelu", lambda x: F.gelu(x, approximate="tanh"), matrix, matrix)
layer("SiLU", "silu", F.silu, matrix, matrix)
layer("ReLU", "relu", F.relu, matrix, matrix)
layer("LeakyReLU", "leaky_relu", F.leaky_relu, matrix, matrix)
layer("ShiftGELU", "shift_gelu", lambda x, b: F.gelu(x + b, approximate="tanh"), matrix, vector, matrix)  # fmt: skip
layer("Softmax", "softmax", lambda x: x.softmax(1), matrix, matrix, call=lambda f, x: f(x, 1), not_in=nowhere(TRITON_2))  # fmt: skip
layer("Softmax", "softmax:columns", lambda x: x.softmax(0), matrix, matrix, call=lambda f, x: f(x, 0), not_in=nowhere(TRITON_2))  # fmt: skip
layer("Sum", "sum", lambda x: x.sum(1), matrix, column, call=lambda f, x: f(x, 1))
layer("Mean", "mean", lambda x: x.mean(0), matrix, vector, call=lambda f, x: f(x, 0))
layer("Max", "max", lambda x: x.max(1)[0], matrix, column, call=lambda f, x: f(x, 1)[0])
layer("Var", "var", lambda x: x.var(1), matrix, column, call=lambda f, x: f(x, 1))
layer("VarMean", "var_mean", lambda x: torch.var_mean(x, 1)[0], matrix, column, call=lambda f, x: f(x, 1)[0])  # fmt: skip
# Its gradient sums the padding of rows that are no power of 2 too.
layer("LayerNorm", "layer_norm", lambda x, w, b: tm.layer_norm(x, w, b, 1e-5), matrix, vector, vector, matrix, call=lambda f, x, w, b: f(x, [x.shape[-1]], w, b), small=dict(rows=9, n=256))  # fmt: skip
layer("RMSNorm", "rms_norm", lambda x, w: tm.rms_norm(x, w, 0.0), matrix, vector, matrix, call=lambda f, x, w: f(x, 1.0, w))  # fmt: skip
CUBE = dict(small=dict(b=2, y=16, x=10), production=dict(b=16, y=512, x=1024))


def cube(b, y, x):
    return b, y, x


def middle(b, y, x):
    return (y,)


layer("GroupNorm", "group_norm", lambda x, w, b: F.group_norm(x, 4, w, b), cube, middle, middle, cube, call=lambda f, x, w, b: f(x, 4, w, b), **CUBE)  # fmt: skip
layer("InstanceNorm", "instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), cube, middle, middle, cube, call=lambda f, x, w, b: f(x, weight=w, bias=b), not_in=nowhere("without running means it makes a block pointer of None"), **CUBE)  # fmt: skip
layer("BatchNorm", "batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), cube, middle, middle, cube, call=lambda f, x, w, b: f(x, weight=w, bias=b, training=True), **CUBE)  # fmt: skip
layer("CosineSimilarity", "cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), cube, cube, lambda b, y, x: (b, x), call=lambda f, x, y: f(x, y, 1), not_in=nowhere(TRITON_2), **CUBE)  # fmt: skip
# It loads its weights without a bound, 64 of 16.
layer("PReLU", "prelu", F.prelu, cube, middle, cube, finds="oob-load", **CUBE)
MATMUL = dict(small=dict(b=2, m=16, n=32, k=128), production=dict(b=4, m=2048, n=4096, k=1024))
layer("Linear", "linear", F.linear, lambda b, m, n, k: (b, m, k), lambda b, m, n, k: (n, k), lambda b, m, n, k: (n,), lambda b, m, n, k: (b, m, n), rtol=1e-2, atol=1e-2, **MATMUL)  # fmt: skip


def geglu(x, w, b):
    state, gate = F.linear(x, w, b).chunk(2, -1)
    return state * F.gelu(gate, approximate="tanh")


# It looks at half of its columns to see whether its bias needs a bound.
layer("GEGLU", "geglu", geglu, lambda b, m, n, k: (b, m, k), lambda b, m, n, k: (n, k), lambda b, m, n, k: (n,), lambda b, m, n, k: (b, m, n // 2), rtol=1e-2, atol=2e-2, finds="oob-load,race-warp-order", **MATMUL)  # fmt: skip
HEADS = dict(small=dict(b=1, h=2, n=128, d=32), production=dict(b=4, h=16, n=2048, d=64))


def heads(b, h, n, d):
    return b, h, n, d


for causal in (False, True):
    layer("Attention", "scaled_dot_product_attention" + ":causal" * causal, lambda q, k, v, causal=causal: tm.attention(q, k, v, causal=causal)[0], heads, heads, heads, heads, call=lambda f, q, k, v, causal=causal: f(q, k, v, is_causal=causal), rtol=1e-3, atol=1e-3, not_in=nowhere(SEED), **HEADS)  # fmt: skip


@repository.case("trident/function/function.py", "MaskedSoftmax", small=SMALL, production=LARGE)
def masked_softmax(file, device, rows, n):
    x, out = tm.normal(rows, n, device=device), tm.normal(rows, n, device=device)
    mask = tm.integers(0, 2, rows, n, device=device)
    mask[0, :] = mask[:, 0] = 0
    return (
        lambda: tm.with_gradients(lambda x: file.masked_softmax(x, mask, 1), out, x),
        lambda: tm.with_gradients(
            lambda x: x.masked_fill(mask.bool(), float("-inf")).softmax(1), out, x, exact=True
        ),
    )


@repository.case("trident/function/function.py", "Argmax", small=SMALL, production=LARGE)
def argmax(file, device, rows, n):
    x = tm.normal(rows, n, device=device)
    return lambda: file.argmax(x, 1), lambda: x.argmax(1)


@repository.case("trident/function/function.py", "Dropout", small=SMALL, production=LARGE, not_in=nowhere(SEED))  # fmt: skip
def dropout(file, device, rows, n):
    x = tm.normal(rows, n, device=device)
    kept = {}

    def run():
        y, grad = tm.with_gradients(lambda x: file.dropout(x, 0.3), torch.ones_like(x), x)
        kept["y"] = y != 0
        return y, grad, kept["y"].double().mean().sub(0.7).abs() < 0.05

    def want():
        scale = kept["y"].double() / 0.7
        return x * scale, scale, torch.tensor(True)

    return run, want
