"""Bad input gives one clear error: what was found, what was expected, where."""

import ctypes
import signal
import threading
import time
import traceback
import types
import warnings

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope.errors import CompilationError, SanitizerError, UnsupportedLanguageConstruct

SIZE = 3  # no constexpr


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def int_mask(x_ptr):
    offsets = tl.arange(0, 8)
    tl.load(x_ptr + offsets, mask=offsets)


@triton.jit
def reads_global(x_ptr):
    tl.store(x_ptr, SIZE)


@triton.jit
def undefined(x_ptr):
    tl.store(x_ptr, nope)  # noqa: F821


@triton.jit
def breaks(x_ptr):
    for i in range(3):
        tl.store(x_ptr + i, 1.0)
        break


@triton.jit
def returns_in_loop(x_ptr):
    for i in range(3):
        tl.store(x_ptr + i, 1.0)
        return


@triton.jit
def chained(x_ptr, n):
    tl.store(x_ptr, 0 < n < 3)


@triton.jit
def stars(x_ptr):
    first, *rest = (1, 2, 3)
    tl.store(x_ptr, first)


@triton.jit
def shapes(x_ptr):
    tl.store(x_ptr + tl.arange(0, 8), tl.arange(0, 8) + tl.arange(0, 16))


@triton.jit
def carries(x_ptr):
    total = 0
    for i in range(3):
        total += 1.5
    tl.store(x_ptr, total)


@triton.jit
def carries_block(x_ptr):
    total = 0
    for i in range(3):
        total += tl.load(x_ptr + tl.arange(0, 8))
    tl.store(x_ptr, tl.sum(total))


@triton.jit
def over_block(x_ptr):
    for i in tl.arange(0, 8):
        tl.store(x_ptr + i, 1.0)


@triton.jit
def returns_value(x_ptr):
    i = tl.arange(0, 8)
    return tl.load(x_ptr + i)


@triton.jit
def one_sided(x_ptr, n):
    if n > 3:
        y = 1
    tl.store(x_ptr, y)


@triton.jit
def block_condition(x_ptr):
    if tl.arange(0, 8) > 3:
        tl.store(x_ptr, 1.0)


@triton.jit
def out_of_bounds(x_ptr):
    tl.store(x_ptr + 100 + tl.arange(0, 8), 1.0)


@triton.jit
def endless(x_ptr, n):
    i = n
    while i > 0:
        i += 2
        i -= 1
    tl.store(x_ptr, i)


@triton.jit
def misspelt(x_ptr):
    tl.store(x_ptr, tl.laod(x_ptr))


@triton.jit
def of_libdevice(x_ptr):
    tl.store(x_ptr, tl.tanh(tl.load(x_ptr)))


@triton.jit
def size_of_pointer(x_ptr):
    offsets = tl.arange(0, 8)
    tl.store(x_ptr + offsets, 0, offsets < x_ptr.shape[-1])


@triton.jit
def of_torch(x_ptr):
    tl.store(x_ptr, tl.clip(tl.load(x_ptr), 0.0, 1.0))


@triton.jit
def method_of_torch(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr + tl.arange(0, 8)).flatten())


@triton.jit
def of_math(x_ptr):
    tl.store(x_ptr, tl.math.recip(tl.load(x_ptr)))


@triton.jit
def converts_by_a_type(x_ptr):
    tl.store(x_ptr, tl.float32(tl.program_id(0)))


@triton.jit
def some_of_all(x_ptr):
    i = tl.arange(0, 8)
    tl.store(x_ptr + tl.arange(0, 4), tl.topk(tl.load(x_ptr + i), 3))


@triton.jit
def listed(x_ptr):
    tl.store(x_ptr, [i + 1 for i in range(3)][0])


@triton.jit
def unpacks(x_ptr):
    low, high = tl.load(x_ptr + tl.arange(0, 2))
    tl.store(x_ptr, low + high)


@triton.jit
def stores_text(x_ptr):
    tl.store(x_ptr, "abc")


class InGpuMemory:
    """An array whose memory only the driver could read."""

    dtype = "float32"
    shape = (64,)
    __cuda_array_interface__ = {  # noqa: RUF012
        "shape": (64,), "typestr": "<f4", "data": (0x7F0000000000, False), "version": 3,
        "strides": None,
    }  # fmt: skip


def x():
    return torch.rand(64)


