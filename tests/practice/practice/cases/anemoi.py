"""anemoi: attention over the edges of a graph, whose nodes have several heads, with its gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ecmwf/anemoi-core", "2cb9b6e18366ee0bbebc96b9bddd39b81298cf98")
FILE = "models/src/anemoi/models/triton/gt.py"
SIZES = dict(small=dict(n=40, degree=3), production=dict(n=1 << 15, degree=8))


def _graph(device, n, degree):
    """Edges by target: their sources, and where each node's begin; and the same by source."""
    counts = torch.randint(0, 2 * degree, (n,))
    counts[0] = 0
    edges = int(counts.sum())
    row, target = torch.randint(0, n, (edges,)), torch.arange(n).repeat_interleave(counts)
    order = row.argsort(stable=True)
    by_source = tm.starts(row.bincount(minlength=n).tolist(), device)
    tensors = (x.to(torch.int32).to(device) for x in (row, target, order))
    row, target, order = tensors
    return row, target, order, tm.starts(counts.tolist(), device), by_source


def _attention(q, k, v, e, row, target):
    n, heads, width = q.shape
    s = (q[target] * (k[row] + e)).sum(-1) * width**-0.5
    most = s.new_full((n, heads), -1e30).scatter_reduce(0, target[:, None].expand_as(s), s, "amax")
    p = (s - most[target]).exp()
    sums = s.new_zeros(n, heads).index_add(0, target, p)
    out = torch.zeros_like(q).index_add(0, target, p[..., None] * (v[row] + e))
    return out / sums.clamp_min(1e-30)[..., None], most + sums.clamp_min(1e-30).log()


def _case(heads, width, kind):
    def build(file, device, n, degree):
        dtype = torch.bfloat16
        row, target, order, starts, by_source = _graph(device, n, degree)
        q, k, v, d_out = (tm.normal(n, heads, width, device=device, dtype=dtype) for _ in range(4))
        e = tm.normal(len(row), heads, width, device=device, dtype=dtype)

        def right(*tensors):
            return _attention(*tensors, row.long(), target.long())

        if kind == "forward":
            out, m = torch.empty_like(q, dtype=torch.float32), q.new_empty(n, heads).float()

            def run():
                file._gt_fwd[(n,)](q, k, v, e, m, row, starts, out, n, heads, width, file.tl.float32)  # fmt: skip
                return out

            return run, lambda: right(*(x.double() for x in (q, k, v, e)))[0]
        saved, m = right(*(x.float() for x in (q, k, v, e)))
        d_q, d_k, d_v, d_e = (torch.empty_like(x) for x in (q, k, v, e))
        dots = (d_out.float() * saved).sum(-1)
        given = torch.empty_like(dots)

        def targets():
            file._gt_bwd_dst_pass[(n,)](
                q, k, v, e, saved, m, row, starts, d_out, d_q, given, n, heads, width, file.tl.bfloat16
            )  # fmt: skip
            return d_q, given

        def sources():
            file._gt_bwd_src_pass[(n,)](
                q, k, v, e, by_source, order, target, dots, m, d_out, d_k, d_v, d_e,
                n, heads, width, file.tl.bfloat16,
            )  # fmt: skip
            return d_k, d_v, d_e

        def gradients():
            return tm.with_gradients(lambda *x: right(*x)[0], d_out.double(), q, k, v, e, exact=True)[1:]  # fmt: skip

        if kind == "targets":
            return targets, lambda: (gradients()[0], dots)
        return sources, lambda: gradients()[1:]

    kernels = dict(forward="_gt_fwd", targets="_gt_bwd_dst_pass", sources="_gt_bwd_src_pass")
    repository.case(FILE, kernels[kind], rtol=2e-2, atol=3e-2, name=f"{kind}_{heads}x{width}", **SIZES)(build)  # fmt: skip


_case(16, 64, "forward")
_case(8, 48, "forward")
_case(16, 64, "targets")
_case(16, 64, "sources")
