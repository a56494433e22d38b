"""Parts of Triton beside the language that public files import: tools, the profiler, ``_C``."""

import textwrap

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope.errors import CompilationError, NotYetSupported
from test_drop_in import OFFER, python

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize(("shape", "dim"), [((20, 16), 0), ((3, 20, 16), 1), ((20, 2, 16), 0)])
def test_ragged_rows(shape, dim, step, monkeypatch):
    from blockscope.tools.ragged_tma import create_ragged_descriptor, load_ragged, store_ragged

    @triton.jit
    def kernel(x_desc, out_desc, out_base, off, size, row, RANK: tl.constexpr, DIM: tl.constexpr):
        if RANK == 2:
            coords = [row, 0]
        elif DIM == 0:
            coords = [row, 0, 0]
        else:
            coords = [1, row, 0]
        x = load_ragged(x_desc, off, size, coords, DIM)
        store_ragged(out_desc, off, size, coords, x + 1, DIM)

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    block = [1] * len(shape)
    block[dim], block[-1] = 8, 16
    if dim == 0 and len(shape) == 3:
        block[1] = 2
    x = torch.rand(shape)
    out = torch.zeros(shape)
    arguments = [create_ragged_descriptor(tensor, block, dim) for tensor in (x, out)]
    kernel[(1,)](*arguments, out, 5, 7, 3, RANK=len(shape), DIM=dim)
    expected = torch.zeros(shape)
    rows = [slice(None)] * len(shape)
    rows[dim] = slice(8, 12)  # from row 3 of the slice to its end, less than the block
    if dim == 1:
        rows[0] = 1
    expected[tuple(rows)] = x[tuple(rows)] + 1
    assert torch.equal(out, expected)


def test_wrong_ragged_descriptors():
    from blockscope.tools.ragged_tma import create_ragged_descriptor

    x = torch.zeros(16, 16)
    with pytest.raises(ValueError, match="2 dimensions and a block of 1, expected the same"):
        create_ragged_descriptor(x, [16])
    with pytest.raises(ValueError, match="ragged_dim is -1, expected another one than the last"):
        create_ragged_descriptor(x, [16, 16], -1)


def test_scales_as_floats():
    from blockscope.tools.mxfp import fp8e8m0_to_float32

    found = fp8e8m0_to_float32(torch.tensor([0, 1, 126, 127, 254, 255], dtype=torch.uint8))
    assert found.dtype == torch.float32
    assert found[:-1].tolist() == [2.0**-127, 2.0**-126, 0.5, 1.0, 2.0**127] and found[-1].isnan()


def test_disassembling_asks_for_the_tool(monkeypatch):
    from blockscope.tools import disasm

    monkeypatch.setenv("TRITON_CUOBJDUMP_PATH", "/no/such/tool")
    with pytest.raises(RuntimeError, match="Cannot find cuobjdump at /no/such/tool"):
        disasm.get_sass(b"")


def test_the_profiler_is_imported_and_refuses():
    code = f"""
    {OFFER.strip()}
    import triton.profiler as proton
    import triton.profiler.language as pl, triton.profiler.viewer
    from triton.profiler.hooks.launch import COMPUTE_METADATA_SCOPE_NAME
    from triton.profiler import start, mode
    for use in (start, proton.profile, mode.Default, pl.enter_scope,
                triton.profiler.viewer.parse):
        try:
            use("x")
        except NotImplementedError as error:
            print(error)
    """
    lines = python(code).splitlines()
    assert len(lines) == 5
    assert lines[0] == (
        "triton.profiler.start is not supported: there is no profiler yet; "
        "triton.testing.do_bench takes times"
    )