def negated():
    return torch.zeros(4, dtype=torch.complex64).conj().imag


COMPILE = [
    (
        lambda: copy[(1,)](x(), x(), 64, BLOCK=48),
        CompilationError,
        r"arange's range must be a power of 2; end - start is 48",
    ),
    (lambda: int_mask[(1,)](x()), CompilationError, r"mask is int32\[8\], expected int1"),
    (lambda: reads_global[(1,)](x()), CompilationError, r"Cannot access global variable SIZE"),
    (lambda: undefined[(1,)](x()), CompilationError, r"'nope' is not defined"),
    (
        lambda: misspelt[(1,)](x()),
        CompilationError,
        r"language' has no attribute 'laod'; did you mean 'load'\?",
    ),
    (
        lambda: of_libdevice[(1,)](x()),
        CompilationError,
        r"no attribute 'tanh'; libdevice has it: write 'from triton.language.extra import "
        r"libdevice' and 'libdevice.tanh\(...\)'\n",
    ),
    (lambda: of_torch[(1,)](x()), CompilationError, r"no attribute 'clip'; write tl.clamp\n"),
    (
        lambda: size_of_pointer[(1,)](x()),
        CompilationError,
        r"x_ptr\.shape\[-1\]' is not there; a block has a size for each of its dimensions, "
        "a pointer none: pass those of its tensor as arguments",
    ),
    (
        lambda: method_of_torch[(1,)](x()),
        CompilationError,
        r"no attribute 'flatten'; write tl.reshape or tl.ravel\n",
    ),
    (lambda: of_math[(1,)](x()), CompilationError, r"no attribute 'recip'; write 1.0 / x\n"),
    (
        lambda: converts_by_a_type[(1,)](x()),
        CompilationError,
        r"'dtype' object is not callable; x.to\(tl.float32\) converts\n",
    ),
    (lambda: breaks[(1,)](x()), UnsupportedLanguageConstruct, r"'break' is not supported"),
    (lambda: returns_in_loop[(1,)](x()), UnsupportedLanguageConstruct, r"'return' inside a loop"),
    (lambda: chained[(1,)](x(), 5), UnsupportedLanguageConstruct, r"chained comparison"),
    (lambda: stars[(1,)](x()), UnsupportedLanguageConstruct, r"a starred name on the left"),
    (lambda: shapes[(1,)](x()), CompilationError, r"shapes \[8\] and \[16\] do not match"),
    (lambda: carries[(1,)](x()), CompilationError, r"'total' has type int32 before .* fp32 after"),
    (
        lambda: carries_block[(1,)](x()),
        CompilationError,
        r"'total' has type int32 before the loop but fp32\[8\] after its body \(line \d+\); a loop",
    ),
    (
        lambda: unpacks[(1,)](x()),
        CompilationError,
        r"cannot unpack a tensor of fp32\[2\] into 2 names; tl.split gives",
    ),
    (lambda: one_sided[(1,)](x(), 7), CompilationError, r"'y' is defined only in the 'if'"),
    (lambda: block_condition[(1,)](x()), CompilationError, r"condition must be a scalar"),
    (lambda: copy[(1,)](None, x(), 64, BLOCK=64), CompilationError, r"is None"),
    (lambda: some_of_all[(1,)](x()), CompilationError, r"tl.topk: k is 3, expected a power of two"),
    (lambda: listed[(1,)](x()), UnsupportedLanguageConstruct, r"than a tuple or tl.static_range"),
    (
        lambda: over_block[(1,)](x()),
        UnsupportedLanguageConstruct,
        r"a loop over 'tl.arange\(0, 8\)' is not supported",
    ),
    (
        lambda: returns_value[(1,)](x()),
        CompilationError,
        r"a kernel returns no value: store the result\n +return tl\.load",
    ),
    (lambda: stores_text[(1,)](x()), CompilationError, r"value is 'abc' of Python type 'str'"),
]


@pytest.mark.parametrize(("launch", "kind", "text"), COMPILE)
def test_a_wrong_kernel_names_file_and_line_with_a_caret(launch, kind, text):
    with pytest.raises(kind, match=text) as caught:
        launch()
    message = str(caught.value)
    assert f"{__file__}:" in message and "^" in message


def test_a_function_of_libdevice_step_by_step():
    triton.set_interpret_mode(True)
    try:
        with pytest.raises(Exception, match="no attribute 'tanh'; libdevice has it") as caught:
            of_libdevice[(1,)](x())
    finally:
        triton.set_interpret_mode(False)
    assert "Did you mean" not in "".join(traceback.format_exception(caught.value))


