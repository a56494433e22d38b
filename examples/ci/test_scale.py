import pytest
import torch
from scale import scale


@pytest.mark.parametrize("n", [1, 256, 1000])
def test_scale(n):
    x = torch.rand(n)
    torch.testing.assert_close(scale(x, 3.0), 3.0 * x)
