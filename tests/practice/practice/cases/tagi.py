"""triton-tagi: means and variances of activations of a Bayesian network."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "miquelflorensa/triton-tagi",
    "d573789c71f89a45acfe89dc7368da1017b80d0c",
    packages={"triton_tagi": "."},
)
SMALL, LARGE = dict(m=5, n=30), dict(m=4096, n=1024)


def _moments(m, n, device):
    return tm.normal(m, n, device=device), torch.rand(m, n).to(device) + 0.1


@repository.case("triton_tagi/layers/relu.py", "_bayesian_relu_kernel", small=SMALL, production=LARGE, rtol=1e-3, atol=1e-4)  # fmt: skip
def relu(file, device, m, n):
    mean, variance = _moments(m, n, device)

    def want():
        mu, var = mean.double(), variance.double()
        s = var.sqrt()
        a = mu / s
        pdf = (-a * a / 2).exp() / (2 * torch.pi) ** 0.5
        cdf = (1 + torch.erf(a / 2**0.5)) / 2
        first = mu * cdf + s * pdf
        second = (mu * mu + var) * cdf + mu * s * pdf
        return first, second - first * first, cdf

    return lambda: file.bayesian_relu(mean, variance), want


@repository.case("triton_tagi/layers/remax.py", "_remax_kernel", small=SMALL, production=LARGE)
def remax(file, device, m, n):
    mean, variance = _moments(m, n, device)
    return (
        lambda: file.triton_remax(mean, variance)[0].sum(-1),
        lambda: torch.ones(m, dtype=torch.float64),
    )
