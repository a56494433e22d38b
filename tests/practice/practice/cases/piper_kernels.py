"""piper kernels: rotations by gathers and int8 products, attention of int8 and fp8, or of int8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Boffee/piper-kernels", "9736eca202a3567c1ba5dd8070a614361ac06ad5", packages={"piper_kernels": "src"})  # fmt: skip
FOLDER = "src/piper_kernels/"
ROTATED = FOLDER + "convrot/int8/triton.py"
FP16, BF16 = torch.float16, torch.bfloat16
H4 = torch.tensor([[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]).double()


def _rotated(x, size):
    h = H4
    while len(h) < size:
        h = torch.kron(h, H4)
    h = h.to(x.device) / size**0.5
    return (x.double().unflatten(-1, (-1, size)) @ h).flatten(-2)


@repository.case(ROTATED, "_hadamard_stage, _rotate_groups_kernel, _normalize_for_int8, _quantize_rows_kernel, _int8_matmul_kernel", small=dict(m=20, n=100, k=256, size=64), production=dict(m=4096, n=4096, k=4096, size=256), rtol=3e-2, atol=0.1)  # fmt: skip
def rotated_int8_linear(file, device, m, n, k, size):
    x = tm.normal(m, k, device=device, dtype=BF16)
    w = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    s, b = (torch.rand(n) / 2000).to(device), tm.normal(n, device=device, dtype=BF16)

    def want():
        return _rotated(x, size) @ (w.double() * s.double()[:, None]).T + b.double()

    return lambda: file.triton_convrot_int8_linear(x, w, s, b, size), want


@repository.case(ROTATED, "_hadamard_stage, _rotate_groups_kernel, _requantize_addmm_rows_kernel", small=dict(m=20, k=256, r=16, size=16), production=dict(m=8192, k=8192, r=16, size=256), rtol=2e-2, atol=0.4)  # fmt: skip
def rotated_int8_update(file, device, m, k, r, size):
    w = tm.integers(-127, 128, m, k, device=device, dtype=torch.int8)
    s = (torch.rand(m) / 10 + 0.05).to(device)
    a, b = (tm.normal(*shape, device=device, dtype=FP16) for shape in ((m, r), (r, k)))

    def run():
        q, scale = w.clone(), s.clone()
        file.triton_convrot_int8_addmm_(q, scale, a, b, size, 0.9, 0.1)
        return q.double() * scale.double()[:, None]

    def want():
        return 0.9 * w.double() * s.double()[:, None] + 0.1 * a.double() @ _rotated(b, size)

    return run, want


for _causal in (False, True):
    _name = "_causal" if _causal else ""

    @repository.case(FOLDER + "attention/sage2pp/triton.py", "_kv_statistics_partial_kernel, _finish_kv_statistics_kernel, _quantize_value_kernel, _sage_attention_2pp_kernel, quantize_query_per_thread_kernel, quantize_key_per_thread_kernel", small=dict(b=1, h=2, n=150, d=64), production=dict(b=2, h=24, n=4096, d=128), name="int8_and_fp8_attention" + _name, rtol=5e-2, atol=8e-2)  # fmt: skip
    def int8_and_fp8_attention(file, device, b, h, n, d, causal=_causal):
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(3))
        return (
            lambda: file.triton_sage_attention_2pp(q, k, v, d**-0.5, causal),
            lambda: tm.attention(q, k, v, causal=causal)[0],
        )

    @repository.case(FOLDER + "attention/piper/triton.py", "_kv_mean_partial_kernel, _kv_mean_finalize_kernel, _quantize_value_per_key_kernel, _piper_attention_kernel", small=dict(b=1, h=2, n=150, d=64), production=dict(b=2, h=24, n=4096, d=128), name="int8_attention" + _name, rtol=5e-2, atol=8e-2)  # fmt: skip
    def int8_attention(file, device, b, h, n, d, causal=_causal):
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=FP16) for _ in range(3))
        return (
            lambda: file._run_piper_attention(
                q, k, v, d**-0.5, causal, not causal,
                native_uint8=False, sort_value_rows=False, use_tensor_descriptors=False,
            ),
            lambda: tm.attention(q, k, v, causal=causal)[0],
        )  # fmt: skip