LAUNCH = [
    (lambda: copy[(-1,)](x(), x(), 64, BLOCK=64), ValueError, r"dimension 0 is -1, expected 0 to"),
    (
        lambda: copy[1, 1, 1, 2](x(), x(), 64, BLOCK=64),
        ValueError,
        r"grid \(1, 1, 1, 2\) has 4 dimensions, expected 1 to 3, or ones behind them; make two of "
        r"them one",
    ),
    (lambda: copy[()](x(), x(), 64, BLOCK=64), ValueError, r"has 0 dimensions, expected 1 to 3"),
    (
        lambda: copy[((1, 1),)](x(), x(), 64, BLOCK=64),
        TypeError,
        r"is \(1, 1\) \(tuple\), expected an int; leave out the tuple around it: kernel\[grid\]",
    ),
    (lambda: copy[(1.5,)](x(), x(), 64, BLOCK=64), TypeError, r"is 1.5 \(float\), expected an int"),
    (
        lambda: copy[(torch.tensor(1.5),)](x(), x(), 64, BLOCK=64),
        TypeError,
        r"grid dimension 0 is tensor\(1.5000\) \(Tensor\), expected an int",
    ),
    (
        lambda: copy[lambda meta: None](x(), x(), 64, BLOCK=64),
        TypeError,
        r"kernel 'copy': the function of the grid returned None, expected an int, or a tuple",
    ),
    (
        lambda: copy[(1,)](x().untyped_storage(), x(), 64, BLOCK=64),
        TypeError,
        r"argument 'x_ptr' is a torch.storage.UntypedStorage; expected a tensor",
    ),
    *(
        (
            lambda grid=grid: copy[grid](x(), x(), 64, BLOCK=64),
            TypeError,
            rf"kernel 'copy': grid is .* \({type(grid).__name__}\), expected an int, or a tuple",
        )
        for grid in ({1}, {1: 1}, 1.5, "1", object(), iter([1]))
    ),
    (
        lambda: copy[lambda meta: (meta["BLOCK_SIZE"],)](x(), x(), 64, BLOCK=64),
        KeyError,
        r"the grid of kernel 'copy' asks for 'BLOCK_SIZE', .* did you mean 'BLOCK'\?",
    ),
    (
        lambda: triton.heuristics({"BLOCK": lambda args: args["N"]})(copy)[(1,)](x(), x(), 64),
        KeyError,
        r"the heuristic 'BLOCK' of kernel 'copy' asks for 'N', .* did you mean 'n'\?",
    ),
    (
        lambda: copy[(1,)](x(), x(), 64, 64, 4),
        TypeError,
        r"too many positional arguments: 5 were given to 4 parameters \(x_ptr, out_ptr, n, BLOCK",
    ),
    (
        lambda: copy[(1,)](torch.eye(8).to_sparse(), x(), 64, BLOCK=64),
        TypeError,
        r"argument 'x_ptr': tensor has layout torch.sparse_coo, expected torch.strided",
    ),
    (
        lambda: [copy[(1,)](each, x(), 4, BLOCK=4) for each in (x(), negated())],
        ValueError,
        r"argument 'x_ptr': tensor is a view that torch negates .*; pass x.resolve_neg\(\)",
    ),
    (lambda: copy[(1,)](x(), x(), 64), TypeError, r"missing a required argument: 'BLOCK'"),
    (lambda: copy[(1,)](x(), x(), 64, BLOCK=64, N=3), KeyError, r"'N' was given to kernel 'copy'"),
    (
        lambda: copy[(1,)](x(), x(), 64, BLOCK=64, num_wraps=4),
        KeyError,
        r"'num_wraps' was given to kernel 'copy', .* did you mean 'num_warps'\?",
    ),
    (lambda: copy[(1,)](x(), x(), 64, BLOK=64), KeyError, r"did you mean 'BLOCK'\?"),
    pytest.param(
        lambda: copy[(1,)](InGpuMemory(), x(), 64, BLOCK=64),
        RuntimeError,
        r"^argument 'x_ptr' is in GPU memory: (there is no|the) CUDA driver",
        marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
    ),
    (lambda: copy[(1,)](object(), x(), 64, BLOCK=64), TypeError, r"argument 'x_ptr' is a .*object"),
    (lambda: copy[(1,)]([1.0], x(), 64, BLOCK=64), TypeError, r"argument 'x_ptr' is a .*list"),
    (
        lambda: copy[(1,)](torch.zeros(4, dtype=torch.complex64), x(), 4, BLOCK=4),
        TypeError,
        r"'x_ptr': kernels have no element type for 'torch.complex64'",
    ),
    (
        lambda: copy[(1,)](torch.zeros(4, device="meta"), x(), 4, BLOCK=4),
        ValueError,
        r"'x_ptr': tensor is on device 'meta'",
    ),
    (lambda: copy[(1,)](x(), x(), 2**70, BLOCK=64), OverflowError, r"argument 'n' is .* 64 bits"),
    (lambda: copy(x(), x(), 64, 64), RuntimeError, r"launched with a grid: copy\[grid\]"),
    *(
        (
            lambda option=option: copy[(1,)](x(), x(), 64, BLOCK=64, **option),
            (TypeError, ValueError),
            rf"{next(iter(option))} is .*, expected a",
        )
        for option in (
            {"num_warps": 3},
            {"num_warps": "4"},
            {"num_warps": 64},
            {"num_stages": -1},
            {"num_ctas": 3},
            {"maxnreg": "many"},
            {"maxnreg": 8},
        )
    ),
]


