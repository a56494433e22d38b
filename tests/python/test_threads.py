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
