"""VeOmni: grouped products whose sizes are read on the device, the routing around them, a loss for
balanced experts, and products that give the same sums for any batch."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository


class _CudaDevice:
    get_torch_device = staticmethod(lambda: torch.cuda)
    get_device_name = staticmethod(lambda: "H100")
    get_compute_units = staticmethod(lambda: 6)


repository = Repository(
    "ByteDance-Seed/VeOmni", "d9774494f5d8042321386c65c9406e732a271501", packages={"veomni": ""},
    stand_ins={
        "einops": {}, "packaging": {}, "packaging.version": {},
        "veomni.utils.logging": {},
        "veomni.utils.import_utils": {},
        "veomni.utils.device": {
            name: getattr(_CudaDevice, name) for name in dir(_CudaDevice) if name.startswith("get_")
        },
    },
)  # fmt: skip
MOE = "veomni/ops/kernels/moe/_kernels/kernel"
BF16 = torch.bfloat16


def _ends(lengths, device):
    return torch.tensor(lengths).cumsum(0).to(device)


for _name, _transposed, _activation in (("plain", False, None), ("transposed", True, None), ("gelu", True, "gelu")):  # fmt: skip

    @repository.case(f"{MOE}/group_gemm.py", "group_gemm_same_nk_kernel, get_pid_mn, load_with_pred_1d, store_with_pred_2d, activation_fwd", small=dict(g=3, m=40, k=72, n=136), production=dict(g=32, m=512, k=2048, n=1536), rtol=2e-2, atol=2e-2, name=f"grouped_product_{_name}")  # fmt: skip
    def grouped(file, device, g, m, k, n, transposed=_transposed, activation=_activation):
        lengths = tm.lengths(g, m)
        a = tm.normal(sum(lengths), k, device=device, dtype=BF16)
        b = tm.normal(*((g, n, k) if transposed else (g, k, n)), device=device, dtype=BF16, scale=k**-0.5)  # fmt: skip
        kind = activation and next(t for t in file.ActivationType if t.value == activation)

        def run():
            return file.group_gemm_same_nk(
                a, b, _ends(lengths, device), max(lengths), transpose_b=transposed,
                activation=kind, save_activation=bool(kind),
            )  # fmt: skip

        def want():
            matrices = b.double().transpose(1, 2) if transposed else b.double()
            y = torch.cat([x.double() @ w for x, w in zip(a.split(lengths), matrices, strict=True)])
            return (torch.nn.functional.gelu(y), y) if kind else y

        return run, want


@repository.case(f"{MOE}/group_gemm.py", "group_gemm_same_mn_kernel, load_block_with_pred_2d, store_block_with_pred_2d", small=dict(g=3, m=72, k=40, n=136), production=dict(g=32, m=512, k=2048, n=1536), rtol=2e-2, atol=5e-2)  # fmt: skip
def grouped_gradient(file, device, g, m, k, n):
    lengths = [*tm.lengths(g - 1, k), 0]
    a, b = (tm.normal(sum(lengths), x, device=device, dtype=BF16) for x in (m, n))

    def run():
        c = torch.empty(g, m, n, dtype=BF16, device=device)
        file.group_gemm_same_mn(a, b, c, _ends(lengths, device), max(lengths), transpose_a=True)
        return c

    def want():
        pairs = zip(a.double().split(lengths), b.double().split(lengths), strict=True)
        return torch.stack([x.T @ y for x, y in pairs])

    return run, want


@repository.case(f"{MOE}/moe.py", "_expert_histogram_kernel, _moe_index_compute_kernel", small=dict(t=300, experts=6, k=2), production=dict(t=16384, experts=128, k=8))  # fmt: skip
def places_of_tokens(file, device, t, experts, k):
    ids = torch.stack([torch.randperm(experts)[:k] for _ in range(t)]).to(device)

    def run():
        counts = file.expert_histogram(ids, experts)
        rows = file.moe_index_compute(ids, counts.cumsum(0))  # which goes where is left to chance
        by_row = torch.empty(t * k, dtype=ids.dtype, device=device)
        by_row[rows.flatten()] = ids.flatten()
        return counts, by_row, rows.flatten().sort().values

    def want():
        counts = torch.bincount(ids.flatten(), minlength=experts)
        return counts, ids.flatten().sort().values, torch.arange(t * k)

    return run, want


@repository.case(f"{MOE}/moe.py", "_moe_scatter_kernel, _moe_gather_kernel, _moe_add_gather_kernel", small=dict(t=30, d=72, k=3), production=dict(t=16384, d=4096, k=8), rtol=1e-2, atol=2e-2)  # fmt: skip
def rows_there_and_back(file, device, t, d, k):
    x = tm.normal(t, d, device=device, dtype=BF16)
    y, z = (tm.normal(t * k, d, device=device, dtype=BF16) for _ in range(2))
    index = torch.randperm(t * k).view(t, k).int().to(device)

    def run():
        return file.moe_scatter(x, index), file.moe_gather(y, index), file.moe_add_gather(y, z, index)  # fmt: skip

    def want():
        out, at = torch.empty(t * k, d, dtype=torch.float64, device=device), index.long()
        out[at.flatten()] = x.double().repeat_interleave(k, 0)
        return out, y.double()[at].sum(1), (y.double() + z.double())[at].sum(1)

    return run, want


@repository.case("veomni/ops/kernels/load_balancing_loss/triton.py", "_lb_loss_fwd_kernel, _lb_loss_bwd_kernel", small=dict(t=50, experts=12, k=3), production=dict(t=65536, experts=128, k=8), rtol=1e-3, atol=1e-5)  # fmt: skip
def balance_loss(file, device, t, experts, k):
    x, up = tm.normal(2 * t, experts, device=device), torch.tensor(1.0).to(device)

    def exact(x):
        p = x.softmax(-1)
        counts = torch.zeros_like(p).scatter_(1, p.topk(k).indices, 1).mean(0)
        return experts * (counts * p.mean(0)).sum()

    return (
        lambda: tm.with_gradients(lambda x: file.load_balancing_loss_triton((x[:t], x[t:]), experts, k), up, x),
        lambda: tm.with_gradients(exact, up, x, exact=True),
    )  # fmt: skip


@repository.case("veomni/ops/kernels/rotary/triton_deterministic.py", "_bmm_kernel", small=dict(b=2, m=40, k=24, n=1), production=dict(b=8, m=64, k=1, n=32768), rtol=1e-2, atol=1e-2)  # fmt: skip
def outer_products(file, device, b, m, k, n):
    a, c = tm.normal(b, m, k, device=device), tm.normal(b, k, n, device=device)
    return lambda: file.triton_bmm(a, c), lambda: a.double() @ c.double()


@repository.case("veomni/ops/batch_invariant_ops/batch_invariant_ops.py", "matmul_kernel_persistent, _compute_pid", small=dict(m=140, n=264, k=72), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=5e-2)  # fmt: skip
def product_persistent(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device, dtype=BF16), tm.normal(n, k, device=device, dtype=BF16).T
    bias = tm.normal(n, device=device, dtype=BF16)
    return lambda: file.matmul_persistent(a, b, bias), lambda: a.double() @ b.double() + bias.double()  # fmt: skip


@repository.case("veomni/ops/batch_invariant_ops/batch_invariant_ops.py", "_log_softmax_kernel, mean_kernel", small=dict(n=7, d=1500), production=dict(n=4096, d=32000), rtol=1e-4)  # fmt: skip
def log_softmax_and_mean(file, device, n, d):
    x = tm.normal(n, d, device=device)
    return (
        lambda: (file.log_softmax(x), file.mean_dim(x.view(n, 2, -1), 1)),
        lambda: (x.double().log_softmax(-1), x.double().view(n, 2, -1).mean(1)),
    )
