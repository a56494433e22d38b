"""causal-conv1d: the last rows of each sequence."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Dao-AILab/causal-conv1d", "0d2252d161f25f7907bbd05985c08ab98d255874")


@repository.case("causal_conv1d/causal_conv1d_varlen.py", "_causal_conv1d_varlen_states", small=dict(lengths=[3, 50, 1, 20], d=70, state=5), production=dict(lengths=[4096, 3, 700], d=4096, state=4))  # fmt: skip
def varlen_states(file, device, lengths, d, state):
    x, starts = tm.normal(sum(lengths), d, device=device), tm.starts(lengths, device)

    def want():
        out = torch.zeros(len(lengths), d, state, device=device)
        for i, part in enumerate(x.split(lengths)):
            last = part[-state:]
            out[i, :, state - len(last) :] = last.T
        return out

    return lambda: file.causal_conv1d_varlen_states(x, starts, state), want
