"""DC attention: heads are mixed before and after softmax, in one kernel or in three."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Lisennlp/dc_triton_opt", "5326e67e1c9e66d39be7ad66fbf97a92bd2ffba0", folders=("",))  # fmt: skip
FP16 = torch.float16
HALF = dict(rtol=2e-2, atol=2e-2)
SMALL = dict(b=2, t=70, n=8, d=32, g=2, window=40)


def _inputs(b, t, n, d, device):
    q, k, v = (tm.normal(b, t, n, d, device=device, dtype=FP16) for _ in range(3))
    return q, k, v, [tm.normal(b, t, n, device=device, dtype=FP16, scale=0.3) for _ in range(6)]


def _scores(q, k, window):
    """Scores of every head, and what is seen. Shapes: q, k (B, T, N, D); gives (B, N, T, T)."""
    s = torch.einsum("btnd,bsnd->bnts", q.double(), k.double()) * q.shape[-1] ** -0.5
    apart = torch.arange(s.shape[-1], device=s.device)
    apart = apart[:, None] - apart
    return s, (apart >= 0) & (apart < window)


def _of_heads(w):
    return w.double().transpose(1, 2)[..., None]  # B, N, T, 1


def _exact(q, k, v, weights, groups, window):
    pre1, pre2, pre, post1, post2, post = (_of_heads(w) for w in weights)
    s, seen = _scores(q, k, window)

    def of_groups(x):
        return x.unflatten(1, (groups, -1)).sum(2).repeat_interleave(s.shape[1] // groups, 1)

    score = (pre + 1) * s + pre2 * of_groups(pre1 * s)
    p = score.masked_fill(~seen, -torch.inf).softmax(-1)
    values = v.double().transpose(1, 2)
    out = (post + 1) * (p @ values) + post2 * (of_groups(post1 * p) @ values)
    return out.transpose(1, 2)


# Where results of heads are added to later ones, they are stored and loaded again.
for _version, _heads in (("v0", 4), ("v5", 4), ("v5", 8)):
    _large = dict(b=2, t=4096, n=8 * _heads, d=128, g=8, window=112)

    @repository.case(f"triton_dc_onekernel_{_version}.py", "_dc_onekernel" if _version == "v0" else "_load_qk, _consume_qk, _dc_onekernel_cache4", small=dict(SMALL, n=2 * _heads, window=48), production=_large, name=f"one_kernel_{_version}_of_{_heads}_heads", **HALF)  # fmt: skip
    def one_kernel(file, device, b, t, n, d, g, window, version=_version):
        q, k, v, weights = _inputs(b, t, n, d, device)

        def run():
            return file.TritonDCOneKernel.forward(q, k, v, weights, d**-0.5, window, G=g)

        return run, lambda: _exact(q, k, v, weights, g, window)


@repository.case("triton_attn_head_serial.py", "_attn_head_serial_kernel", small=SMALL, production=dict(b=2, t=4096, n=32, d=128, g=8, window=112), **HALF)  # fmt: skip
def windows(file, device, b, t, n, d, g, window):
    q, k, v, _ = _inputs(b, t, n, d, device)

    def want():
        s, seen = _scores(q, k, window)
        p = s.masked_fill(~seen, -torch.inf).softmax(-1)
        return (p @ v.double().transpose(1, 2)).transpose(1, 2)

    return lambda: file.AttnHeadSerial.forward(q, k, v, d**-0.5, window, G=g), want


for _name, _kernels in (("atomics", "_qk_agg_atomic_kernel, _agg_finalise_kernel, _softmax_postagg_atomic_kernel"), ("loops", "_qk_agg_seq_kernel, _softmax_postagg_seq_kernel")):  # fmt: skip

    @repository.case("triton_atg_dc.py", _kernels + ", _pv_post_kernel", small=dict(b=2, t=70, n=4, d=32, window=40), production=dict(b=8, t=1024, n=32, d=128, window=256) if _name == "atomics" else dict(b=4, t=4096, n=16, d=128, window=256), name=f"three_kernels_by_{_name}", rtol=3e-2, atol=3e-2)  # fmt: skip
    def three_kernels(file, device, b, t, n, d, window, atomics=_name == "atomics"):
        file.T_THRESH = 1 << 20 if atomics else 0
        q, k, v, weights = _inputs(b, t, n, d, device)
        pre1, pre2, post1, post2 = weights[:4]

        def run():
            out = torch.empty_like(q)
            file.TritonDCRank1D0Atg.forward(q, k, v, pre1, pre2, post1, post2, d**-0.5, window, out=out)  # fmt: skip
            return out

        def want():
            a, b, c, e = (_of_heads(w) for w in (pre1, pre2, post1, post2))
            s, seen = _scores(q, k, window)
            mixed = b * (a * s).sum(1, keepdim=True)
            p = mixed.masked_fill(~seen, -torch.inf).softmax(-1)
            both = (c * p).sum(1, keepdim=True)
            return (e * (both @ v.double().transpose(1, 2))).transpose(1, 2)

        return run, want
