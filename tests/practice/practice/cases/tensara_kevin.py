"""Kevin Xiong's answers to Tensara's tasks."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Kevin-XiongC/Solutions-for-tensara", "b6609906d5aaa7fa216718b5d28b8c78f72b5b35")  # fmt: skip


@repository.case("src/1d_conv.py", "_1d_conv_kernel", small=dict(n=1000, k=7), production=dict(n=1 << 22, k=255), rtol=1e-4, atol=1e-3)  # fmt: skip
def convolution(file, device, n, k):
    a, b = tm.normal(n, device=device), tm.normal(k, device=device)

    def run():
        c = torch.empty_like(a)
        file.solution(a, b, c, n, k)
        return c

    def want():
        windows = F.pad(a.double(), (k // 2, k // 2)).unfold(0, k, 1)
        return torch.cat([part @ b.double() for part in windows.split(1 << 16)])

    return run, want


@repository.case("src/argmax.py", "argmax_kernel_block", small=dict(n=2, m=300, k=20), production=dict(n=32, m=1024, k=512), rtol=0, atol=0)  # fmt: skip
def places_of_largest(file, device, n, m, k):
    """Along the middle one of three axes; no two elements are the same."""
    x = torch.randperm(n * m * k).float().view(n, m, k).to(device)

    def run():
        out = torch.empty(n, k, dtype=torch.int32, device=device)
        file.solution(x, 1, out, torch.tensor(x.shape), 3)
        return out

    return run, lambda: x.argmax(1)


@repository.case("src/cos_loss.py", "cos_loss_kernel", small=dict(n=300, d=128), production=dict(n=16384, d=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def cosines(file, device, n, d):
    x, y = (tm.normal(n, d, device=device) for _ in range(2))

    def run():
        out = torch.empty(n, device=device)
        file.solution(x, y, out, n, d)
        return out

    return run, lambda: F.cosine_similarity(x.double(), y.double(), dim=1)


@repository.case("src/gemv.py", "gemv_kernel", small=dict(m=300, k=200), production=dict(m=32768, k=4096), rtol=1e-4, atol=1e-3)  # fmt: skip
def times_vector(file, device, m, k):
    a, b = tm.normal(m, k, device=device), tm.normal(k, device=device)

    def run():
        out = torch.empty(m, device=device)
        file.solution(a, b, out, m, k)
        return out

    return run, lambda: a.double() @ b.double()


@repository.case("src/1d_avg_pool.py", "_average_pooling_kernel", small=dict(n=1000, k=7, stride=2), production=dict(n=1 << 25, k=7, stride=2), rtol=1e-5, atol=1e-5)  # fmt: skip
def means_of_windows(file, device, n, k, stride):
    x = tm.normal(n, device=device)
    count = (n + 2 * (k // 2) - k) // stride + 1

    def run():
        out = torch.empty(count, device=device)
        file._average_pooling_kernel[(-(-count // 256),)](x, out, n, k, stride, k // 2, count, 256)
        return out

    return run, lambda: F.avg_pool1d(x.double()[None], k, stride, k // 2)[0]
