"""Learn CUDA: whole layers in one launch, whose programs wait for each other."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "gau-nernst/learn-cuda",
    "1454f8b71499a68eacdbf44c08e36a7003d8ab99",
    folders=("12_megakernel",),
)
FOLDER = "12_megakernel/"
BF16 = torch.bfloat16

# The programs release after their stores, with no barrier between the two but in one place. The
# last one sets the counters to 0 after an atomic that releases only, so that the others' atomics
# are not ordered before its stores.
FOUND = "race-warp-order,race-write-write"


def _feed_forward(function, device, m, d, inner):
    x = tm.normal(m, d, device=device, dtype=BF16)
    norm = (torch.rand(d) + 0.5).to(BF16).to(device)
    first = tm.normal(2 * inner, d, device=device, dtype=BF16, scale=d**-0.5)
    second = tm.normal(d, inner, device=device, dtype=BF16, scale=inner**-0.5)

    def want():
        gate, up = (tm.rms_norm(x, norm, 1e-6) @ first.double().T).chunk(2, -1)
        return x.double() + (F.silu(gate) * up) @ second.double().T

    return lambda: function(x.clone(), norm, first, second), want


@repository.case(FOLDER + "mlp_triton_v1.py", "mlp_triton_v1_kernel", finds=FOUND, rtol=2e-2, atol=3e-2, small=dict(m=20, d=128, inner=192), production=dict(m=512, d=4096, inner=14336))  # fmt: skip
def feed_forward(file, device, **size):
    return _feed_forward(file.mlp_triton_v1, device, **size)


@repository.case(FOLDER + "mlp_gemv_triton_v1.py", "mlp_gemv_triton_v1_kernel", finds=FOUND, rtol=2e-2, atol=3e-2, small=dict(m=1, d=512, inner=1024), production=dict(m=1, d=4096, inner=14336))  # fmt: skip
def feed_forward_of_one(file, device, **size):
    return _feed_forward(file.mlp_gemv_triton_v1, device, **size)


@repository.case(FOLDER + "attn_triton_v2.py", "attn_triton_v2_kernel", finds=FOUND, rtol=2e-2, atol=3e-2, small=dict(d=512, heads=4, groups=2, most=300, position=200), production=dict(d=4096, heads=32, groups=8, most=32768, position=30000))  # fmt: skip
def attention_of_one(file, device, d, heads, groups, most, position):
    """The layer stores the token's key and value, too."""
    x = tm.normal(1, d, device=device, dtype=BF16)
    norm, q_norm, k_norm = ((torch.rand(s) + 0.5).to(BF16).to(device) for s in (d, 128, 128))
    cache = tm.normal(2, most, groups, 128, device=device, dtype=BF16)
    cache[0] *= 3  # few keys count
    first = tm.normal((heads + 2 * groups) * 128, d, device=device, dtype=BF16, scale=d**-0.5)
    second = tm.normal(d, heads * 128, device=device, dtype=BF16, scale=(heads * 128) ** -0.5)
    angles = torch.rand(64).repeat(2) * 6
    rope = torch.cat([angles.cos(), angles.sin()])[None].to(BF16).to(device)

    def run():
        after = cache.clone()
        out = file.attn_triton_v2(
            x.clone(), norm, after, first, q_norm, k_norm, rope, second, position
        )
        return out, after

    def want():
        rows = (first.double() @ tm.rms_norm(x, norm, 1e-6)[0]).unflatten(0, (-1, 128))
        q, k, v = rows.split([heads, groups, groups])
        cos, sin = rope[0, :64], rope[0, 128:192]
        q, k = (
            tm.rotated(tm.rms_norm(a, w, 1e-6), cos, sin) for a, w in ((q, q_norm), (k, k_norm))
        )
        after = cache.double()
        after[:, position] = torch.stack([k, v])
        keys, values = after[:, : position + 1].transpose(1, 2)
        out = tm.attention(q[:, None], keys, values)[0].flatten()
        return x.double() + second.double() @ out, after

    return run, want
