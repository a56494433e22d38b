"""What users hang around compiling, loading and launching, and what compiled kernels say."""

import json
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import blockscope as triton
import blockscope.language as tl
import pytest
from blockscope import knobs
from blockscope.compiler import ASTSource

torch = pytest.importorskip("torch")

ARCH = "sm_90a"


@pytest.fixture
def hooks():
    """The hooks of ``knobs.runtime`` and listeners, as they were after the test."""
    with knobs.runtime.scope(), knobs.compilation.scope():
        yield knobs.runtime


def make_add():
    @triton.jit
    def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr, kind: tl.constexpr = tl.float32):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        tl.store(out_ptr + offsets, (x + n).to(kind), mask=offsets < n)

    return add


def launch(kernel, n=20, **options):
    x, out = torch.zeros(32), torch.zeros(32)
    kernel[(1,)](x, out, n, BLOCK=32, **options)
    return out


def test_a_hook_before_and_one_after_each_compilation(hooks):
    kernel, seen = make_add(), []
    hooks.jit_cache_hook = lambda **told: seen.append(("before", told))
    hooks.jit_post_compile_hook = lambda **told: seen.append(("after", told))
    for n in (20, 21, 1, 1):  # 1 is compiled in
        launch(kernel, n)
    assert [when for when, _ in seen] == ["before", "after"] * 2
    told = seen[0][1]
    assert told["fn"].jit_function is kernel and told["fn"].module == __name__
    assert told["fn"].name == "make_add.<locals>.add"
    assert told["repr"].startswith("make_add.<locals>.add[num_warps=4, num_ctas=1, num_stages=3")
    assert told["repr"].endswith(
        "](x_ptr: *fp32, out_ptr: *fp32, n: i32, BLOCK: constexpr, kind: constexpr)"
    )
    assert not told["is_manual_warmup"] and not told["already_compiled"]
    compiled = told["compile"]
    assert compiled["key"] == told["key"] and compiled["num_warps"] == 4
    assert compiled["constants"] == {(3,): 32, (4,): tl.float32}
    assert seen[2][1]["compile"]["constants"] == {(2,): 1, (3,): 32, (4,): tl.float32}
    keys = kernel.device_caches[0][0]
    assert [told["key"], seen[2][1]["key"]] == list(keys) == list(kernel.cache[0])
    assert keys[told["key"]].asm["tl"] and len(keys) == 2
    ((table, *_),) = kernel.device_caches.values()
    assert len(table) == 2 and len(kernel.device_caches) == len(kernel.cache) == 1
    keys.clear()
    assert not kernel.device_caches
    launch(kernel)
    assert len(seen) == 6 and len(kernel.device_caches["cpu"][0]) == 1


