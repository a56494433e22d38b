"""Launches from many threads at once."""

import pytest
from thread_programs import run_program


@pytest.mark.parametrize("threads", [8, 16])
def test_the_first_launches_of_a_process(tmp_path, threads):
    for _ in range(3):
        run_program(tmp_path, f"on_threads({threads}, lambda number: launch_add())")


def test_first_launches_by_function_and_of_other_kinds(tmp_path):
    """Grid functions, dtypes and functions as constants, descriptors: what C++ imports for each."""
    run_program(
        tmp_path,
        """
        from blockscope.tools.tensor_descriptor import TensorDescriptor
        import torch

        @triton.jit
        def twice(x):
            return 2 * x

        @triton.jit
        def k(source, out, F: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(out + i, F(source.load([0])).to(T))

        def work(number):
            x, out = torch.arange(64.0), torch.zeros(64)
            source = TensorDescriptor(x, [64], [1], [64])
            k[lambda meta: (64 // meta["BLOCK"],)](source, out, twice, tl.float32, BLOCK=64)
            assert torch.equal(out, 2 * x)

        on_threads(16, work)
        """,
    )


def test_first_launches_of_50_kernels_from_64_threads(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "import blockscope as triton\nimport blockscope.language as tl\n"
        + "".join(
            f"""
@triton.jit
def k{k}(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * {k} + 1, i < n)
"""
            for k in range(50)
        )
    )
    run_program(
        tmp_path,
        """
        import random, kernels

        def work(number):
            order = list(range(50))
            random.Random(number).shuffle(order)
            for k in order:
                x, out = np.arange(300, dtype=np.int32), np.zeros(300, np.int32)
                getattr(kernels, f"k{k}")[(3,)](x, out, 300, BLOCK=128)
                assert (out == x * k + 1).all(), (number, k)

        on_threads(64, work)
        """,
        limit_s=150,
    )


def test_launches_while_others_compile_tune_check_trace_import_and_fork(tmp_path):
    """Each of 16 threads does one kind of work for some rounds, on kernels that nobody has seen."""
    for number in range(4):
        (tmp_path / f"module_{number}.py").write_text(
            "import blockscope as triton\nimport blockscope.language as tl\n"
            + MANY_KERNELS.replace("KERNELS", "12")
        )
    run_program(tmp_path, MIXED_WORK, limit_s=100)


MANY_KERNELS = """
def scale(factor):
    @triton.jit
    def scaled(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) * FACTOR + tl.sum(i * 0), i < n)
    def launch(x, out):
        scaled[(triton.cdiv(len(x), 64),)](x, out, len(x), FACTOR=factor, BLOCK=64)
    return launch

launches = [scale(factor) for factor in range(KERNELS)]

@triton.autotune([triton.Config({"BLOCK": block}) for block in (32, 64, 128)], key=["n"], rep=1)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + 1, i < n)

@triton.jit
def writes_past_the_end(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK) + 1, 1)
"""

MIXED_WORK = """
import importlib, os
from pathlib import Path
from blockscope.errors import SanitizerError

ROUNDS = 10
folder = Path(__file__).parent

def a_module(number):
    return importlib.import_module(f"module_{number % 4}")

def launch(number):
    module = a_module(number)
    for _ in range(ROUNDS):
        for factor, kernel in enumerate(module.launches):
            x, out = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
            kernel(x, out)
            assert (out == x * factor).all()

def compile_(number):
    for size in range(ROUNDS):  # each size is another kernel
        launch_add(200, block=16 << size)

def tune(number):
    module = a_module(number)
    for n in range(100, 100 + ROUNDS):
        x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        module.tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        assert (out == x + 1).all()

def check(number):
    module = a_module(number)
    for _ in range(ROUNDS):
        with triton.check("asan,tsan") as report:
            launch_add()
            module.writes_past_the_end[(1,)](np.zeros(64, np.int32), BLOCK=64)
        # A check hears of the launches of other threads too, which tune while a trace is open.
        codes = {finding.code for finding in report} - {"unchecked-configs"}
        assert codes == {"oob-store"}, str(report)

def trace(number):
    for round in range(ROUNDS):
        path = folder / f"{number}.bst"
        with triton.trace(path) as recording:
            launch_add()
        assert recording.launches >= 1 and path.stat().st_size > 0

def import_(number):
    for round in range(ROUNDS):
        name = f"new_{number}_{round}"
        (folder / f"{name}.py").write_text((folder / "module_0.py").read_text())
        importlib.invalidate_caches()
        x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
        importlib.import_module(name).launches[3](x, out)
        assert (out == x * 3).all()

def fork(number):
    for _ in range(ROUNDS):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                launch_add()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0

kinds = [launch, compile_, tune, check, trace, import_, launch, fork]
on_threads(16, lambda number: kinds[number % len(kinds)](number))
"""