def test_marks_of_a_profile_have_no_effect_without_a_session():
    import blockscope.profiler as proton

    @proton.scope("product", {"flops": 7})
    def twice(x, *, add):
        """Twice."""
        return 2 * x + add

    @proton.state("warm up")
    def fails():
        raise KeyError("as it is")

    with proton.scope("outer") as outer, proton.cpu_timed_scope("timed", {"bytes": 1.0}):
        with proton.state("compute"), proton.metadata_state():
            assert proton.enter_scope("inner", metrics={"flops": 1}) is None
            assert twice(3, add=1) == 7 and twice.__doc__ == "Twice."
            assert proton.exit_scope("inner") is None
    assert outer.name == "outer"
    with pytest.raises(KeyError):
        fails()
    with pytest.raises(ValueError, match="is reserved"):
        proton.cpu_timed_scope("timed", {"cpu_time": 1})


def test_marks_of_a_profile_come_from_their_own_modules_too():
    code = f"""
    {OFFER.strip()}
    from triton.profiler.scope import scope, enter_scope
    from triton.profiler.state import state
    import triton.profiler.profile
    import triton.profiler as proton
    print(scope is proton.scope, enter_scope is proton.enter_scope, state is proton.state)
    print(callable(proton.profile))
    proton.state = triton.profiler.mode
    print(proton.state is triton.profiler.mode)
    """
    assert python(code).split() == ["True"] * 5


def test_a_scope_of_the_profiler_in_a_kernel_names_the_line():
    import blockscope.profiler.language as pl

    @triton.jit
    def kernel(x_ptr):
        pl.enter_scope("load")
        tl.store(x_ptr, 1)

    with pytest.raises(CompilationError, match=r"profiler.language.enter_scope is not supported"):
        kernel[(1,)](torch.zeros(1))


def test_names_of_the_compiled_part():
    from blockscope._C import libtriton
    from blockscope._C.libtriton import get_cache_invalidating_env_vars, getenv, ir, nvidia

    assert getenv("NO_SUCH_VARIABLE", "x") == "x" and get_cache_invalidating_env_vars() == {}
    for use, text in (
        (lambda: ir.context(), "'blockscope ir FILE' prints the block IR"),
        (lambda: libtriton.native_specialize_impl, "a private part of Triton's compiler"),
        (lambda: nvidia.passes(), "'blockscope compile FILE' compiles"),
    ):
        with pytest.raises(NotYetSupported, match=text):
            use()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float8_e5m2])
def test_the_handle_of_cublas(dtype):
    from blockscope._C.libtriton import nvidia

    blas = nvidia.cublas.CublasLt(torch.empty(32, dtype=torch.uint8))
    a, b = torch.rand(4, 8).to(dtype), torch.rand(6, 8).to(dtype)
    c = torch.zeros(4, 6, dtype=torch.float16 if dtype.itemsize == 1 else dtype)
    blas.matmul(a, b, c)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=1e-2, rtol=1e-2)
    d = torch.zeros_like(c)
    blas.gemm(a, b, c, d, 2.0, 1.0)
    torch.testing.assert_close(d.float(), 3 * c.float(), atol=5e-2, rtol=1e-2)


def test_products_in_fp8_are_rounded_once():
    """272 + 2**-8 is above the middle of 256 and 288, and 272 in fp16."""
    from blockscope._C.libtriton import nvidia

    a = torch.tensor([[16.0, 16.0, 2**-4]]).to(torch.float8_e4m3fn)
    b = torch.tensor([[16.0, 1.0, 2**-4]]).to(torch.float8_e4m3fn)
    c = torch.zeros(1, 1, dtype=torch.float8_e4m3fn)
    nvidia.cublas.CublasLt(None).matmul(a, b, c)
    assert c.float().item() == 288.0


