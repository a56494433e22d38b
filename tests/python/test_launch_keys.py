"""What the C++ launcher takes for the same kernel, and what it leaves to Python."""

import collections

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope import _core
from blockscope.runtime import launcher
from blockscope.tools.tensor_descriptor import TensorDescriptor


@triton.jit(do_not_specialize=["plain"], do_not_specialize_on_alignment=["loose"])
def kernel(x, n, plain, loose, wide: tl.int64, real: tl.float64, half: tl.float16 = None,
           BLOCK: tl.constexpr = 64):  # fmt: skip
    pass


@triton.jit
def simple(x, n, BLOCK: tl.constexpr = 64):
    pass


@pytest.fixture(autouse=True)
def torch_is_known():
    launcher.register_torch()


def key(*args, **kwargs):
    return simple._launcher.key(args, kwargs)


def aligned(dtype=torch.float32):
    tensor = torch.zeros(64, dtype=dtype)
    return tensor if tensor.data_ptr() % 16 == 0 else pytest.skip("torch gave odd memory")


def test_values_do_not_matter_kinds_do():
    x, y = aligned(), aligned()
    assert key(x, 100)[0] == key(y, 101)[0]
    assert key(x, 100)[1] == [x.data_ptr(), 100]
    assert key(x, 100) == key(x, n=100) == key(n=100, x=x) == key(x, 100, 64)
    different = [
        key(x, 100),
        key(x[1:], 100),
        key(aligned(torch.float16), 100),
        key(aligned(torch.bfloat16), 100),
        key(x, 112),
        key(x, 1),
        key(x, 2**31 + 1),
        key(x, 2**40),
        key(x, 2**63 + 1),
        key(x, True),
        key(x, 1.5),
        key(x, None),
        key(x, 100, 128),
        key(x, 100, 64.0),
        key(x, 100, "64"),
        key(x, 100, tl.float32),
        key(x, 100, tl.float16),
        key(x, 100, kernel),
        key(x, 100, simple),
        key(x, 100, True),
        key(x, 100, num_warps=8),
        key(x, 100, num_warps=4),
        key(x, 100, num_stages=8),
    ]
    assert len({k[0] for k in different}) == len(different)
    assert key(x, 2**31)[0] == key(x, 2**40)[0]


def test_bits():
    x = aligned()
    assert key(x, -1)[1][1] == 2**64 - 1
    assert key(x, 1)[1] == [x.data_ptr()]
    assert key(x, 0.5)[1][1] == int(np.float32(0.5).view(np.uint32))
    assert key(x, True)[1][1] == 1


def test_annotations_and_do_not_specialize():
    x = aligned()
    launcher = kernel._launcher

    def k(n=3, plain=3, loose=3, wide=3, real=3.0, half=0.5):
        return launcher.key((x, n, plain, loose, wide, real), {"half": half})

    assert k(plain=1)[0] == k(plain=16)[0] == k()[0] != k(n=16)[0]
    assert k(loose=16)[0] == k()[0] != k(loose=1)[0]
    assert k()[0] != k(wide=1)[0] != k(wide=16)[0] != k()[0]
    assert k(real=2)[1][-2] == int(np.float64(2).view(np.uint64))
    assert k(half=2)[1][-1] == int(np.float16(2).view(np.uint16))
    assert k(half=None)[0] != k()[0] == k(half=1)[0]
    assert k(wide=2**63) is None, "Python words the error"


def test_descriptors():
    x = torch.zeros(32, 64)
    descriptor = TensorDescriptor.from_tensor(x, [16, 32])
    assert key(descriptor, 100)[1] == [x.data_ptr(), 32, 64, 64, 100]  # the last stride is 1
    assert key(descriptor, 100)[0] == key(TensorDescriptor.from_tensor(x, [16, 32]), 101)[0]
    others = [
        key(x, 100),
        key(descriptor, 100),
        key(TensorDescriptor.from_tensor(x, [32, 16]), 100),
        key(TensorDescriptor.from_tensor(torch.zeros(33, 64), [16, 32]), 100),
        key(TensorDescriptor.from_tensor(x.to(torch.float16), [16, 32]), 100),
        key(TensorDescriptor(x, [32, 64], [64, 1], [16, 32], padding="nan"), 100),
        key(TensorDescriptor.from_tensor(x, [16, 32], round_f32_to_tf32=True), 100),
    ]
    assert len({k[0] for k in others}) == len(others)