@pytest.mark.parametrize(("launch", "kind", "text"), LAUNCH)
def test_a_wrong_launch_names_kernel_or_argument(launch, kind, text):
    for _ in range(2):  # the second time behind a right launch, whose kernel C++ keeps
        with pytest.raises(kind, match=text):
            launch()
        copy[(1,)](x(), x(), 64, BLOCK=64)


def test_a_grid_of_zero_warns_and_runs_nothing():
    out = torch.zeros(64)
    with pytest.warns(RuntimeWarning, match="grid .* has no programs") as caught:
        copy[(0,)](x(), out, 64, BLOCK=64)
        copy.run(x(), out, 64, BLOCK=64, grid=(0,))
    assert not out.any()
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("grid", [(True,), True, np.int64(1), torch.Size([1]), np.array([1])])
def test_a_grid_is_of_anything_that_is_an_int(grid):
    data, out = x(), torch.ones(64)
    copy[grid](data, out, 64, BLOCK=64)
    assert torch.equal(out, data)


@pytest.mark.parametrize("grid", [(2, 1, 1, 1), [2, 1, 1, 1, 1], lambda meta: (2, 1, 1, 1)])
def test_a_grid_may_have_ones_behind_its_three_dimensions(grid):
    data, out = x(), torch.zeros(64)
    copy[grid](data, out, 64, BLOCK=32)
    assert torch.equal(out, data)


def test_a_freed_tensor_is_named():
    freed = x()
    freed.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="'x_ptr': .* freed or moved"):
        copy[(1,)](freed, x(), 64, BLOCK=64)


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("checks", ["asan", "asan,tsan"])
def test_a_freed_tensor_is_a_finding_of_a_check(checks, step):
    freed, out = x(), torch.ones(64)
    freed.untyped_storage().resize_(0)
    triton.set_interpret_mode(step)
    try:
        with triton.check(checks) as report:
            copy[(2,)](freed, out, 0, BLOCK=32)  # nothing of it is used
            assert report.clean and out.all()
            copy[(2,)](freed, out, 64, BLOCK=32)
            copy[(2,)](x(), freed, 64, BLOCK=32)
    finally:
        triton.set_interpret_mode(False)
    assert not out.any()
    load, store = report.findings
    assert (load.code, load.access, load.tensor) == ("use-after-free", "load", "x_ptr")
    assert (store.code, store.access, store.tensor) == ("use-after-free", "store", "out_ptr")
    assert (load.count, load.program_count, load.element) == (64, 2, [0])
    assert (load.kernel, load.grid, store.launch) == ("copy", [2, 1, 1], load.launch + 1)
    assert load.message == "load of 4 bytes at byte 0 of 'x_ptr', whose storage is gone"


def test_a_trace_alone_does_not_hide_a_freed_tensor(tmp_path):
    freed = x()
    freed.untyped_storage().resize_(0)
    with (
        pytest.raises(ValueError, match="'x_ptr': .* freed or moved"),
        triton.trace(tmp_path / "t.h5"),
    ):
        copy[(1,)](freed, x(), 64, BLOCK=64)