def test_linear_layouts():
    from blockscope.tools import LinearLayout

    registers = LinearLayout.identity_1d(4, "register", "dim0")
    assert registers.bases == [("register", [[1], [2]])] and registers.out_dims == [("dim0", 4)]
    lanes = LinearLayout.identity_1d(2, "lane", "dim1")
    both = registers * lanes
    assert both.bases == [("register", [[1, 0], [2, 0]]), ("lane", [[0, 1]])]
    assert both.apply({"register": 3, "lane": 1}) == {"dim0": 3, "dim1": 1}
    assert both.get_matrix_view() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    behind = registers * LinearLayout.identity_1d(2, "lane", "dim0")
    assert behind.bases == [("register", [[1], [2]]), ("lane", [[4]])]
    assert LinearLayout.strided_1d(4, 2, "r", "d").out_dims == [("d", 8)]
    assert LinearLayout.zeros_1d(4, "r", "d", 2).bases == [("r", [[0], [0]])]
    assert both.is_invertible() and both == registers * lanes != behind
    with pytest.raises(ValueError, match="inputs are"):
        both.apply({"register": 1})
    with pytest.raises(ValueError, match="not every output has an input"):
        LinearLayout.from_bases([("x", [[1, 0], [0, 2]])], ["a", "b"])
    part = LinearLayout.from_bases([("x", [[1, 0], [0, 2]])], ["a", "b"], [2, 4], False)
    assert (part.is_surjective(), part.is_injective()) == (False, True)
    with pytest.raises(ValueError, match="has no inverse"):
        part.invert()
    with pytest.raises(ValueError, match="expected a power of two"):
        LinearLayout.from_bases([("x", [[1]])], ["a"], [3])


@pytest.mark.parametrize("seed", range(20))
def test_laws_of_linear_layouts(seed):
    import random

    from blockscope.tools import LinearLayout

    chance = random.Random(seed)

    def layout(in_dim):
        while True:
            rows = [[chance.randrange(8), chance.randrange(4)] for _ in range(5)]
            made = LinearLayout.from_bases([(in_dim, rows)], ["a", "b"], [8, 4], False)
            if made.is_invertible():
                return made

    f, g = layout("x"), layout("y")
    assert f.compose(f.invert()).bases == [("x", [[1 << i] for i in range(5)])]
    between = f.invert_and_compose(g)
    assert between.compose(g) == f
    for value in range(32):
        out = f.apply({"x": value})
        assert f.invert().apply(out) == {"x": value}
        assert g.apply(between.apply({"x": value})) == out
    onto = LinearLayout.from_bases([("x", [[1, 0], [1, 0], [0, 3], [0, 1]])], ["a", "b"])
    assert not onto.is_injective()
    for a in range(2):
        for b in range(4):
            assert onto.apply(onto.pseudoinvert().apply({"a": a, "b": b})) == {"a": a, "b": b}


def test_what_tests_ask_of_the_machine(monkeypatch):
    from blockscope import _internal_testing as asked
    from blockscope.target import GPUTarget, cpu_target

    class Driver:
        target = cpu_target()

        def get_current_target(self):
            return self.target

    found = Driver()
    monkeypatch.setattr(asked, "driver", type("Config", (), {"active": found}))
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    questions = (asked.is_cuda, asked.is_ampere_or_newer, asked.is_hopper, asked.is_blackwell,
                 asked.is_sm12x, asked.supports_tma, asked.is_cpu, asked.is_hip)  # fmt: skip
    answers = {}
    for arch in ("x86_64", 80, 90, 103, 120):
        found.target = GPUTarget("cpu" if arch == "x86_64" else "cuda", arch, 32)
        answers[arch] = "".join(str(int(question())) for question in questions)
    assert answers == {
        "x86_64": "00000010", 80: "11000000", 90: "11100100", 103: "11010100", 120: "11001100"
    }  # fmt: skip
    assert asked.is_blackwell_ultra() is asked.is_rubin() is asked.is_interpreter() is False
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert asked.is_interpreter() and not asked.is_cuda() and not asked.is_cpu()


def _in_process(what):
    import os
    import sys

    if what == "raises":
        raise ValueError(os.environ["TEST_VALUE"])
    if what == "dies":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    os.write(2, b"said")


def test_functions_run_in_a_process_of_their_own():
    from blockscope._internal_testing import run_in_process

    done = run_in_process(_in_process, ("ends",))
    assert done.exc is None and done.driver_stderr_output == "said"
    done = run_in_process(_in_process, kwargs={"what": "raises"}, env={"TEST_VALUE": "7"})
    assert isinstance(done.exc, ValueError) and str(done.exc) == "7"
    done = run_in_process(_in_process, ("raises",), env={"TEST_VALUE": "7" * 100_000})
    assert len(str(done.exc)) == 100_000
    with pytest.raises(RuntimeError, match=r"exit code 3:\nlast words"):
        run_in_process(_in_process, ("dies",))