def test_descriptors_that_are_right():
    """C++ says so of most of them; what is wrong, and what is rare, Python looks at."""
    x = aligned(torch.float16).view(4, 16)

    def fits(base=x, shape=(4, 16), strides=(16, 1), block=(2, 8)):
        return _core.fits_descriptor(base, list(shape), list(strides), list(block))

    assert fits() and fits(strides=(-8, 1)) and fits(strides=(0, 1))
    assert fits(x.view(64), [64], [1], [16])
    assert not fits(x.numpy()) and not fits(x.view(64)[1:])
    assert not fits(strides=(12, 1)) and not fits(strides=(16, 2)) and not fits(strides=(2**70, 1))
    assert not fits(block=(3, 8)) and not fits(block=(0, 8)) and not fits(block=(-2, 8))
    assert not fits(block=(2.0, 8)) and not fits(block=(8,)) and not fits(shape=(4,))
    assert not fits(shape=(), strides=(), block=())
    assert not fits(x, [4] * 6, [16] * 5 + [1], [1] * 6)
    assert not _core.fits_descriptor(x, (4, 16), [16, 1], [2, 8])
    made = TensorDescriptor(x, (4, 16), x.stride(), (tl.constexpr(2), 8))
    assert (made.shape, made.strides, made.block_shape) == ([4, 16], [16, 1], [2, 8])
    assert TensorDescriptor.from_tensor(x, iter([2, 8])).block_shape == [2, 8]


def test_tuples():
    """Their parts are arguments as others are, and what is no run-time value is compiled in."""
    Pair = collections.namedtuple("Pair", "first second")
    Other = collections.namedtuple("Other", "first second")
    x, y = aligned(), aligned()
    assert key(x, (y, 100))[1] == [x.data_ptr(), y.data_ptr(), 100]
    assert key(x, (y, 100))[0] == key(y, (x, 101))[0]
    assert key(x, (y, (1, 2.5), None))[1][:2] == [x.data_ptr(), y.data_ptr()]
    assert key(x, Pair(3, 5))[0] == key(x, Pair(7, 9))[0]
    different = [
        key(x, ()),
        key(x, (100,)),
        key(x, (100, 100)),
        key(x, ((100,), 100)),
        key(x, (100, (100,))),
        key(x, (1, 100)),
        key(x, (112, 100)),
        key(x, (y, 100)),
        key(x, (aligned(torch.float16), 100)),
        key(x, (None, 100)),
        key(x, ("text", 100)),
        key(x, (tl.constexpr(100), 100)),
        key(x, (tl.constexpr(101), 100)),
        key(x, Pair(100, 100)),
        key(x, Other(100, 100)),
        key(x, torch.Size([100, 100])),
        key(x, (TensorDescriptor.from_tensor(y.view(8, 8), [8, 8]), 100)),
    ]
    assert len({k[0] for k in different}) == len(different)

    class WithState(Pair):
        pass

    assert key(x, WithState(3, 5)) is None, "it may have attributes"
    endless: list = []
    nested = (endless,)
    assert key(x, nested) is None


def test_tensors_are_read_by_one_call():
    """What torch's table for C says of a tensor is what its methods say."""
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("torch before 2.10")
    dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    known = 0
    for dtype in dtypes:
        try:
            tensor = torch.empty(8, dtype=dtype)[3:]
        except (RuntimeError, NotImplementedError):
            continue
        try:
            expected = (tensor.data_ptr(), -1, launcher.dtype_name(dtype))
        except TypeError:
            expected = None
        assert _core.read_tensor(tensor) == expected, dtype
        known += expected is not None
    assert known >= 16
    assert _core.read_tensor(torch.nn.Parameter(torch.zeros(4)))[1:] == (-1, "float32")
    assert _core.read_tensor(torch.zeros(4, requires_grad=True))[1:] == (-1, "float32")
    for without_memory in (torch.empty(4, device="meta"), torch.zeros(4).to_sparse()):
        assert _core.read_tensor(without_memory) is None


def test_what_is_left_to_python():
    x = aligned()
    assert key(x) is None
    assert key(x, 1, 2, 3) is None
    assert key(x, 1, x=x) is None
    assert key(np.zeros(4), 1) is None
    assert key(x, np.int32(3)) is None
    assert key(x, (1, np.int32(2))) is None
    assert key(x, 2**64) is None
    assert key(x, 3, x) is None

    @triton.jit
    def variadic(*args):
        pass

    assert variadic._launcher.key((1,), {}) is None


def test_targets():
    assert _core.gpu.target_named("sm_90") == _core.gpu.target_of_capability(90)
    for row in _core.gpu.targets():
        assert _core.gpu.target_named(row["arch"]) == row
        assert _core.gpu.target_of_capability(row["capability"]) == row
    hopper = _core.gpu.target_named("sm_90a")
    assert hopper["shared_bytes"] == 227 * 1024 and "wgmma" in hopper["features"]
    with pytest.raises(ValueError, match="unknown GPU architecture 'sm_35', expected one of sm_80"):
        _core.gpu.target_named("sm_35")
    with pytest.raises(RuntimeError, match="not compiled for GPUs of compute capability 7.5"):
        _core.gpu.target_of_capability(75)
