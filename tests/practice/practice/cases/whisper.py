"""Whisper: alignment by dynamic programming, and a median filter whose source is put together."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "openai/whisper",
    "c0d2f624c09dc18e709e37c2ad90c039a4eb72a2",
    packages={"whisper": "."},
    stand_ins={"numba": {}, "whisper.audio": {}, "whisper.tokenizer": {}},
)
TIMING = "whisper/timing.py"


@repository.case(TIMING, "dtw_kernel", small=dict(m=20, n=30), production=dict(m=200, n=1500))  # fmt: skip
def alignment(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        cost = torch.full((m + 1, n + 1), float("inf"), dtype=torch.float64)
        cost[0, 0] = 0
        for i in range(m):
            for j in range(n):
                best = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
                cost[i + 1, j + 1] = x[i, j].double().item() + best
        return cost[-1, -1]

    def run():
        rows, columns = (torch.as_tensor(part.copy()) for part in file.dtw_cuda(x))
        return x.double()[rows, columns].sum()

    return run, want


@repository.case("whisper/triton_ops.py", "kernel", small=dict(b=3, n=40, width=7), production=dict(b=6 * 20, n=1500, width=7))  # fmt: skip
def median(file, device, b, n, width):
    x = tm.normal(b, 4, n, device=device)
    padded = F.pad(x, (width // 2, width // 2), mode="reflect")
    want = padded.double().unfold(-1, width, 1).median(-1)[0]
    return lambda: file.median_filter_cuda(padded, width), lambda: want
