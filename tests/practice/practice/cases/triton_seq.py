"""Triton-Seq: alignment of sequences by dynamic programming, a diagonal after the other."""

from __future__ import annotations

import torch

from practice.case import Repository

repository = Repository("shuochen0113/Triton-Seq", "bc0017b98cd81ef60606a2e448d25306d3302f53")
SRC = "experiments/triton_exploration/smith_waterman_triton/src/"
SIZES = dict(small=dict(m=37, n=50), production=dict(m=1000, n=1200))


def _letters(n):
    return "".join("ACGT"[i] for i in torch.randint(0, 4, (n,)).tolist())


def _table(s, t, match, mismatch, gap):
    rows = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for i, a in enumerate(s, 1):
        for j, b in enumerate(t, 1):
            diagonal = rows[i - 1][j - 1] + (match if a == b else mismatch)
            rows[i][j] = max(0, diagonal, rows[i - 1][j] + gap, rows[i][j - 1] + gap)
    return torch.tensor(rows)


def _local(name, kernel, function, match, mismatch):
    @repository.case(f"{SRC}gpu_sw_{name}.py", kernel, name=name, **SIZES)
    def build(file, device, m, n):
        s, t = _letters(m), _letters(n)
        return lambda: torch.from_numpy(getattr(file, function)(s, t)[2]), lambda: _table(s, t, match, mismatch, -1)  # fmt: skip


_local("basic", "sw_kernel_basic", "smith_waterman_gpu_basic", 3, -2)
_local("diagonal", "sw_kernel_diagonal", "smith_waterman_gpu_diagonal", 2, -1)
_local("single_block", "sw_kernel_single_block", "smith_waterman_gpu_single_block", 3, -2)
_local("single_launch", "sw_kernel_single_block", "smith_waterman_gpu_single_block", 2, -1)


def _affine(s, t):
    """The best score with gaps that cost 6 for the first letter and 2 for each other one."""
    low = -(10**6)
    m = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
    down, right = ([[low] * (len(t) + 1) for _ in range(len(s) + 1)] for _ in range(2))
    best = 0
    for i, a in enumerate(s, 1):
        for j, b in enumerate(t, 1):
            right[i][j] = max(right[i][j - 1] - 2, m[i][j - 1] - 6)
            down[i][j] = max(down[i - 1][j] - 2, m[i - 1][j] - 6)
            m[i][j] = max(0, m[i - 1][j - 1] + (1 if a == b else -4), right[i][j], down[i][j])
            best = max(best, m[i][j])
    return best


@repository.case(f"{SRC}gpu_sw_guided_affine.py", "sw_kernel_guided_affine", small=dict(lengths=[(37, 50), (20, 20)]), production=dict(lengths=[(1000, 1200)] * 64), not_in={"ptx": "its pointers come from memory, which the machine gives none of"})  # fmt: skip
def affine(file, device, lengths):
    pairs = [(_letters(m), _letters(n)) for m, n in lengths]

    def run():
        found = file.smith_waterman_gpu_guided_affine(*map(list, zip(*pairs, strict=True)))
        return torch.tensor([score for score, _ in found])

    return run, lambda: torch.tensor([_affine(*pair) for pair in pairs])
