"""MLSys-Experiments: products split along K, groups of products, LoRA for each sequence, Adam."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("shreyansh26/MLSys-Experiments", "b63fb8c71bc0019205404d1b979a519ee8a748d0", packages={"kernels": "decompose-k"})  # fmt: skip
HALF = torch.float16


@repository.case("decompose-k/kernels/decompose_k_triton_kernel_optimized.py", "_partial_mm, _reduce_epilogue_vector_flat", small=dict(m=24, n=40, k=512, split=8), production=dict(m=32, n=64, k=1 << 19, split=256), rtol=1e-2, atol=2e-2)  # fmt: skip
def split_k(file, device, m, n, k, split):
    a = tm.normal(m, k, device=device, dtype=HALF) / k**0.5
    b = tm.normal(k, n, device=device, dtype=HALF)
    config = file.KernelConfig(split, 16, 32, 128, 8, 4, 4)

    def run():
        out = torch.empty(m, n, dtype=HALF, device=device)
        parts = torch.empty(split, m, n, device=device)
        return file.decompose_k_relu_out(a, b, out, parts, config, fuse_relu=True)

    return run, lambda: (a.double() @ b.double()).relu()


# The pointers of the groups lie in memory: the checks run one of their configurations, and say so.
def _groups(descriptors):
    kernel = "grouped_matmul_tma_kernel" if descriptors else "grouped_matmul_kernel"

    @repository.case("triton/grouped_gemm.py", kernel, name="grouped_descriptors" if descriptors else "grouped", small=dict(shapes=((100, 72, 64), (33, 40, 96))), production=dict(shapes=tuple((m, 4096, 2048) for m in (2048, 640, 1000, 72, 4096, 8, 1500, 333))), rtol=1e-2, atol=2e-2, finds="unchecked-configs")  # fmt: skip
    def grouped(file, device, shapes):
        a = [tm.normal(m, k, device=device, dtype=HALF) / k**0.5 for m, _, k in shapes]
        b = [tm.normal(k, n, device=device, dtype=HALF) for _, n, k in shapes]
        given = [x.T.contiguous() for x in b] if descriptors else b
        return (
            lambda: file.group_gemm_fn(a, given, use_tma=descriptors),
            lambda: [x.double() @ y.double() for x, y in zip(a, b, strict=True)],
        )


_groups(False)
_groups(True)


def _lora(name, kernel, small, production):
    @repository.case("multilora_inference/bgmv_triton/bgmv_triton.py", kernel, name=name, small=small, production=production, rtol=1e-2, atol=1e-2)  # fmt: skip
    def lora(file, device, b, s, fin, fout):
        """The last sequence has no adapter."""
        adapters, layers, layer = 5, 2, 1
        x = tm.normal(b, s, fin, device=device, dtype=HALF)
        weights = tm.normal(adapters * layers, fout, fin, device=device, dtype=HALF) / fin**0.5
        ids = torch.arange(b).mul(3).remainder(adapters).to(torch.int32)
        ids[-1] = adapters
        ids = ids.to(device)

        def run():
            out = torch.zeros(b, s, fout, dtype=HALF, device=device)
            file.bgmv_triton(out, x, weights, ids, seq_len=s, num_layers=layers, layer_idx=layer, num_lora_adapters=adapters, scale=0.5)  # fmt: skip
            return out

        def want():
            chosen = weights[(ids[:-1].long() * layers + layer)].double()
            y = x[:-1].double() @ chosen.mT * 0.5
            return torch.cat([y, torch.zeros_like(y[:1])])

        return run, want


_lora("lora_shrink", "bgmv_shrink_kernel", dict(b=3, s=4, fin=200, fout=16), dict(b=16, s=32, fin=4096, fout=16))  # fmt: skip
_lora("lora_expand", "bgmv_expand_kernel", dict(b=3, s=4, fin=16, fout=200), dict(b=16, s=32, fin=16, fout=4096))  # fmt: skip