class Duck:
    """What kernels ask of a tensor, and no more; it does not say where its memory ends."""

    def __init__(self, memory, shape, strides, address=None):
        self.memory, self.shape, self.dtype = memory, shape, memory.dtype
        self.strides, self.address = strides, address or memory.data_ptr()

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides

    def element_size(self):
        return 4


class DuckWithStorage(Duck):
    def untyped_storage(self):
        return self.memory.untyped_storage()


@triton.jit
def copy_every(x_ptr, out_ptr, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * STEP, mask=offsets < n, other=-1))


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("duck", [Duck, DuckWithStorage])
def test_strides_may_claim_more_than_the_storage_and_are_held_to_it(duck, step):
    memory = torch.arange(64, dtype=torch.float32)
    claims, out = duck(memory, (32,), (4,)), torch.zeros(32)
    triton.set_interpret_mode(step)
    try:
        copy_every[(1,)](claims, out, 16, STEP=4, BLOCK=32)
        assert out.tolist() == [*range(0, 64, 4)] + [-1] * 16
        with pytest.raises(SanitizerError, match="oob-load") as caught:
            copy_every[(1,)](claims, out, 17, STEP=4, BLOCK=32)
        with triton.check("asan") as report:
            copy_every[(1,)](claims, out, 32, STEP=4, BLOCK=32)
    finally:
        triton.set_interpret_mode(False)
    for finding in (caught.value.findings[0], report.findings[0].data):
        assert finding["code"] == "oob-load" and finding["tensor"] == "x_ptr"
        assert (finding["lane"], finding["byte_offset"], finding["element"]) == (16, 256, [16])
    (finding,) = report.findings
    assert finding.count == 16 and finding.storage_bytes == 256


def test_memory_that_no_tensor_holds_is_as_large_as_its_shape():
    memory = (ctypes.c_float * 64)(*range(64))
    claims = Duck(torch.empty(0), (16,), (4,), ctypes.addressof(memory))
    copy_every[(1,)](claims, torch.zeros(16), 4, STEP=4, BLOCK=16)
    with pytest.raises(SanitizerError, match="which has 64 bytes"):
        copy_every[(1,)](claims, torch.zeros(16), 5, STEP=4, BLOCK=16)


class Bare:
    """All that Triton's launcher asks for."""

    def __init__(self, address, dtype=torch.float32):
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_an_address_without_a_shape_reaches_to_the_end_of_its_tensor(kind, step):
    memory = kind([float(i) for i in range(64)])
    begin = memory.data_ptr() if kind is torch.tensor else memory.ctypes.data
    bare = Bare(begin + 8 * memory.itemsize, memory.dtype)
    out = torch.zeros(64)
    triton.set_interpret_mode(step)
    try:
        copy[(1,)](bare, out, 56, BLOCK=64)
        assert out[:56].tolist() == list(range(8, 64))
        with pytest.raises(SanitizerError, match="oob-load.* of 'x_ptr'"):
            copy[(1,)](bare, out, 57, BLOCK=64)
    finally:
        triton.set_interpret_mode(False)


def test_an_address_without_a_shape_in_no_tensor_has_no_known_size():
    memory = (ctypes.c_float * 64)(*range(64))
    bare = Bare(ctypes.addressof(memory))
    with pytest.raises(ValueError, match="'x_ptr': a Bare with data_ptr.. and no shape, .* 0x"):
        copy[(1,)](bare, torch.zeros(64), 1, BLOCK=64)
    bare.shape = (8, 8)  # row-major
    with pytest.raises(SanitizerError, match="which has 256 bytes"):
        copy[(1,)](bare, torch.zeros(128), 65, BLOCK=128)


def test_an_array_interface_may_be_an_attribute_of_the_instance():
    source, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    array = types.SimpleNamespace(__array_interface__=source.__array_interface__)
    copy[(1,)](array, out, 64, BLOCK=64)
    np.testing.assert_array_equal(out, source)
    with pytest.raises(SanitizerError, match="which has 256 bytes"):
        copy[(1,)](array, np.zeros(128, np.float32), 65, BLOCK=128)
    array.__array_interface__ = {**source.__array_interface__, "data": source.tobytes()}
    with pytest.raises(TypeError, match="'x_ptr': array gives its memory as a buffer"):
        copy[(1,)](array, out, 64, BLOCK=64)


