"""Builtins that users write as Triton's own are written: with ``_semantic``, and on libraries."""

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.language import core

torch = pytest.importorskip("torch")


@core.extern
def library_asin(x, _semantic=None):
    symbols = {
        (core.dtype("fp32"),): ("__nv_asinf", core.dtype("fp32")),
        (core.dtype("fp64"),): ("__nv_asin", core.dtype("fp64")),
    }
    return core.extern_elementwise("", "", [x], symbols, is_pure=True, _semantic=_semantic)


@core.extern
def library_cube(x, _semantic=None):
    symbols = {(core.dtype("fp32"),): ("users_cube", core.dtype("fp32"))}
    return core.extern_elementwise("users", "users.bc", [x], symbols, True, _semantic=_semantic)


@core.builtin
def by_functions(x, y, _semantic=None):
    return core.maximum(x, y, core.PropagateNan.NONE, _semantic=_semantic)


@core.builtin
def by_methods(x, y, _semantic=None):
    y = _semantic.to_tensor(y)
    y = _semantic.broadcast_impl_shape(y, x.shape)
    return _semantic.add(
        _semantic.mul(x, y, False), _semantic.scalar_constant(1, tl.float32), False
    )


@core.builtin
def by_another(x, _semantic=None):
    return by_methods(by_functions(x, 0.0, _semantic=_semantic), 3.0, _semantic=_semantic)


@core.builtin
def by_the_builder(x, _semantic=None):
    return _semantic.builder.create_fadd(x.handle, x.handle)


@triton.jit
def kernel(x_ptr, y_ptr, WHICH: tl.constexpr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    if WHICH == "asin":
        y = library_asin(x)
    elif WHICH == "another":
        y = by_another(x)
    elif WHICH == "cube":
        y = library_cube(x)
    else:
        y = by_the_builder(x)
    tl.store(y_ptr + offsets, y)


@pytest.fixture(params=[0, 1], ids=["whole", "step"])
def launch(request, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", str(request.param))

    def run(which):
        x, y = torch.linspace(-1, 1, 16), torch.empty(16)
        triton.jit(kernel.fn)[(1,)](x, y, which)
        return x, y

    return run


def test_they_run(launch):
    x, y = launch("asin")
    torch.testing.assert_close(y, torch.asin(x))
    x, y = launch("another")
    torch.testing.assert_close(y, x.clamp(min=0) * 3 + 1)


def place(error):
    """The line of the kernel that a traceback or the text of an error names."""
    text, trace, line = str(error), error.__traceback__, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_name == "kernel" else line
        trace = trace.tb_next
    return line or int(text.split(f"{__file__}:")[1].split(":")[0])


@pytest.mark.parametrize(
    "which, said, offset",
    [
        ("cube", "'users_cube' of (fp32) cannot run: it is no function of libdevice", 9),
        ("builder", "'_semantic.builder' is a part of Triton's compiler, which Blockscope", 11),
    ],
)
def test_what_they_cannot_do_is_an_error_at_the_kernels_line(launch, which, said, offset):
    with pytest.raises(Exception) as caught:
        launch(which)
    assert said in str(caught.value)
    assert place(caught.value) == kernel.fn.__code__.co_firstlineno + offset