@pytest.mark.parametrize("step", [False, True])
def test_functions_that_the_language_keeps_to_itself(step, monkeypatch):
    """Kernels of public files call them: combine functions, and what sorts are made of."""

    @triton.jit
    def larger(value1, index1, value2, index2):
        return tl.standard._argmax_combine(value1, index1, value2, index2, True)

    @triton.jit
    def smaller(value1, index1, value2, index2):
        return tl.standard._argmin_combine(value1, index1, value2, index2, False)

    @triton.jit
    def kernel(x_ptr, out_ptr, N: tl.constexpr):
        at = tl.arange(0, N)
        x = tl.core._promote_bfloat16_to_float32(tl.load(x_ptr + at))
        tl.static_assert(x.dtype == tl.float32)
        most, where_most = tl.reduce((x, at), 0, larger)
        least, where_least = tl.reduce((x, at), 0, smaller)
        bit = tl.standard._indicator(3, 1)
        tl.static_assert(bit.shape == [1, 2, 1])
        tl.store(out_ptr, most)
        tl.store(out_ptr + 1, where_most)
        tl.store(out_ptr + 2, least)
        tl.store(out_ptr + 3, where_least)
        tl.store(out_ptr + 4 + tl.arange(0, 2), tl.reshape(bit, [2]))

    monkeypatch.setenv("TRITON_INTERPRET", str(int(step)))
    x = torch.tensor([3.0, 5.0, 1.0, 5.0], dtype=torch.bfloat16)
    out = torch.zeros(6)
    kernel[(1,)](x, out, 4)
    assert out.tolist() == [5, 1, 1, 2, 0, 1]


def test_programmatic_dependent_launch_by_its_module():
    code = """
    import torch, triton, triton.language as tl
    from triton.language.extra.cuda.gdc import gdc_launch_dependents, gdc_wait
    from triton.language.extra.cuda.utils import num_threads

    @triton.jit
    def kernel(out_ptr):
        gdc_wait()
        tl.store(out_ptr, num_threads())
        gdc_launch_dependents()

    out = torch.zeros(1)
    kernel[(1,)](out, num_warps=2)
    assert out.item() == 64
    """
    assert python(OFFER + textwrap.dedent(code)) == ""


def test_what_a_kernel_can_call_is_a_jit_callable():
    from blockscope.runtime.jit import JITCallable

    jitted = triton.jit(lambda x: x)
    constant = triton.constexpr_function(lambda x: x)
    assert isinstance(jitted, JITCallable) and isinstance(constant, JITCallable)
    assert not isinstance(len, JITCallable)


def test_types_by_name():
    from blockscope import _utils

    assert _utils.canonicalize_dtype(torch.float16) == _utils.canonicalize_dtype("half") == "fp16"
    assert _utils.canonicalize_ptr_dtype(tl.float32, True) == "*kfp32"
    names = ("u1", "i1", "uint8", "bf16", "float8_e5m2", "int64", "void")
    assert [_utils.get_primitive_bitwidth(name) for name in names] == [1, 1, 8, 16, 8, 64, 0]
    with pytest.raises(KeyError):
        _utils.canonicalize_dtype("x")
    assert _utils.validate_block_shape([4, 8]) == 32
    with pytest.raises(ValueError, match="power of 2"):
        _utils.validate_block_shape([3])


def test_paths_into_nested_tuples():
    from blockscope import _utils

    nested = [1, (2, "a", [3])]
    paths = _utils.find_paths_if(nested, lambda path, value: isinstance(value, int))
    assert paths == [(0,), (1, 0), (1, 2, 0)]
    assert [_utils.get_iterable_path(nested, path) for path in paths] == [1, 2, 3]
    assert _utils.find_paths_if(5, lambda path, value: True) == [()]
