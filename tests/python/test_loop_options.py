"""What options of loops and functions do to the code of a GPU, and what the compiler says of those
that do nothing."""

import re
import sys

import blockscope
import blockscope.language as tl
import gpu_rows
import pytest
from test_kernel_notes import compiled, notes

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not gpu_rows.has_tools(), reason="ptxas is not installed")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")


@blockscope.jit
def rows(
    x_ptr, y_ptr, n, UNROLL: tl.constexpr, LICM: tl.constexpr, FLAT: tl.constexpr, B: tl.constexpr
):
    offsets = tl.arange(0, B)
    scale = tl.load(y_ptr + offsets)
    total = tl.zeros((B,), tl.float32)
    for i in tl.range(
        0, n, loop_unroll_factor=UNROLL, disable_licm=LICM, flatten=FLAT, warp_specialize=FLAT
    ):
        total += tl.load(x_ptr + i * B + offsets) * tl.exp(scale)
        tl.debug_barrier()
    tl.store(y_ptr + offsets, total)


def of_rows(unroll=1, licm=False, flat=False):
    x = torch.zeros(1 << 12)
    return compiled(rows, x, x, 5, UNROLL=unroll, LICM=licm, FLAT=flat, B=512)


@pytest.mark.parametrize("unroll", [1, 2, 4])
def test_unrolled_loops_have_several_iterations_in_one(unroll):
    """Also where threads wait for each other in the loop: LLVM would leave that one as it is."""
    loads = len(re.findall(r"= tl\.load", of_rows(unroll).asm["tlg"]))
    assert loads == (2 if unroll == 1 else 2 + unroll)


@blockscope.jit
def sums(x_ptr, y_ptr, ROWS: tl.constexpr, B: tl.constexpr):
    offsets = tl.arange(0, B)
    for i in range(ROWS):
        tl.store(y_ptr + i, tl.sum(tl.load(x_ptr + i * B + offsets)))


@pytest.mark.parametrize(("count", "together"), [(84, 4), (85, 1), (87, 3), (86, 2)])
def test_loops_with_barriers_are_unrolled_by_what_divides_their_iterations(count, together):
    """LLVM has no rest of such a loop: with a wish that leaves one it would unroll all of it."""
    kernel = compiled(sums, torch.zeros(100 * 512), torch.zeros(100), ROWS=count, B=512)
    assert kernel.asm["ptx"].count("bar.sync") == 2 * together


@blockscope.jit
def triangle(x_ptr, y_ptr, ROWS: tl.constexpr, B: tl.constexpr):
    offsets = tl.arange(0, B)
    for i in range(ROWS):
        x = tl.load(x_ptr + i * B + offsets)
        for j in range(i):
            y = tl.load(y_ptr + j * B + offsets)
            tl.store(y_ptr + j * B + offsets, y + x * tl.load(x_ptr + i * ROWS + j))


def test_a_loop_around_a_loop_is_not_unrolled():
    """What it loads waits for the inner loop in any case; its code would stand four times."""
    kernel = compiled(triangle, torch.zeros(64 * 128), torch.zeros(64 * 128), ROWS=64, B=128)
    assert kernel.asm["ptx"].count("st.global") < 16


@pytest.mark.parametrize("disabled", [False, True])
def test_what_does_not_change_stays_in_the_loop(disabled):
    kernel = of_rows(licm=disabled)
    for stage in ("tl", "tlg"):
        text = kernel.asm[stage]
        assert (text.index("math.exp") > text.index("scf.for")) == disabled
    assert ("llvm.licm.disable" in kernel.asm["llir"]) == disabled


@blockscope.jit
def waits(x_ptr, n, LICM: tl.constexpr, B: tl.constexpr):
    offsets = tl.arange(0, B)
    x = tl.load(x_ptr + offsets)
    i = 0
    while tl.condition(i < n, disable_licm=LICM):
        tl.store(x_ptr + offsets + i * B, tl.exp(x))
        i += 1


@pytest.mark.parametrize("disabled", [False, True])
def test_a_while_keeps_it_too(disabled):
    kernel = compiled(waits, torch.zeros(1 << 14), 10, LICM=disabled, B=512)
    text = kernel.asm["tl"]
    assert (text.index("math.exp") > text.index("scf.while")) == disabled
    assert ("llvm.licm.disable" in kernel.asm["llir"]) == disabled


def test_what_does_nothing_is_noted():
    kernel = of_rows(flat=True)
    place = ("note", "no-effect", "for i in tl.range(")
    assert notes(kernel, rows) == [place, place]
    assert [note["message"].split("=")[0] for note in kernel.notes] == [
        "flatten",
        "warp_specialize",
    ]
    assert of_rows().notes == []


@blockscope.jit(noinline=True)
def squared(x):
    return x * x


@blockscope.jit
def calls(x_ptr, B: tl.constexpr):
    offsets = tl.arange(0, B)
    x = squared(tl.load(x_ptr + offsets))
    tl.store(x_ptr + offsets, squared(x))


def test_calls_that_are_inlined_are_noted():
    kernel = compiled(calls, torch.zeros(512), B=512)
    assert notes(kernel, calls) == [("note", "no-effect", "x = squared(tl.load(x_ptr + offsets))")]
    (note,) = kernel.notes
    assert note["message"].startswith("noinline=True of 'squared' does nothing")
    assert [place["line"] - note["line"] for place in note["also"]] == [1]


@pytest.mark.parametrize("name", ["flatten", "disable_licm", "warp_specialize"])
def test_flags_are_constants(name):
    with pytest.raises(TypeError, match=f"tl.range: {name} is 'yes', expected a constant True or"):
        tl.range(4, **{name: "yes"})


@blockscope.jit(noinline=True)
def power(x, N: tl.constexpr):
    if N == 0:
        return tl.full(x.shape, 1, x.dtype)
    else:
        return x * power(x, N - 1)


@blockscope.jit(noinline=True)
def endless(x):
    return endless(x + 1)


@blockscope.jit
def recursive(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, endless(x) if N < 0 else power(x, N))


def test_recursion_ends_by_constants(monkeypatch):
    x = torch.full((16,), 1.0)
    recursive[(1,)](x, 30)
    assert x.tolist() == [1.0] * 16
    with pytest.raises(blockscope.CompilationError) as caught:
        recursive[(1,)](x, -1)
    text = str(caught.value)
    assert "error: calls are nested" in text and f"limit of {sys.getrecursionlimit()}" in text
    assert text.count("called from") == 2 and " times\n" in text
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(20 * limit)
        recursive[(1,)](x, 300)
    finally:
        sys.setrecursionlimit(limit)
    assert x.tolist() == [1.0] * 16
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    blockscope.jit(recursive.fn)[(1,)](x, 30)
    with pytest.raises(RecursionError):
        blockscope.jit(recursive.fn)[(1,)](x, -1)
