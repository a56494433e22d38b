"""``import triton`` meaning Blockscope: beside another Triton, without one, and under torch."""

import os
import subprocess
import sys
import textwrap

import pytest

# The finder that blockscope.pth installs, for environments that were made without it.
OFFER = "import blockscope_drop_in\n"


def python(code, *, path=(), env=None, check=True):
    """Run code in a new Python; gives its standard output."""
    variables = {k: v for k, v in os.environ.items() if k != "BLOCKSCOPE_AS_TRITON"}
    variables["PYTHONPATH"] = os.pathsep.join(
        [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    variables.update(env or {})
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, env=variables, timeout=240,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, done.stderr
    return done.stdout if check else done


@pytest.fixture
def other_triton(tmp_path):
    """A folder with a package 'triton' that is not ours."""
    package = tmp_path / "site" / "triton"
    (package / "runtime").mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '9.9.9'\n")
    (package / "language.py").write_text("real = True\n")
    (package / "runtime" / "__init__.py").write_text("real = True\n")
    (package / "runtime" / "jit.py").write_text("class JITFunction: pass\n")
    return package.parent


def test_import_blockscope_as_triton():
    code = """
    import blockscope as triton
    import blockscope.language as tl
    assert triton.language is tl and triton.cdiv(5, 4) == 2
    """
    python(code)


def test_where_there_is_no_other_triton():
    code = """
    import triton, triton.language as tl, blockscope
    from triton.runtime.jit import JITFunction
    import triton.language.core
    assert type(triton).__name__ == "TritonModule" and triton.__version__ == "3.7.0"
    assert triton.__file__ == blockscope.__file__
    assert tl is blockscope.language and triton.jit is blockscope.jit
    assert JITFunction is blockscope.runtime.jit.JITFunction
    assert blockscope.language.__spec__.name == "blockscope.language"
    assert triton.runtime.jit is blockscope.runtime.jit
    """
    python(OFFER + textwrap.dedent(code))


def test_another_triton_wins_unasked(other_triton):
    code = """
    import triton, triton.language
    print(triton.__version__, triton.language.real)
    """
    assert python(OFFER + textwrap.dedent(code), path=[other_triton]) == "9.9.9 True\n"


@pytest.mark.parametrize("first", ["", "import triton\n", "import blockscope\n"])
def test_packages_ask_for_the_version(first):
    code = f"""{OFFER}{first}
import importlib.metadata as metadata
assert metadata.version("triton") == "3.7.0"
assert metadata.metadata("triton")["Name"] == "triton"
assert not metadata.distribution("triton").files
assert not [d for d in metadata.distributions() if d.name == "triton"]
"""
    python(code)


def test_another_triton_gives_its_own_version(other_triton):
    info = other_triton / "triton-9.9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 9.9.9\n")
    code = """
    import importlib.metadata
    print(importlib.metadata.version("triton"))
    """
    assert python(OFFER + textwrap.dedent(code), path=[other_triton]) == "9.9.9\n"
    ours = "import blockscope\nblockscope.install_as_triton()\n" + textwrap.dedent(code)
    assert python(OFFER + ours, path=[other_triton]) == "3.7.0\n"


def test_a_folder_of_that_name_is_no_triton(tmp_path):
    (tmp_path / "triton" / "python").mkdir(parents=True)
    code = """
    import triton, triton.language as tl
    print(triton.__version__, tl.__name__)
    """
    out = python(OFFER + textwrap.dedent(code), path=[tmp_path])
    assert out == "3.7.0 blockscope.language\n"


def test_missing_submodule_of_another_triton_stays_missing(other_triton):
    code = """
    import triton
    try:
        import triton.testing
    except ImportError:
        print("missing")
    """
    assert python(OFFER + textwrap.dedent(code), path=[other_triton]) == "missing\n"


def test_ours_wins_when_asked_by_the_environment(other_triton):
    code = """
    import triton, triton.language as tl
    print(triton.__version__, tl.__name__)
    """
    out = python(
        OFFER + textwrap.dedent(code), path=[other_triton], env={"BLOCKSCOPE_AS_TRITON": "1"}
    )
    assert out == "3.7.0 blockscope.language\n"


def test_ours_wins_when_asked_by_a_call(other_triton):
    code = """
    import blockscope
    blockscope.install_as_triton()
    import triton, triton.language as tl
    blockscope.install_as_triton()
    print(triton.__version__, tl.__name__)
    """
    assert python(code, path=[other_triton]) == "3.7.0 blockscope.language\n"


def test_processes_that_a_program_starts_import_what_it_imports(other_triton):
    code = f"""
    import subprocess, sys
    import blockscope
    child = [sys.executable, "-c", {OFFER!r} + "import triton; print(triton.__version__)"]
    subprocess.run(child, check=True)
    blockscope.install_as_triton()
    subprocess.run(child, check=True)
    """
    assert python(code, path=[other_triton]) == "9.9.9\n3.7.0\n"


def test_asking_too_late_is_an_error(other_triton):
    code = """
    import triton
    from blockscope.drop_in import install_as_triton
    install_as_triton()
    """
    done = python(code, path=[other_triton], check=False)
    assert "RuntimeError: another triton is imported already, from " in done.stderr


MODULES = """
triton.language triton.language.core triton.language.math triton.language.standard
triton.language.random triton.language.extra
triton.language.extra.libdevice triton.language.extra.cuda triton.language.extra.cuda.libdevice
triton.language.target_info
triton.runtime triton.runtime.jit triton.runtime.driver triton.runtime.interpreter
triton.runtime.autotuner triton.runtime.cache triton.runtime.errors triton.runtime._allocation
triton.runtime.build
triton.compiler triton.compiler.compiler triton.compiler.code_generator triton.compiler.errors
triton.backends triton.backends.compiler triton.backends.driver triton.backends.nvidia
triton.backends.nvidia.driver triton.backends.nvidia.compiler triton.backends.triton_shared.driver
triton.backends.cpu.driver
triton.testing triton.tools triton.tools.tensor_descriptor triton.tools.mxfp triton.knobs
triton.errors triton.profiler
""".split()


def test_module_paths_that_kernel_files_import():
    code = f"""
    import importlib, sys
    import blockscope
    for name in {MODULES}:
        module = importlib.import_module(name)
        own = "blockscope" + name[len("triton"):]
        assert sys.modules[own] is module and module.__spec__.name == module.__name__, name
    """
    python(OFFER + textwrap.dedent(code))


def test_names_that_kernel_files_import():
    code = """
    from triton import autotune, Config, heuristics, jit, cdiv, next_power_of_2, language
    from triton import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
    from triton import CompilationError, OutOfResources, TritonError, set_allocator, knobs
    from triton import constexpr_function, must_use_result, compile, testing, runtime
    from triton.runtime import driver, Autotuner, JITFunction
    from triton.runtime.driver import driver as inner
    from triton.runtime.autotuner import OutOfResources, Autotuner, Heuristics
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.errors import InterpreterError, PTXASError
    from triton.compiler import ASTSource, CompiledKernel, make_backend
    from triton.compiler.errors import CompileTimeAssertionFailure
    from triton.compiler.compiler import AttrsDescriptor, triton_key
    from triton.backends.compiler import GPUTarget, BaseBackend
    from triton.backends.driver import DriverBase, GPUDriver
    from triton.testing import do_bench, perf_report, Benchmark
    from triton.tools.tensor_descriptor import TensorDescriptor
    import triton.runtime.driver as d
    assert driver.active is d.active is inner.active
    """
    python(OFFER + textwrap.dedent(code))


def test_names_of_the_runtime_that_triton_has_loaded():
    code = """
    import triton
    decorators = triton.autotune, triton.heuristics
    from triton.runtime import Autotuner, Config, Heuristics, autotune, heuristics
    assert decorators == (autotune, heuristics) and Config is triton.Config
    """
    python(OFFER + textwrap.dedent(code))


def test_the_module_path_of_semantic(tmp_path):
    code = """
    import triton, triton.language as tl
    assert tl.semantic.cast
    from triton.language.semantic import TritonSemantic, cast, to_tensor
    from triton.language import semantic
    import numpy

    @triton.jit
    def kernel(out_ptr):
        value = semantic.add(cast(to_tensor(2), tl.float32, None), 1.0, _builder=None)
        tl.store(out_ptr, value)

    def annotated(x, _semantic: TritonSemantic = None, other: TritonSemantic[int] = None):
        pass

    out = numpy.zeros(1, numpy.float32)
    kernel[(1,)](out)
    assert out[0] == 3 and tl.semantic is semantic
    for wrong, text in (
        (lambda: TritonSemantic(None), "TritonSemantic builds Triton's own IR"),
        (lambda: semantic.no_such_thing, "has no 'no_such_thing' in Blockscope"),
    ):
        try:
            wrong()
        except (NotImplementedError, AttributeError) as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    """
    (tmp_path / "kernel_file.py").write_text(textwrap.dedent(code))
    python(OFFER + "import kernel_file", path=[tmp_path])


def test_what_is_not_offered_says_so():
    done = python(f"{OFFER}import triton.experimental.gluon", check=False)
    assert "ImportError" in done.stderr and "gluon and gsan" in done.stderr


def test_unknown_name_speaks_of_triton():
    done = python(f"{OFFER}import triton; triton.no_such_thing", check=False)
    assert "AttributeError: module 'triton' has no attribute 'no_such_thing'" in done.stderr
    done = python(f"{OFFER}import triton.no_such_module", check=False)
    assert "ModuleNotFoundError: No module named 'triton.no_such_module'" in done.stderr


def test_import_blockscope_is_quick_and_loads_no_torch():
    code = """
    import sys
    import blockscope
    assert "torch" not in sys.modules and "numpy" not in sys.modules
    """
    python(code)


# --- torch --------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")

TORCH_SEES_NOTHING = """
import torch
from torch.utils._triton import has_triton, has_triton_package
assert not has_triton_package() and not has_triton()
import torch.cuda
torch.cuda.is_available()
"""


@pytest.mark.parametrize("first", ["torch", "triton"])
def test_torch_sees_no_triton(first):
    second = "triton" if first == "torch" else "torch"
    code = f"{OFFER}import {first}\nimport {second}\n{TORCH_SEES_NOTHING}import triton.language\n"
    python(code)


@pytest.mark.parametrize("asked", [False, True])
def test_torch_finds_another_triton_only_unasked(other_triton, asked):
    code = """
    import torch
    from torch.utils._triton import has_triton_package
    print(has_triton_package())
    import triton
    print(triton.__version__)
    """
    out = python(
        OFFER + textwrap.dedent(code),
        path=[other_triton],
        env={"BLOCKSCOPE_AS_TRITON": str(int(asked))},
    )
    assert out.split() == ["True", "3.7.0" if asked else "9.9.9"]


LIBRARY = """
from torch.utils._triton import get_triton_version, has_triton, has_triton_package
assert has_triton() is has_triton_package()
KERNEL = None
if has_triton():
    import triton
    assert get_triton_version() == tuple(int(n) for n in triton.__version__.split(".")[:2])

    @triton.jit
    def KERNEL(x_ptr):
        triton.language.store(x_ptr, 3)

def launch(x):
    if has_triton():
        KERNEL[(1,)](x)
    else:
        x += 3
    return x
"""

ASKS = """
import library, torch
import torch._inductor.utils, torch.utils._triton
print(library.KERNEL is not None, library.launch(torch.zeros(1)).item())
is_shown = library.KERNEL is not None
assert torch._inductor.utils.has_triton_package() is is_shown
# torch asks, by a module of its own
asked = torch.utils._triton.has_triton
for name in ("torch._inductor.compile_fx", "functorch.compile", "torchao.kernel"):
    assert eval("asked()", {"asked": asked, "__name__": name}) is is_shown
x = torch.compile(library.launch, backend="eager")(torch.zeros(1))
assert x.item() == 3
"""


@pytest.fixture
def library(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text(ASKS)
    return tmp_path


@pytest.mark.parametrize("first", ["", "import torch.utils._triton\n"])
def test_libraries_define_their_kernels(library, first):
    """Where Blockscope was asked for; torch itself finds it, too."""
    ask = "import blockscope\nblockscope.install_as_triton()\n"
    assert python(first + ask + ASKS, path=[library]) == "True 3.0\n"
    asked = {"BLOCKSCOPE_AS_TRITON": "1"}
    assert python(OFFER + first + ASKS, path=[library], env=asked) == "True 3.0\n"


def test_libraries_define_their_kernels_under_the_commands(library):
    def command(**env):
        return subprocess.run(
            [sys.executable, "-m", "blockscope", "run", "main.py"], cwd=library,
            capture_output=True, text=True, env={**os.environ, **env}, timeout=240,
        )  # fmt: skip

    done = command()
    assert (done.stdout, done.returncode) == ("True 3.0\n", 0), done.stderr
    done = command(BLOCKSCOPE_HAS_TRITON="0")
    assert done.stdout == "False 3.0\n"


def test_libraries_get_the_answer_of_torch_unasked(library):
    assert python(OFFER + "import triton\n" + ASKS, path=[library]) == "False 3.0\n"


def test_torch_compile_works(tmp_path):
    backends = ["eager"]
    if any(os.access(os.path.join(folder, "g++"), os.X_OK) for folder in os.get_exec_path()):
        backends.append("inductor")
    code = f"""
    import triton, torch
    for backend in {backends}:
        f = torch.compile(lambda x: torch.sin(x) * 2, backend=backend)
        x = torch.randn(64)
        torch.testing.assert_close(f(x), torch.sin(x) * 2)
    """
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    python(OFFER + textwrap.dedent(code), env=cache)


def test_torch_compile_leaves_kernel_launches_alone():
    code = """
    import torch, triton
    from kernel_file import add_one
    f = torch.compile(lambda x: add_one(torch.sin(x)) * 2, backend="eager")
    x = torch.randn(64)
    torch.testing.assert_close(f(x), (torch.sin(x) + 1) * 2)
    """
    python(OFFER + textwrap.dedent(code), path=[os.path.join(os.path.dirname(__file__), "data")])


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_kernels_use_the_helpers_of_torch(interpret):
    code = """
    from helped_kernels import torch, clamped_max
    x = torch.tensor([[1.0, float("nan"), 3.0, 0.0], [2.0, -5.0, 1.0, 0.0]])
    torch.testing.assert_close(clamped_max(x), torch.tensor([3.0, 2.0]).tanh())
    """
    data = os.path.join(os.path.dirname(__file__), "data")
    python(OFFER + textwrap.dedent(code), path=[data], env={"TRITON_INTERPRET": interpret})


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_torch_library_launches_kernels(interpret):
    code = """
    import torch, triton
    from torch_operators import double, operator, tuned, wrapped
    x = torch.arange(10.0)
    for y in (
        operator(x),
        wrapped(double, (1,), x, B=16),
        wrapped(tuned, lambda meta: (triton.cdiv(10, meta["B"]),), x),
    ):
        torch.testing.assert_close(y, 2 * x)
    """
    data = os.path.join(os.path.dirname(__file__), "data")
    python(OFFER + textwrap.dedent(code), path=[data], env={"TRITON_INTERPRET": interpret})
