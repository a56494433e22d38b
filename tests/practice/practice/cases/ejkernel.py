"""ejkernel: attention over paged caches, written for JAX; launched here with torch's tensors."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository


def _launch(*inputs, kernel, out_shape, grid, name, **more):
    """JAX's call of a kernel: results follow the inputs."""
    del name
    single = isinstance(out_shape, SimpleNamespace)
    shapes = [out_shape] if single else out_shape
    outputs = [torch.empty(x.shape, dtype=x.dtype, device=inputs[0].device) for x in shapes]
    given = {key: value for key, value in more.items() if value is not None}
    kernel[grid](*inputs, *outputs, **given)
    return outputs[0] if single else outputs


def _strides(shape):
    return torch.empty(shape, device="meta").stride()


_NUMPY = dict(float32=torch.float32, float16=torch.float16, bfloat16=torch.bfloat16, int32=torch.int32)  # fmt: skip
repository = Repository(
    "erfanzar/ejkernel", "2107406ec1b90a7fa06b3af40799c8f9c7f02aff",
    packages={"ejkernel": "."},
    stand_ins={
        "jax": {
            "ShapeDtypeStruct": lambda shape, dtype: SimpleNamespace(shape=shape, dtype=dtype),
            "Array": torch.Tensor, "numpy": SimpleNamespace(**_NUMPY),
        },
        "jax.numpy": _NUMPY, "jaxtyping": {}, "beartype": {}, "beartype.typing": {},
        "ejkernel.callib": {
            "triton_call": _launch, "cdiv": lambda a, b: -(-a // b),
            "strides_from_shape": _strides,
        },
        "ejkernel.kernels._registry": {}, "ejkernel.ops": {},
    },
)  # fmt: skip
FOLDER = "ejkernel/kernels/_triton/"
NEAR = dict(rtol=2e-2, atol=1e-2)


def _tables(device, b, n, page):
    lengths = torch.tensor(tm.lengths(b, n), dtype=torch.int32, device=device)
    count = -(-n // page)
    return lengths, torch.randperm(b * count).view(b, count).to(torch.int32).to(device)


def _paged(name, kernels, **sizes):
    def build(file, device, b, n, h, hk, d, splits, page=16):
        lengths, tables = _tables(device, b, n, page)
        q = tm.normal(b, h, d, device=device, dtype=torch.float16)
        k, v = (tm.normal(tables.numel(), hk, page, d, device=device, dtype=torch.float16) for _ in range(2))  # fmt: skip

        def want():
            out = []
            for i, length in enumerate(lengths.tolist()):
                mine = (x[tables[i].long()].movedim(1, 0).flatten(1, 2)[:, :length] for x in (k, v))
                out.append(tm.attention(q[i, :, None], *mine)[0][:, 0])
            return torch.stack(out)

        return lambda: file.page_attention(q, k, v, lengths, tables, num_splits=splits), want

    repository.case(FOLDER + "page_attention/_interface.py", kernels, **sizes, **NEAR, name=name)(build)  # fmt: skip


# Without parts, it takes the stride between elements for that between heads of a group.
_paged("paged", "_paged_attn_kernel", small=dict(b=3, n=90, h=4, hk=4, d=32, splits=1), production=dict(b=128, n=2048, h=32, hk=32, d=128, splits=1))  # fmt: skip
_paged("paged_in_parts", "_paged_attn_kernel, _paged_attn_v2_reduce_kernel", small=dict(b=2, n=120, h=4, hk=1, d=32, splits=4), production=dict(b=8, n=16384, h=32, hk=8, d=128, splits=16))  # fmt: skip


@repository.case(FOLDER + "ragged_page_attention/_triton_impl_fwd.py", "_ragged_paged_attn_fwd", small=dict(b=2, m=40, n=70, h=4, hk=2, d=32, page=16), production=dict(b=2, m=1024, n=1024, h=32, hk=8, d=128, page=128), **NEAR)  # fmt: skip
def ragged(file, device, b, m, n, h, hk, d, page):
    """Keys and values of a head lie next to each other; each query finds its sequence itself. The
    kernel has a copy of its body for each page of each sequence."""
    lengths, tables = _tables(device, b, n, page)
    counts = [min(x, int(y)) for x, y in zip(tm.lengths(b, m), lengths, strict=True)]
    starts = tm.starts(counts, device)
    q = tm.normal(sum(counts), h, d, device=device, dtype=torch.bfloat16)
    pages = tm.normal(tables.numel(), page, 2 * hk, d, device=device, dtype=torch.bfloat16)

    def want():
        out = []
        for i, length in enumerate(lengths.tolist()):
            mine = pages[tables[i].long()].flatten(0, 1)[:length].movedim(1, 0)
            part = q[starts[i] : starts[i + 1]].movedim(1, 0)
            out.append(tm.attention(part, mine[::2], mine[1::2], causal=True)[0].movedim(0, 1))
        return torch.cat(out)

    return (
        lambda: file.ragged_paged_attention_triton_call(q, pages, lengths, tables, starts),
        want,
    )
