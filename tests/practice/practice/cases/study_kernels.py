"""triton-kernels (harsh-vsingh): reductions, norms, softmax and attention, each in several ways."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("harsh-vsingh/triton-kernels", "f1cfe14931b2bf0bd01a7c2bcb1da35f45a4ccc3", packages={"utils": "."}, inits=("utils",))  # fmt: skip
HALF = dict(rtol=2e-2, atol=2e-2)
FINE = dict(rtol=1e-4, atol=1e-3)
# Rows short, of middle length, and so long that several programs share one.
SHAPES = dict(small=dict(shapes=[(5, 300), (3, 2000), (2, 9000)]), production=dict(shapes=[(8192, 1024), (4096, 4096), (4, 1 << 20)]))  # fmt: skip


def _rows(file, function, kernels, exact, weights=0, residual=False):
    def build(module, device, shapes):
        inputs = []
        for m, n in shapes:
            x = [tm.normal(m, n, device=device) for _ in range(1 + residual)]
            inputs.append(x + [tm.normal(n, device=device) for _ in range(weights)])
        return (
            lambda: [getattr(module, function)(*x) for x in inputs],
            lambda: [exact(*(t.double() for t in x)) for x in inputs],
        )

    repository.case(f"kernels/{file}.py", kernels, name=function, **SHAPES, **FINE)(build)


def _three(stem):
    return ", ".join(f"_{stem}_kernel_{size}" for size in ("small", "medium", "large"))


for _name in ("sum", "max", "min"):
    _rows("reductions", _name, _three(_name), lambda x, name=_name: getattr(x, f"a{name}" if name != "sum" else name)(-1))  # fmt: skip
for _name in ("argmax", "argmin"):
    _rows("reductions", _name, _three(_name), lambda x, name=_name: getattr(x, name)(-1))
_rows("softmax", "softmax", _three("softmax"), lambda x: x.softmax(-1))
_rows("softmax", "log_softmax", _three("log_softmax"), lambda x: x.log_softmax(-1))
_rows("normalization", "layernorm", _three("layernorm"), lambda x, w, b: tm.layer_norm(x, w, b, 1e-5), 2)  # fmt: skip
_rows("normalization", "rms_norm", _three("rms_norm"), lambda x, w: tm.rms_norm(x, w, 1e-5), 1)
_rows("normalization", "residual_layernorm", _three("residual_layernorm"), lambda x, r, w, b: tm.layer_norm(x + r, w, b, 1e-5), 2, True)  # fmt: skip


@repository.case("kernels/pointwise.py", "_add_and_relu_kernel, _bias_and_gelu_kernel, _swiglu_kernel, _bias_silu_mult_kernel", small=dict(m=5, n=300), production=dict(m=8192, n=4096), **FINE)  # fmt: skip
def pointwise(file, device, m, n):
    x, y = (tm.normal(m, n, device=device) for _ in range(2))
    b = tm.normal(n, device=device)

    def want():
        u, v, c = x.double(), y.double(), b.double()
        return [F.relu(u + v), F.gelu(u + c), F.silu(u) * v, F.silu(u + c) * v]

    return lambda: [file.add_and_relu(x, y), file.bias_and_gelu(x, b), file.swiglu(x, y), file.bias_silu_mult(x, b, y)], want  # fmt: skip


@repository.case("kernels/gemm.py", "_gemm_kernel", small=dict(m=100, n=70, k=96), production=dict(m=4096, n=4096, k=4096), **HALF)  # fmt: skip
def gemm(file, device, m, n, k):
    a, b = (tm.normal(*s, device=device, dtype=torch.float16) for s in ((m, k), (k, n)))
    return lambda: file.gemm(a, b), lambda: a.double() @ b.double()


def _attention(function, name, queries, heads=2):
    def build(module, device, b, h, n, d):
        q = tm.normal(b, h, queries or n, d, device=device, dtype=torch.float16)
        one = function == "decode_attention"  # its queries have no axis of their own
        k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(2))
        return (
            lambda: getattr(module, function)(q[:, :, 0].contiguous() if one else q, k, v),
            lambda: tm.attention(q, k, v)[0][:, :, 0] if one else tm.attention(q, k, v)[0],
        )

    repository.case(f"kernels/{name}.py", f"_{function}_kernel", small=dict(b=1, h=heads, n=150, d=64), production=dict(b=4, h=16, n=4096, d=128), name=function, **HALF)(build)  # fmt: skip


_attention("flash_attention_v1", "attention", 0)
_attention("flash_attention_v2", "attention", 0, 33)  # so the splits of 132 are a power of 2
_attention("decode_attention", "decode", 1)
_attention("speculative_decode_attention", "speculative_decode", 5)
