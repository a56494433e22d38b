"""triton.tools: tensor descriptors and microscaling formats on the host."""

import numpy as np
import pytest
from blockscope.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


def test_descriptor_from_tensor():
    base = torch.zeros(32, 64, dtype=torch.float16)
    descriptor = TensorDescriptor.from_tensor(base, [16, 32])
    assert descriptor.shape == [32, 64] and descriptor.strides == [64, 1]
    assert descriptor.block_shape == [16, 32] and descriptor.padding == "zero"
    array = np.zeros((8, 16), np.float32)
    assert TensorDescriptor.from_tensor(array, (8, 8)).strides == [16, 1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"shape": [], "strides": [], "block_shape": []}, "rank 0, expected 1 to 5"),
        ({"strides": [1]}, "1 strides for a shape of rank 2"),
        ({"block_shape": [4]}, "1 block_shape for a shape of rank 2"),
        ({"strides": [64, 2]}, "last stride 2, expected 1"),
        ({"strides": [63, 1]}, r"stride 63 \(126 bytes\) in dimension 0"),
        ({"block_shape": [3, 4]}, "expected powers of two"),
        ({"padding": "one"}, "padding 'one'"),
    ],
)
def test_descriptor_errors(arguments, message):
    base = torch.zeros(32, 64, dtype=torch.float16)
    good = {"base": base, "shape": [32, 64], "strides": [64, 1], "block_shape": [4, 4]}
    TensorDescriptor(**good)
    with pytest.raises(ValueError, match=message):
        TensorDescriptor(**{**good, **arguments})


def test_descriptor_base_must_be_aligned():
    base = torch.zeros(100, dtype=torch.float16)[1:]
    with pytest.raises(ValueError, match="2 bytes past a multiple of 16"):
        TensorDescriptor.from_tensor(base, [8])


def test_mxfp4_rounds_to_nearest_even():
    from blockscope.tools.mxfp import MXFP4Tensor

    values = torch.tensor([0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, -5.1, -0.0])
    got = MXFP4Tensor(data=values).to(torch.float32)
    expected = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, -6.0, -0.0]
    assert got.tolist() == expected


@pytest.mark.parametrize("dim", [0, 1])
def test_mxfp4_packs(dim):
    from blockscope.tools.mxfp import MXFP4Tensor

    tensor = MXFP4Tensor(size=(4, 6)).random()
    packed = tensor.to_packed_tensor(dim)
    assert packed.shape[dim] == tensor.data.shape[dim] // 2
    assert torch.equal(tensor.unpack_packed_tensor(packed, dim, (4, 6)), tensor.data)


def test_mx_scales():
    from blockscope.tools.mxfp import MXScaleTensor

    scale = MXScaleTensor(data=torch.tensor([1.0, 0.5, 3.0, float("nan")]))
    assert scale.data.tolist() == [127, 126, 128, 255]
    back = scale.to(torch.float32)
    assert back[:3].tolist() == [1.0, 0.5, 2.0] and torch.isnan(back[3])