def test_a_tensor_whose_storage_has_shrunk_is_held_to_what_is_left():
    shrunk, out = x(), torch.zeros(64)
    shrunk.untyped_storage().resize_(4 * 48)
    copy[(1,)](shrunk, out, 48, BLOCK=64)
    assert torch.equal(out[:48], shrunk.as_strided((48,), (1,)))
    with pytest.raises(SanitizerError, match="oob-load"):
        copy[(1,)](shrunk, out, 49, BLOCK=64)


def test_an_unchecked_store_out_of_bounds_is_an_error_and_touches_nothing():
    target = torch.zeros(64)
    with pytest.raises(SanitizerError, match="oob-store") as caught:
        out_of_bounds[(1,)](target)
    assert not target.any() and caught.value.findings[0]["element"] == [100]


def test_a_store_to_a_read_only_array_is_an_error():
    out = np.ones(64, np.float32)
    out.flags.writeable = False
    with pytest.raises(SanitizerError, match="read-only"):
        copy[(1,)](x(), out, 64, BLOCK=64)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_store_to_a_file_that_is_mapped_to_be_read_is_an_error(is_known, tmp_path):
    # torch does not know that this memory cannot be written, and a store would end the process.
    (tmp_path / "file").write_bytes(bytes(256))
    mapped = np.memmap(tmp_path / "file", dtype=np.float32, mode="r")
    if is_known:  # launches of this kind have gone the short way before
        copy[(1,)](x(), torch.zeros(64), 64, BLOCK=64)
        copy[(1,)](x(), torch.zeros(64), 64, BLOCK=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = torch.from_numpy(mapped)
    with pytest.raises(SanitizerError, match="read-only"):
        copy[(1,)](x(), out, 64, BLOCK=64)
    target = torch.zeros(64)
    copy[(1,)](out + 1, target, 64, BLOCK=64)
    copy[(1,)](out, target, 64, BLOCK=64)
    assert not target.any()


def test_memory_of_numpy_is_written(tmp_path):
    for array in (
        np.zeros(64, np.float32),
        np.memmap(tmp_path / "file", dtype=np.float32, mode="w+", shape=64),
    ):
        out = torch.from_numpy(array)
        for value in (1.0, 2.0, 3.0):
            copy[(1,)](torch.full((64,), value), out, 64, BLOCK=64)
            assert (array == value).all()


@pytest.fixture
def heeds_interrupts():
    """A shell that starts the tests in the background has SIGINT ignored, and Python keeps that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_a_long_launch(heeds_interrupts):
    main = threading.main_thread().ident

    def interrupt():
        time.sleep(1.0)
        sent.append(time.monotonic())
        ctypes.pythonapi.PyErr_SetInterrupt()

    sent: list[float] = []
    assert main == threading.get_ident()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        endless[(2,)](x(), 5)
    took = time.monotonic() - sent[0]
    thread.join()
    assert took < 5  # 0.2 s on a machine that is not busy


@triton.jit
def before_the_start(x_ptr, out_ptr):
    offsets = tl.arange(0, 4)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets - 3))


def test_an_unchecked_launch_says_the_same_as_asan():
    """One description of a refused lane serves both, with the side on which it fell."""
    x, out = np.ones(8, np.float32), np.ones(8, np.float32)
    with pytest.raises(SanitizerError, match="12 bytes before the start") as caught:
        before_the_start[(1,)](x, out)
    with triton.check("asan") as report:
        before_the_start[(1,)](x, out)
    (unchecked,), (checked,) = caught.value.findings, report.findings
    for field in ("code", "message", "byte_offset", "distance_bytes", "element"):
        assert unchecked[field] == checked[field], field


async def waits(x_ptr):
    tl.store(x_ptr, 1)


def generates(x_ptr):
    yield tl.load(x_ptr)


@pytest.mark.parametrize(("function", "kind"), [(waits, "async"), (generates, "a generator")])
def test_kernels_are_plain_functions(function, kind):
    with pytest.raises(TypeError, match=f"@jit function '{function.__name__}' is {kind}, expected"):
        triton.jit(function)


def test_autotune_names_what_is_no_kernel():
    def plain(x_ptr):
        pass

    text = "autotune got function 'plain', expected a kernel: put @triton.jit below it"
    with pytest.raises(TypeError, match=text):
        triton.autotune([triton.Config({})], key=[])(plain)