@triton.jit(do_not_specialize=["n"])
def unspecialized(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pass


@triton.jit(do_not_specialize_on_alignment=["n"])
def unaligned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pass


def test_alignment_is_part_of_what_is_compiled_for(hooks):
    """On the CPU too, where the code is the same."""
    told = []
    hooks.jit_cache_hook = lambda **hook: told.append(hook["compile"]["configs"][0])
    for kernel, count in ((make_add(), 3), (unspecialized, 1), (unaligned, 2)):
        told.clear()
        for n in (1, 2, 4, 8, 16, 32):
            launch(kernel, n)
        assert len(told) == len(kernel.device_caches[0][0]) == count
        assert len(kernel.codes) == (1 if kernel is unspecialized else 2)
    kernel = make_add()
    told.clear()
    x, out = torch.zeros(33), torch.zeros(32)
    for view in (x[:32], x[1:], x[:32]):
        kernel[(1,)](view, out, 20, BLOCK=32)
    assert [sorted(paths) for paths in told] == [[(0,), (1,)], [(1,)]]


def test_each_set_of_options_is_one_compilation(hooks):
    kernel, seen = make_add(), []
    hooks.jit_cache_hook = lambda **told: seen.append(told["compile"]["num_warps"])
    for options in ({}, {"num_warps": 8}, {"num_warps": 8}, {"num_warps": 4}, {"num_stages": 3}):
        launch(kernel, **options)
    assert seen == [4, 8]


def test_a_hook_that_forbids_compiling(hooks):
    kernel = make_add()
    hooks.jit_cache_hook = lambda **told: True
    assert not launch(kernel).any()
    assert kernel.warmup(tl.float32, tl.float32, 3, BLOCK=32, grid=(1,)) is None
    hooks.jit_cache_hook = None
    assert launch(kernel)[0] == 20


@pytest.mark.parametrize("target", ["cpu", ARCH])
def test_preload_compiles_what_a_hook_was_told(hooks, target):
    kernel, seen = make_add(), []
    hooks.jit_cache_hook = lambda **told: seen.append(told["compile"])
    arch = {} if target == "cpu" else {"arch": ARCH}
    arguments = (tl.float32, tl.float32, 16)
    made = kernel.warmup(*arguments, BLOCK=32, kind=tl.float16, num_warps=2, grid=(1,), **arch)
    assert seen[0]["is_warmup"] and seen[0]["num_warps"] == 2
    text = seen[0]["specialization_data"]
    assert json.loads(text)["target"]["backend"] == ("cpu" if target == "cpu" else "cuda")
    if target == "cpu":
        kernel.device_caches.clear()
        again = kernel.preload(text)
        assert again.hash == made.hash and again.asm["tl"] == made.asm["tl"]
        assert again.metadata.num_warps == 2 and len(seen) == 2
        kernel.warmup(*arguments, BLOCK=32, kind=tl.float16, num_warps=2, grid=(1,))
        assert len(seen) == 2
    other = make_add()
    other.fn.__qualname__ = "other"
    with pytest.raises(RuntimeError, match="Specialization data is for .*add but trying"):
        other.preload(text)
    elsewhere = json.loads(text) | {"target": {"backend": "hip", "arch": "gfx942", "warp_size": 64}}
    with pytest.raises(RuntimeError, match="Specialization data is for {'backend': 'hip'"):
        kernel.preload(json.dumps(elsewhere))
    for garbage in ("garbage", "[]", '{"name": "x"}', None):
        with pytest.raises(ValueError, match="expected the text that a hook was given"):
            kernel.preload(garbage)


def test_preload_of_an_annotated_1(hooks):
    @triton.jit
    def kernel(out_ptr, n: tl.int32):
        tl.store(out_ptr, n)

    seen = []
    hooks.jit_cache_hook = lambda **told: seen.append(told["compile"])
    out = torch.zeros(1, dtype=torch.int32)
    for n in (1, 5):
        kernel[(1,)](out, n)
    assert seen[0]["key"] != seen[1]["key"]
    kernel.device_caches.clear()
    kernel.preload(seen[0]["specialization_data"])
    assert len(seen) == 3 and seen[2]["key"] == seen[0]["key"]
    kernel[(1,)](out, 1)
    assert len(seen) == 3 and out[0] == 1
    kernel[(1,)](out, 5)
    assert len(seen) == 4 and out[0] == 5


@triton.jit
def five():
    return 5


def test_preload_of_functions_tuples_and_64_bits(hooks):
    @triton.jit
    def kernel(out_ptr, sizes, function: tl.constexpr, offsets: tl.constexpr):
        tl.store(out_ptr, (sizes[0] + sizes[1] + function() + offsets[1][0]).to(tl.int64))

    seen = []
    hooks.jit_cache_hook = lambda **told: seen.append(told["compile"])
    out = torch.zeros(1, dtype=torch.int64)
    kernel[(1,)](out, (2**40, 1), five, ((1, 2), (3,)))
    assert out[0] == 2**40 + 9
    assert seen[0]["signature"]["sizes"] == ("i64", "constexpr")
    assert seen[0]["constants"][(1, 1)] == 1
    kernel.device_caches.clear()
    kernel.preload(seen[0]["specialization_data"])
    assert len(seen) == 2
    kernel[(1,)](out, (2**41, 1), five, ((1, 2), (3,)))
    assert len(seen) == 2 and out[0] == 2**41 + 9


def test_the_listener_of_compilations(hooks, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel, seen = make_add(), []
    knobs.compilation.listener = lambda **told: seen.append(told)
    made = kernel.warmup(tl.float32, tl.float32, 3, BLOCK=32, grid=(1,))
    assert seen[0]["src"] is made.src and isinstance(made.src, ASTSource)
    assert seen[0]["src"].fn is kernel and seen[0]["metadata"]["hash"] == made.hash
    times = seen[0]["times"]
    assert times.ir_initialization > 0 and times.total_lowering > 0
    assert times.total == times.ir_initialization + times.total_lowering + times.store_results
    for is_hit in (False, True):
        kernel.device_caches.clear()
        kernel.warmup(tl.float32, tl.float32, 3, BLOCK=32, grid=(1,), arch=ARCH)
        assert seen[-1]["cache_hit"] is is_hit
        times = seen[-1]["times"]
        assert times.ir_initialization > 0
        assert (times.total_lowering == 0) is (times.store_results == 0) is is_hit
    assert dict(seen[1]["times"].lowering_stages).keys() >= {"ptx", "ptxas"}


def test_hooks_around_loading(hooks):
    kernel, seen = make_add(), []
    begin = lambda module, function, name, group, hash: seen.append(("begin", name, hash))
    end = lambda module, function, name, group, hash: seen.append(("end", name, hash))
    hooks.kernel_load_start_hook.add(begin)
    hooks.kernel_load_end_hook.add(end)
    try:
        made = kernel.warmup(tl.float32, tl.float32, 3, BLOCK=32, grid=(1,))
        assert seen == []
        for _ in range(3):
            launch(kernel)
    finally:
        hooks.kernel_load_start_hook.remove(begin)
        hooks.kernel_load_end_hook.remove(end)
    assert seen == [("begin", "add", made.hash), ("end", "add", made.hash)]


def test_lazy_metadata_is_computed_when_it_is_read(hooks):
    calls, seen = [], []

    def metadata(grid, kernel, args):
        calls.append(grid)
        return {"bytes": args["n"] * 4, "warps": kernel.num_warps}

    @triton.jit(launch_metadata=metadata)
    def fill(out_ptr, n, BLOCK: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)

    hook = lambda told: seen.append(told)
    hooks.launch_enter_hook.add(hook)
    try:
        fill[(2,)](torch.zeros(20), 20, BLOCK=32, num_warps=2)
    finally:
        hooks.launch_enter_hook.remove(hook)
    assert calls == [] and seen[0].get()["name"] == "fill"
    assert calls == [(2, 1, 1)] and seen[0]["bytes"] == 80 and seen[0]["warps"] == 2


@pytest.mark.parametrize("arch", [{}, {"arch": ARCH}])
def test_a_kernel_that_names_itself(arch):
    told = []

    def name(specialization):
        told.append(specialization)
        return (
            f"fill<{specialization.constants['BLOCK']}>_{specialization.signature['out_ptr'][1:]}"
        )

    @triton.jit(repr=name)
    def fill(out_ptr, BLOCK: tl.constexpr):
        tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)

    made = fill.warmup(tl.float16, BLOCK=64, grid=(1,), **arch)
    assert made.name == made.metadata.name == "fill_64__fp16" and len(told) == 1
    if arch:
        assert ".entry fill_64__fp16(" in made.asm["ptx"]


def test_compile_takes_all_types():
    @triton.jit
    def kernel(out_ptr, a, b, c, parts, desc, ONE: tl.constexpr):
        x = a + b + c + parts[0] + parts[1][0] + ONE
        tl.store(out_ptr, (x + tl.sum(desc.load([0, 0]))).to(tl.float64))

    signature = {
        "out_ptr": "*fp64", "a": "i64", "b": "u8", "c": "fp64", "parts": ("i32", ("constexpr",)),
        "desc": "tensordesc<fp32[4, 16]>", "ONE": "constexpr",
    }  # fmt: skip
    source = ASTSource(
        kernel, signature, {(4, 1, 0): 7, "ONE": 1}, {(1,): [["tt.divisibility", 16]]}
    )
    made = triton.compile(source)
    assert made.src.signature == signature and made.src.constants == source.constants
    text = made.asm["tl"]
    assert "%a: i64" in text and "%b: i8" in text and "%c: f64" in text
    with pytest.raises(ValueError, match="'q32' for 'a', expected one such as"):
        triton.compile(ASTSource(kernel, signature | {"a": "q32"}, source.constants))
    with pytest.raises(ValueError, match="no value for the constexpr argument 'ONE'"):
        triton.compile(ASTSource(kernel, signature, {(4, 1, 0): 7}))


class Queue(Executor):
    """Compiles when it is told to."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, *arguments):
        future = Future()

        def task():
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)

        self.tasks.append(task)
        return future


def test_compiling_waits_for_an_executor(hooks):
    kernel, queue, seen = make_add(), Queue(), []
    hooks.jit_post_compile_hook = lambda **told: seen.append(told["compile"]["constants"][(3,)])
    arguments = (torch.zeros(32), torch.zeros(32), 20)
    with triton.AsyncCompileMode(queue):
        for block in (32, 64, 32):
            future = kernel.warmup(*arguments, BLOCK=block, grid=(1,))
            assert isinstance(future, triton.FutureKernel)
        assert len(queue.tasks) == len(kernel.device_caches[0][0]) == 2 and seen == []
        queue.tasks.pop(0)()
        kernel[(1,)](*arguments, BLOCK=32)
        assert arguments[1][0] == 20 and seen == [32]
        with pytest.raises(RuntimeError, match="active already"), triton.AsyncCompileMode(queue):
            pass
        queue.tasks.pop()()
    assert seen == [32, 64] and len(kernel.kernels) == 2
    assert kernel.warmup(*arguments, BLOCK=64, grid=(1,)).asm["tl"]
    assert len(seen) == 2


@pytest.mark.parametrize("arch", [{}, {"arch": ARCH}])
def test_compiling_in_threads(arch):
    kernel = make_add()
    with ThreadPoolExecutor(3) as pool, triton.AsyncCompileMode(pool):
        made = [
            kernel.warmup(tl.float32, tl.float32, 3, BLOCK=block, grid=(1,), **arch)
            for block in (16, 32, 64, 128)
        ]
    assert [future.result() for future in made] == list(kernel.kernels.values())
    assert made[3].name == "add" and len({future.hash for future in made}) == 4


def test_errors_of_compiling_in_threads():
    @triton.jit
    def kernel(x: tl.constexpr):
        tl.static_assert(x == 2)

    with pytest.raises(triton.CompileTimeAssertionFailure):
        with ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
            kernel.warmup(1, grid=(1,))
    assert not kernel.kernels
    with ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
        kernel.warmup(1, grid=(1,))
        kernel.warmup(2, grid=(1,))
    assert len(kernel.kernels) == 1


def test_a_stage_that_the_cpu_does_not_have():
    made = make_add().warmup(tl.float32, tl.float32, 3, BLOCK=32, grid=(1,))
    assert made.asm["ttir"] == made.asm["tl"] and made.asm.get("ptx") is None
    with pytest.raises(KeyError, match="no stage 'ptx', expected tl, ttir, source"):
        made.asm["ptx"]


def test_dumps_on_the_cpu(hooks, tmp_path):
    with knobs.cache.scope():
        knobs.cache.dump_dir = str(tmp_path / "dumps")
        knobs.compilation.dump_ir = True
        kernel = make_add()
        launch(kernel)
        made = next(iter(kernel.kernels.values()))
    assert (tmp_path / "dumps" / made.hash / "add.tl").read_text() == made.asm["tl"]
