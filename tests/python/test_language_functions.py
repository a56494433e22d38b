"""Functions of the language as Python objects: they take what Triton's take, and look like them."""

import copy
import gc
import inspect
import pickle
import pydoc
import re
import sys
import weakref

import blockscope
import blockscope.language as tl
import pytest
from blockscope import _core

FUNCTIONS = {
    name: value for name, value in vars(tl).items() if isinstance(value, _core.LanguageFunction)
}


@blockscope.jit
def kernel(out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = i.to(tl.float32)
    total = x.sum(axis=0)
    tl.store(out_ptr + i, tl.where(x > 2.0, total, tl.exp(x)))


def recorded():
    """A function of the language that notes what it is called with."""
    calls = []
    function = _core.LanguageFunction(lambda *args, **kwargs: calls.append((args, kwargs)))
    return function, calls


def test_there_are_functions():
    assert len(FUNCTIONS) > 100
    assert {"load", "store", "exp", "sum", "dot", "cdiv", "static_assert"} <= set(FUNCTIONS)


def test_what_triton_hands_on_is_dropped():
    function, calls = recorded()
    function(1, 2)
    function(1, axis=2)
    function(1, _semantic=None, axis=2, _generator=3)
    function(_builder=1)
    function(1, **{"".join(("_sem", "antic")): 2, "b": 3})  # a name that is not interned
    function(*range(40), **{f"k{i}": i for i in range(40)}, _semantic=None)
    many = {f"k{i}": i for i in range(40)}
    assert calls == [
        ((1, 2), {}),
        ((1,), {"axis": 2}),
        ((1,), {"axis": 2}),
        ((), {}),
        ((1,), {"b": 3}),
        (tuple(range(40)), many),
    ]
    function(_semantics=1, semantic=2, _=3)  # like these names, but not them
    assert calls[-1] == ((), {"_semantics": 1, "semantic": 2, "_": 3})


def test_a_keyword_that_nobody_knows_is_an_error_of_the_function():
    with pytest.raises(TypeError, match=r"static_assert\(\) got an unexpected keyword .*'_other'"):
        tl.static_assert(True, _other=1)


def test_it_is_a_method_where_a_class_has_it():
    function, calls = recorded()

    class Owner:
        method = function

    owner = Owner()
    owner.method(1, _semantic=2)
    bound = owner.method
    bound(3)
    Owner.method(owner, 4)
    assert bound.__self__ is owner and bound.__func__ is function
    assert calls == [((owner, 1), {}), ((owner, 3), {}), ((owner, 4), {})]


def test_a_call_has_one_frame_of_python():
    calls = []

    def note(frame, event, _):
        if event == "call":
            calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        tl.static_assert(True)
    finally:
        sys.setprofile(before)
    assert (
        calls[0] == "static_assert"
    )  # and not a wrapper, which step mode would pay for at each op


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_looks_like_the_function(name):
    function = FUNCTIONS[name]
    plain = function.__wrapped__
    assert inspect.isfunction(plain) and callable(function)
    assert inspect.signature(function) == inspect.signature(plain)
    assert inspect.getsource(function) == inspect.getsource(plain)
    assert (function.__name__, function.__doc__) == (plain.__name__, plain.__doc__)
    assert function.__module__ == plain.__module__ and function.__module__.startswith("blockscope.")
    assert repr(function) == repr(plain)
    assert inspect.isroutine(function)
    assert tl.core.is_builtin(function)


def test_help_shows_the_signature():
    text = pydoc.render_doc(tl.load, renderer=pydoc.plaintext)
    assert re.search(r"load\(\s*pointer", text) and "mask" in text


def test_it_is_copied_and_pickled_by_name():
    assert copy.copy(tl.load) is tl.load and copy.deepcopy([tl.load]) == [tl.load]
    assert pickle.loads(pickle.dumps(tl.load)) is tl.load


def test_it_is_collected():
    function, _ = recorded()
    function.itself = function
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None


def test_it_is_not_made_of_something_else():
    with pytest.raises(TypeError, match="callable"):
        _core.LanguageFunction(3)
    with pytest.raises(TypeError):
        _core.LanguageFunction()


@pytest.mark.parametrize("step", [False, True])
def test_methods_and_functions_in_a_kernel(step, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("TRITON_INTERPRET", "1" if step else "0")
    out = torch.zeros(8)
    kernel[(1,)](out, BLOCK=8)
    x = torch.arange(8.0)
    assert torch.allclose(out, torch.where(x > 2, x.sum(), x.exp()))
