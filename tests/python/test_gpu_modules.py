"""What of loaded code and pinned memory stays: bounded, and never less than what may still run.

The fake libcuda ends a program that unloads code too early, or that ends a capture.
"""

MODULES = """
import ctypes, gc, os, threading
import pytest
from blockscope import _core
from blockscope.errors import LaunchError

cuda = ctypes.CDLL(os.environ["TRITON_LIBCUDA_PATH"])
for name in ("fake_replay", "fake_is_loaded"):
    getattr(cuda, name).argtypes = [ctypes.c_void_p]
cuda.fake_end_capture.restype = ctypes.c_void_p
cuda.fake_host_bytes.restype = ctypes.c_size_t

def load(name, **options):
    return _core.gpu.load(name=name, binary=b"code of " + name.encode(), device=0, **options)

def launch(kernel, stream=1):
    kernel.launch((1, 1, 1), [0, 0, 0], stream)

def capture(kernels, stream=9):
    cuda.fake_begin_capture(stream)
    for kernel in kernels:
        launch(kernel, stream)
    graph = cuda.fake_end_capture(stream)
    assert graph, "the capture was ended"
    return graph

def launched():
    with open(os.environ["FAKE_CUDA_LOG"]) as file:
        return [line.split()[0] for line in file]

_core.gpu.set_module_limit(4)
"""


def test_the_least_recently_launched_code_is_unloaded_and_loaded_again(run):
    run(
        """
        kernels = [load(f"k{i}") for i in range(20)]
        for kernel in kernels:
            launch(kernel)
        launch(kernels[0]); launch(kernels[0])
        assert _core.gpu.loaded_modules(0) == cuda.fake_loaded() <= 5
        # Those launched last are still loaded, and all of them run.
        before = cuda.fake_loaded()
        launch(kernels[19]); launch(kernels[18])
        assert cuda.fake_loaded() <= before
        for kernel in kernels * 2:
            launch(kernel)
        assert launched()[-20:] == [f"k{i}" for i in range(20)] and cuda.fake_loaded() <= 6
        assert kernels[3].n_regs == 40 and kernels[3].max_threads == 1024
        """,
        preamble=MODULES,
    )


def test_code_that_may_run_stays(run):
    run(
        """
        cuda.fake_hold(1)
        kernels = [load(f"k{i}") for i in range(12)]
        for kernel in kernels:
            launch(kernel)
        for _ in range(3):
            launch(kernels[11])
        assert cuda.fake_loaded() == 12, "none of them has run yet"
        cuda.fake_finish(1)
        for _ in range(3):
            launch(kernels[11])
        assert cuda.fake_loaded() == 4
        # What was launched on another stream is found out about there.
        cuda.fake_hold(2)
        for kernel in kernels[:6]:
            launch(kernel, stream=2)
        for kernel in kernels[6:]:
            launch(kernel, stream=1)
        assert cuda.fake_loaded() >= 6
        cuda.fake_finish(2)
        load("more")
        for _ in range(3):
            launch(kernels[0], stream=2)
        for _ in range(3):
            launch(kernels[11], stream=1)
        more = load("more")
        launch(more); launch(more)
        assert cuda.fake_loaded() <= 5
        """,
        preamble=MODULES,
    )


def test_captured_code_stays(run):
    run(
        """
        kernels = [load(f"k{i}") for i in range(10)]
        graph = capture([*kernels[:6], *kernels[:6]])
        others = [load(f"other{i}") for i in range(10)]
        for kernel in others * 3:
            launch(kernel)
        assert 6 <= cuda.fake_loaded() <= 8
        cuda.fake_replay(graph)
        # Code that is not loaded any more is loaded while it is captured.
        graph = capture([others[0]])
        for kernel in others[1:] * 3:
            launch(kernel)
        cuda.fake_replay(graph)
        """,
        preamble=MODULES,
    )


def test_nothing_disturbs_a_capture_of_somebody_else(run):
    run(
        """
        kernels = [load(f"k{i}") for i in range(12)]
        cuda.fake_begin_capture(30)
        for kernel in kernels * 3:
            launch(kernel)
        assert cuda.fake_loaded() <= 6
        assert cuda.fake_end_capture(30), "the capture was ended"
        """,
        preamble=MODULES,
    )


def test_code_of_kernels_that_are_gone_is_unloaded(run):
    run(
        """
        _core.gpu.set_module_limit(1000)
        kernels = [load(f"k{i}") for i in range(12)]
        for kernel in kernels:
            launch(kernel)
        del kernels[1:], kernel
        gc.collect()
        launch(kernels[0]); launch(kernels[0]); launch(kernels[0])
        assert cuda.fake_loaded() == 1
        assert "'k0' on grid (1, 1, 1)" in _core.gpu.recent_launches()
        """,
        preamble=MODULES,
    )
    run(
        """
        launch(load("gone")); launch(load("also"))
        grid = "on grid (1, 1, 1)"
        assert _core.gpu.recent_launches() == [f"'also' {grid}", f"'gone' {grid}"]
        """,
        preamble=MODULES,
    )


def test_code_whose_address_is_known_stays(run):
    run(
        """
        known = load("known")
        module = known.module
        del known
        for kernel in [load(f"k{i}") for i in range(12)] * 3:
            launch(kernel)
        assert cuda.fake_is_loaded(module)
        """,
        preamble=MODULES,
    )


def test_launches_of_many_threads_while_code_is_unloaded(run):
    run(
        """
        kernels = [load(f"k{i}") for i in range(24)]

        def work(number):
            for i in range(400):
                launch(kernels[(i * (number + 1) + number) % 24], stream=number + 1)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(launched()) == 2400
        for stream in range(1, 7):
            load(f"more{stream}")
            for _ in range(3):
                launch(kernels[0], stream)
        assert cuda.fake_loaded() <= 6
        """,
        preamble=MODULES,
    )


def test_what_captured_launches_print_takes_no_memory_of_its_own(run):
    run(
        MODULES.replace("_core.gpu.set_module_limit(4)", "")
        + """
changes.update(takes_debug_buffer=True, debug_sites=[])
gpu.devices.current_stream = lambda device, owners: 5
k[(1,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
assert cuda.fake_host_bytes() == 0, "what was printed is read, and its memory given back"
cuda.fake_begin_capture(5)
with pytest.warns(RuntimeWarning, match="captured into a graph: what its device_print"):
    for _ in range(20):
        k[(1,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
assert cuda.fake_end_capture(5), "the capture was ended"
assert 16 <= cuda.fake_host_bytes() < 4096
"""
    )
