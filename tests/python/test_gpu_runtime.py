"""The way to the GPU on a machine without one: a fake libcuda, and a compiler that is left out."""

import pytest


def test_the_same_launch_again_goes_the_short_way(run):
    run("""
        x, y = Tensor(4096), Tensor(8192)
        for _ in range(3):
            kernel = k[(7,)](x, y, 100, BLOCK=128)
        assert k._launcher.stored() == 1 and len(compiled) == 1
        assert compiled[0][0] == "sm_90a"
        general, *short = launches()
        assert general == ["k", "7", "1", "1", "128", "0", "0", "0", "4096", "8192", "100"]
        assert short == [["k", "7", "1", "1", "128", "0", "77", "0", "4096", "8192", "100"]] * 2
        assert kernel.n_regs == 40 and kernel.n_max_threads == 1024 and kernel.n_spills == 0
        assert kernel.metadata.num_warps == 4 and kernel.metadata.target.backend == "cuda"
        # Other values of the same kinds are the same kernel.
        k[(7,)](Tensor(1 << 20), y, 77, BLOCK=128)
        assert len(compiled) == 1 and len(launches()) == 4
        assert launches()[-1][-3:] == [str(1 << 20), "8192", "77"]
    """)


def test_tensors_and_streams_through_a_table_of_c(run):
    """torch offers a table of functions; what it does not describe is asked as before."""
    run("""
        import ctypes
        DESCRIBE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
        STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
        class Described(ctypes.Structure):
            _fields_ = (("data", ctypes.c_uint64), ("device", ctypes.c_int * 2),
                        ("rank", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                        ("lanes", ctypes.c_uint16), ("sizes", ctypes.c_uint64 * 2),
                        ("offset", ctypes.c_uint64))
        class Table(ctypes.Structure):
            _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                        ("older", ctypes.c_void_p), ("others", ctypes.c_void_p * 3),
                        ("describe", DESCRIBE), ("stream", STREAM))
        described = []
        @DESCRIBE
        def describe(tensor, to):
            described.append(tensor)
            if tensor.dtype == torch.float16:
                return -1
            result = Described.from_address(to)
            result.data, result.offset, result.device = tensor.address - 16, 16, (2, 0)
            result.code, result.bits, result.lanes = 2, 32, 1
            return 0
        @STREAM
        def stream(kind, device, to):
            assert (kind, device) == (2, 0)
            ctypes.c_uint64.from_address(to).value = 55
            return 0
        table = Table(1, 3, None, (None,) * 3, describe, stream)
        newer = Table(2, 0, ctypes.addressof(table), (None,) * 3, describe, stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        dtypes = [(torch.float32, "float32"), (torch.float16, "float16")]
        for offered in (table, newer):
            capsule = make(ctypes.addressof(offered), b"dlpack_exchange_api", None)
            _core.register_torch(Tensor, Tensor, dtypes, None, capsule)
            described.clear()
            x, y = Tensor(4096), Tensor(8192)
            for _ in range(3):
                k[(7,)](x, y, 100, BLOCK=128)
            assert described == [x, y] * 3
            assert launches()[-1][6] == "55" and launches()[-1][-3:] == ["4096", "8192", "100"]
        assert k._launcher.stored() == 1 and len(compiled) == 1
        assert _core.read_tensor(Tensor(4100, torch.float16)) == (4100, 0, "float16")
        _core.register_torch(Tensor, Tensor, dtypes, lambda device: 77, "no capsule")
        k[(7,)](x, y, 100, BLOCK=128)
        assert launches()[-1][6] == "77"
    """)


def test_code_of_torch_compile_goes_the_short_way(run):
    """``kernel.run`` with Triton's arguments, the kernel's constants given or left out."""
    run("""
        x, y = Tensor(4096), Tensor(8192)
        kernel = k[(7,)](x, y, 100, BLOCK=128, num_warps=2)
        k[(7,)](x, y, 100, BLOCK=128, num_warps=2)
        before, again = k._launcher.short_launches(), kernel.run
        head = (5, 2, 1, 0, kernel.function, kernel.packed_metadata, None, None, None)
        for arguments in ((x, y, 96), (x, y, 96, 128)) * 2:
            again(*head, *arguments)
            assert launches()[-1][:5] == ["k", "5", "2", "1", "64"]
            assert launches()[-1][-3:] == ["4096", "8192", "96"]
        assert len(compiled) == 2, "96 can be divided by 16"
        # The options are given one by one, so the first launch comes through Python.
        assert k._launcher.short_launches() - before == 3
        with pytest.raises(TypeError, match="missing a required argument: 'n'"):
            again(*head, x, y)
        with pytest.raises(TypeError, match="run.. has 3 arguments, expected a grid of three"):
            again(5, 2, 1)
    """)


def test_what_makes_another_kernel(run):
    run(
        """
        x, y = Tensor(4096), Tensor(8192)
        def count(*args, **kwargs):
            before = len(compiled)
            for _ in range(3):
                k[(1,)](*args, **kwargs)
            return len(compiled) - before
        assert count(x, y, 100, BLOCK=128) == 1
        assert count(x, y, 100, 128) == 0
        assert count(x, y, BLOCK=128, n=100) == 0
        assert count(x, y, 100, BLOCK=256) == 1
        assert count(x, y, 112, BLOCK=128) == 1, "divisible by 16"
        assert count(x, y, 1, BLOCK=128) == 1, "1 is a constant"
        assert count(x, y, 1 << 33, BLOCK=128) == 1, "64 bits"
        assert count(x, y, -5, BLOCK=128) == 0
        assert count(Tensor(4100), y, 100, BLOCK=128) == 1, "not divisible by 16"
        assert count(Tensor(4096, torch.float16), y, 100, BLOCK=128) == 1
        assert count(x, y, 2.5, BLOCK=128) == 1
        assert count(x, y, 100, BLOCK=128, num_warps=8) == 1
        assert launches()[-1][4] == "256"
        assert count(x, y, 100, BLOCK=128, num_stages=1) == 1
        assert k._launcher.stored() >= 10
        knobs.runtime.debug = True
        assert count(x, y, 100, BLOCK=128) == 1
        """,
        FAKE_CUDA_ARGUMENTS="2",  # an n of 1 is no argument
    )


def test_an_annotated_number_that_is_1_makes_another_kernel(run):
    run(
        """
        @triton.jit
        def typed(x, y, n: tl.int64):
            tl.static_assert(n.dtype == tl.int64)
            tl.store(y, tl.load(x + n))
        x, y = Tensor(4096), Tensor(8192)
        def count(n):
            before = len(compiled)
            for _ in range(3):
                typed[(1,)](x, y, n)
                assert launches()[-1][-1] == str(n), "it is an argument all the same"
            return len(compiled) - before
        assert [count(n) for n in (3, 1, 5, 1, 16, 1, 3)] == [1, 1, 0, 0, 1, 0, 0]
        """,
        FAKE_CUDA_ARGUMENTS="3",
    )


def test_grids(run):
    run("""
        x, y = Tensor(4096), Tensor(8192)
        seen = []
        def grid(meta):
            seen.append(meta)
            return (triton.cdiv(meta["n"], meta["BLOCK"]), 2)
        for _ in range(3):
            k[grid](x, y, n=1000, BLOCK=128, num_warps=2)
        assert [l[1:4] for l in launches()] == [["8", "2", "1"]] * 3
        assert seen[0]["num_warps"] == seen[2]["num_warps"] == 2
        assert seen[0]["num_stages"] == seen[2]["num_stages"] == 3
        assert seen[2]["x"] is x
        for _ in range(2):
            with pytest.raises(ValueError, match="dimension 1 is 65536, expected at most 65535"):
                k[(1, 65536)](x, y, 100, BLOCK=128)
            with pytest.raises(TypeError, match="missing a required argument"):
                k[(1,)](x, y, BLOCK=128)
            with pytest.raises(KeyError, match="BLOK"):
                k[(1,)](x, y, 100, BLOK=128)
            with pytest.warns(RuntimeWarning, match="no programs"):
                k[(0,)](x, y, 100, BLOCK=128)
        with pytest.raises(ValueError, match="num_warps is 3, expected a power of two"):
            k[(1,)](x, y, 100, BLOCK=128, num_warps=3)
    """)


def test_where_launches_run(run):
    run("""
        x, y = Tensor(4096), Tensor(8192)
        a, b = torch.ones(64), torch.zeros(64)
        k[(1,)](x, y, 64, BLOCK=64)
        k[(1,)](x, y, 64, BLOCK=64)
        count = len(launches())
        k[(1,)](a, b, 64, BLOCK=64)
        assert b[0] == 65 and len(launches()) == count, "CPU tensors run on the CPU"
        with pytest.raises(ValueError, match="argument 'y': tensor is on 'cpu', but"):
            k[(1,)](x, torch.zeros(64)[1:], 64, BLOCK=64)
        entered = []
        knobs.runtime.launch_enter_hook.add(lambda metadata: entered.append(metadata.get()["name"]))
        k[(1,)](x, y, 64, BLOCK=64)
        assert entered == ["k"] and len(launches()) == count + 1
        knobs.runtime.launch_enter_hook.calls.clear()
        hooked = []
        k.add_pre_run_hook(lambda *args, **kwargs: hooked.append(args))
        k[(1,)](x, y, 64, BLOCK=64)
        assert len(hooked) == 1 and len(launches()) == count + 2
        k.pre_run_hooks.clear()
        from blockscope.driver import CPUDriver
        triton.runtime.driver.set_active(CPUDriver())
        with pytest.raises(Exception):
            k[(1,)](x, y, 64, BLOCK=64)  # would be copied, but this is no real tensor
        triton.runtime.driver.reset_active()
        k[(1,)](x, y, 64, BLOCK=64)
        assert len(launches()) == count + 3
    """)


def test_gpu_arrays_are_copied_for_step_mode_and_checks(run):
    run("""
        import ctypes
        memory = (ctypes.c_float * 80)(*[1.0] * 80)
        base = (ctypes.addressof(memory) + 63) // 64 * 64
        class Array:
            def __init__(self, address):
                self.dtype = "float32"
                self.__cuda_array_interface__ = dict(
                    shape=(16,), typestr="<f4", data=(address, False), version=3, strides=None)
        Array.__cuda_array_interface__ = None
        x, y = Array(base), Array(base + 64)
        k[(1,)](x, y, 16, BLOCK=16)
        assert launches()[-1][-3:] == [str(base), str(base + 64), "16"]
        count = len(launches())
        values = ctypes.cast(base, ctypes.POINTER(ctypes.c_float))
        with triton.check("asan") as report:
            k[(1,)](x, y, 16, BLOCK=16)
        assert report.clean and values[16] == 17.0 and values[15] == 1.0
        values[16] = 0
        triton.set_interpret_mode(True)
        k[(1,)](x, y, 16, BLOCK=16)
        assert values[16] == 17.0 and len(launches()) == count
    """)


def test_errors_of_launches(run):
    run(
        """
        x, y = Tensor(4096), Tensor(8192)
        for _ in range(2):
            with pytest.raises(LaunchError, match="a kernel failed on GPU 0: a fake error"):
                k[(5,)](x, y, 100, BLOCK=128)
        with pytest.raises(RuntimeError, match=r"the launch of 'k' on grid \\(5, 1, 1\\)"):
            k[(5,)](x, y, 100, BLOCK=128)
        with pytest.raises(RuntimeError, match="blockscope check --checks asan FILE"):
            k[(5,)](x, y, 100, BLOCK=128)
        """,
        FAKE_CUDA_LAUNCH="700",
    )
    run(
        """
        with pytest.raises(LaunchError, match=r"'k' on grid \\(5, 1, 1\\) with 4 warps cannot"):
            k[(5,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        changes["shared"] = 300000
        with pytest.raises(OutOfResources, match="shared memory, required: 300000, hardware"):
            k[(5,)](Tensor(4096), Tensor(8192), 100, BLOCK=64)
        changes.clear()
        text = "out of resource: shared memory, required: 9, limit: 8"
        _core.gpu.compile = lambda *_: (None, text)
        with pytest.raises(OutOfResources) as caught:
            k[(5,)](Tensor(4096), Tensor(8192), 100, BLOCK=32)
        assert (caught.value.required, caught.value.limit) == (9, 8)
        _core.gpu.compile = lambda *_: (None, "ptxas: line 3: no")
        with pytest.raises(triton.runtime.errors.PTXASError, match="kernel 'k': line 3: no"):
            k[(5,)](Tensor(4096), Tensor(8192), 100, BLOCK=32)
        """,
        FAKE_CUDA_LAUNCH="1",
    )


def test_a_changed_global_compiles_again(run):
    run(
        """
        FACTOR = tl.constexpr(2)

        @triton.jit
        def scaled(x, y):
            tl.store(y, tl.load(x) * FACTOR)

        x, y = Tensor(4096), Tensor(8192)
        for _ in range(3):
            scaled[(1,)](x, y)
        assert len(compiled) == 1 and scaled._launcher.stored() == 1
        FACTOR = tl.constexpr(3)
        for _ in range(3):
            scaled[(1,)](x, y)
        assert len(compiled) == 2 and scaled._launcher.stored() == 1
        """,
        FAKE_CUDA_ARGUMENTS="2",
    )


def test_autotune_leaves_out_what_does_not_fit(run):
    run("""
        def compile_some(builder, arch, settings):
            compiled.append(settings["num_warps"])
            data = compiled_data("k", "x", num_warps=settings["num_warps"])
            return {**data, "shared": 300000 if settings["num_warps"] == 8 else 0}, None

        _core.gpu.compile = compile_some
        timed = []

        def bench(call, quantiles):
            call()
            timed.append(launches()[-1][4])
            return [float(timed[-1])] * 3

        configs = [triton.Config({"BLOCK": 64}, num_warps=w) for w in (8, 4, 2)]
        tuned = triton.autotune(configs, ["n"], do_bench=bench)(k)
        tuned[(1,)](Tensor(4096), Tensor(8192), 100)
        assert timed == ["128", "64"] and tuned.best_config.num_warps == 2
        assert sorted(compiled) == [2, 4, 8], "each was compiled once, before it was timed"
    """)


def test_debug_output(run):
    out = run("""
        import struct
        site = dict(text=" x: ", file="f.py", line=7, function="k", shape=[4], hex=False)
        changes.update(
            takes_debug_buffer=True,
            debug_sites=[dict(site, is_assert=False, values=["fp32"]),
                         dict(site, is_assert=True, text="too big", values=[])],
        )
        from blockscope.runtime.backends.cuda import debug

        def record(site, program, index, *values):
            head = struct.pack("<IiiiII", site, *program, index, len(values))
            return head + b"".join(struct.pack("<Q", value) for value in values)

        records = record(0, (1, 0, 0), 2, struct.unpack("<I", struct.pack("<f", 2.5))[0])
        records += record(0, (0, 0, 0), 3, struct.unpack("<I", struct.pack("<f", 1.5))[0])
        failing = record(1, (0, 1, 0), 1)

        class Filled(debug.DebugBuffer):
            def __init__(self, *args):
                super().__init__(*args)
                _, size, _, _ = struct.unpack_from("<IIII", self.memory.bytes, 0)
                data = records + (failing if fails else b"")
                struct.pack_into("<IIII", self.memory.bytes, 0, len(data), size, int(fails), 0)
                self.memory.bytes[16 : 16 + len(data)] = data

        debug.DebugBuffer = Filled
        fails = False
        for _ in range(2):
            k[(1,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        assert k._launcher.stored() == 0
        fails = True
        with pytest.raises(LaunchError) as caught:
            k[(1,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        text = str(caught.value)
        assert text.startswith("f.py:7: device-side assert failed: too big")
        assert "program (0, 1, 0), element (1) of kernel 'k'" in text
    """)
    assert out.splitlines()[:2] == [
        "pid (0, 0, 0) idx (3) x: 1.500000",
        "pid (1, 0, 0) idx (2) x: 2.500000",
    ]


NO_DRIVER = """
import blockscope as triton
from blockscope import _core
from blockscope.driver.cuda import CudaDriver, why_unavailable

print(_core.gpu.why_unavailable())
assert not CudaDriver.is_active()
assert triton.runtime.driver.active.get_current_target().backend == "cpu"
try:
    CudaDriver()
except RuntimeError as error:
    assert str(error) == _core.gpu.why_unavailable()
"""


@pytest.mark.parametrize(
    "environment, text",
    [
        ({"TRITON_LIBCUDA_PATH": "/nowhere"}, "there is no CUDA driver (/nowhere: "),
        (
            {"FAKE_CUDA_VERSION": "11040"},
            "the CUDA driver is too old: it is of CUDA 11.4",
        ),
        ({"FAKE_CUDA_INIT": "100"}, "the CUDA driver finds no GPU"),
        ({"FAKE_CUDA_INIT": "3"}, "the CUDA driver does not start: a fake error"),
        (
            {"FAKE_CUDA_DEVICES": "0"},
            "the CUDA driver finds no GPU; is CUDA_VISIBLE_DEV",
        ),
    ],
)
def test_why_there_is_no_gpu(run, environment, text):
    out = run("", preamble=NO_DRIVER, TRITON_DEFAULT_BACKEND="", **environment)
    assert out.startswith(text)
    assert "without" in out


def test_a_torch_without_cuda_means_the_cpu(run):
    run("""
        import torch
        from blockscope.driver import cuda as driver
        assert (driver.why_unavailable() is None) == (torch.version.cuda is not None)
        """, preamble="")  # fmt: skip


def test_device_properties(run):
    run("""
        active = triton.runtime.driver.active
        assert active.get_current_target() == triton.backends.compiler.GPUTarget("cuda", 90, 32)
        assert active.get_device_capability() == (9, 0)
        properties = active.utils.get_device_properties(0)
        assert properties["max_shared_mem"] == 232448 and properties["name"] == "Fake GPU"
        assert properties["multiprocessor_count"] == 132
    """)


def test_tensor_maps(run):
    """A map is encoded for the arguments of a launch; a tensor that has none goes to a compilation
    without TMA, which is made once."""
    run(
        """
        MAP = {"element_bytes": 4, "swizzle_bytes": 0, "box": [64, 8], "base": "a0 256 +",
               "sizes": ["a2 s32", "a2 s32 2 *"], "strides": ["a2 s32 4 *"]}
        def compile_two(builder, arch, settings):
            compiled.append(settings["tma"])
            maps = [MAP] if settings["tma"] else []
            name = "k" if settings["tma"] else "plain"
            return compiled_data(name, "x", num_warps=4, tensor_maps=maps), None
        _core.gpu.compile = compile_two

        x, y = Tensor(4096), Tensor(8192)
        for n in (64, 64, 32, 0, 64, -16, 0):
            k[(1,)](x, y, n, BLOCK=64)
        k[(1,)](y, x, 64, BLOCK=64)
        lines = launches()
        names = [line[0] for line in lines]
        assert names == ["map", "k", "k", "map", "k", "plain", "map", "k", "plain", "plain",
                         "map", "k"]
        assert compiled == [True, False]
        assert lines[0][1:] == ["4352", "64", "128", "1024", "64", "8"]
        assert lines[3][1:] == ["4352", "32", "64", "512", "64", "8"]
        assert lines[6][1:] == lines[0][1:]
        assert lines[10][1:] == ["8448", "64", "128", "1024", "64", "8"]
        k.device_caches.clear()
        os.environ["BLOCKSCOPE_TMA"] = "0"
        k[(1,)](x, y, 128.0, BLOCK=64)
        assert compiled == [True, False, False]
        """
    )


def test_a_driver_that_refuses_a_map(run):
    run(
        """
        def compile_two(builder, arch, settings):
            compiled.append(settings["tma"])
            maps = [{"element_bytes": 4, "swizzle_bytes": 0, "box": [64], "base": "a0",
                     "sizes": ["a2 s32"], "strides": []}] if settings["tma"] else []
            return compiled_data("k", "x", num_warps=4, tensor_maps=maps), None
        _core.gpu.compile = compile_two
        for _ in range(3):
            k[(1,)](Tensor(4096), Tensor(8192), 64, BLOCK=64)
        assert compiled == [True, False]
        assert [line[0] for line in launches()] == ["map", "k"] * 3
        """,
        FAKE_CUDA_MAPS="1",
    )


VIEWS = """
        class Storage:
            def __init__(self, address, size):
                self.data_ptr, self.nbytes = lambda: address, lambda: size

        class View(Tensor):
            # A part of a storage.
            def __init__(self, address, storage, size):
                super().__init__(address)
                self.storage = Storage(storage, size)

            def untyped_storage(self):
                return self.storage

        launcher._torch_is_known = True
        _core.register_torch(View, type("Parameter", (View,), {}), [(torch.float32, "float32")],
                             lambda device: 77)

        def compile_two(builder, arch, settings):
            careful = settings["may_overlap"]
            compiled.append(careful)
            assert settings["tma"] != settings["may_be_negative"]
            data = {"disjoint": DISJOINT} if not careful else {}
            return compiled_data("careful" if careful else "k", "x", num_warps=4, **data), None
        _core.gpu.compile = compile_two
"""


@pytest.mark.parametrize("short", [True, False])
def test_arguments_that_overlap_go_to_the_careful_kernel(run, short):
    """By the short way, which begins with the second launch, and by the general one."""
    run(
        VIEWS
        + f"""
        DISJOINT = [(0, 1)]
        STORED = {int(short)}
        if not STORED:
            knobs.runtime.launch_enter_hook = lambda metadata: None
        """
        + """
        x, y = View(4096, 4096, 1024), View(8192, 8192, 1024)
        k[(1,)](x, y, 64, BLOCK=64)
        assert compiled == [False]
        for first, second in (
            (x, y),
            (x, x),
            (x, View(4608, 4096, 1024)),  # another view of the storage
            (y, View(8192, 8128, 65)),  # a storage that has one byte of the other one
            (y, View(8128, 8128, 64)),
            (View(4096, 4096, 0), View(4096, 4096, 0)),  # nothing
            (y, x),
        ):
            k[(1,)](first, second, 64, BLOCK=64)
        names = [line[0] for line in launches()]
        assert names == ["k", "k"] + ["careful"] * 3 + ["k"] * 3
        assert compiled == [False, True]
        assert k._launcher.stored() == STORED
        assert launches()[3][-3:] == ["4096", "4608", "64"]
        # A tensor that does not say where it ends.
        def fails():
            raise RuntimeError("no storage")
        z = View(16384, 16384, 64)
        z.untyped_storage = fails
        k[(1,)](x, z, 64, BLOCK=64)
        assert launches()[-1][0] == "careful"
        """
    )


@pytest.mark.parametrize("short", [True, False])
def test_what_does_not_overlap_is_relied_on(run, short):
    """Also TMA, until a tensor has no map. What asks for more than was checked is made again."""
    run(
        VIEWS
        + f"""
        STORED = {int(short)}
        if not STORED:
            knobs.runtime.launch_enter_hook = lambda metadata: None
        """
        + """
        @triton.jit
        def three(x, y, z, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, i < n) + n, i < n)

        MAP = {"element_bytes": 4, "swizzle_bytes": 0, "box": [64], "base": "a0",
               "sizes": ["a3 s32"], "strides": []}
        def compile_many(builder, arch, settings):
            known = tuple(settings["known_disjoint"])
            has_sizes = not settings["may_be_negative"]
            compiled.append((settings["tma"], has_sizes, settings["may_overlap"], known))
            name = "k" + "".join(f"{b}" for _, b in known) + "-" * (not has_sizes)
            data = {} if settings["may_overlap"] else {"disjoint": [(0, 1), (0, 2)]}
            if has_sizes and settings["may_overlap"]:
                data["at_least"] = [(3, 32, 0)] if known == ((0, 2),) else []
            maps = [MAP] if settings["tma"] else []
            return compiled_data(name, "x", num_warps=4, tensor_maps=maps, **data), None
        _core.gpu.compile = compile_many
        x, y, z = (View(at, at, 1024) for at in (4096, 8192, 16384))
        for _ in range(2):
            for arguments in ((x, y, z), (x, y, x), (x, x, z), (x, y, x), (x, x, x)):
                three[(1,)](*arguments, 64, BLOCK=64)
        three[(1,)](x, y, x, 0, BLOCK=64)
        names = [line[0] for line in launches() if line[0] != "map"]
        assert names == ["k", "k1", "k2-", "k1", "k"] * 2 + ["k-"], names
        assert compiled == [
            (True, True, False, ()), (True, True, True, ((0, 1),)),
            (True, True, True, ((0, 2),)), (True, False, True, ((0, 2),)),
            (True, True, True, ()), (False, False, True, ()),
        ], compiled
        assert three._launcher.stored() == STORED
        """
    )


def test_arguments_of_other_libraries_may_overlap(run):
    run(
        VIEWS
        + """
        DISJOINT = [(0, 1)]
        class Other(Tensor):
            pass
        x, y = View(4096, 4096, 1024), Other(8192)
        for _ in range(3):
            k[(1,)](x, y, 64, BLOCK=64)
        assert [line[0] for line in launches()] == ["careful"] * 3
        """
    )


def test_no_pairs_ask_for_no_storage(run):
    run(
        VIEWS
        + """
        DISJOINT = []
        x = View(4096, 4096, 1024)
        x.untyped_storage = None
        for _ in range(3):
            k[(1,)](x, x, 64, BLOCK=64)
        assert [line[0] for line in launches()] == ["k"] * 3 and compiled == [False]
        """
    )


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("short", [True, False])
def test_small_numbers_go_to_the_careful_kernel(run, short, least):
    run(
        VIEWS
        + f"""
        LEAST = {least}
        if not {short}:
            knobs.runtime.launch_enter_hook = lambda metadata: None
        """
        + """
        DISJOINT = []
        compile_k = _core.gpu.compile
        def relying(builder, arch, settings):
            data, error = compile_k(builder, arch, settings)
            relied_on = [] if settings["may_be_negative"] else [(2, 32, LEAST)]
            return data | {"at_least": relied_on}, error
        _core.gpu.compile = relying
        x, y = View(4096, 4096, 1024), View(8192, 8192, 1024)
        for count in (64, 64, -64, 0, -(1 << 31), 16):
            k[(1,)](x, y, count, BLOCK=64)
        names = [line[0] for line in launches()]
        at_zero = ["k", "careful"][LEAST]
        assert names == ["k", "k", "careful", at_zero, "careful", "k"], names
        assert compiled == [False, True]
        """
    )


def test_descriptors_that_overlap(run):
    run(
        VIEWS
        + """
        from blockscope.tools.tensor_descriptor import TensorDescriptor

        @triton.jit
        def copy(x, y, BLOCK: tl.constexpr):
            y.store([0], x.load([0]))

        # A descriptor is a base, a size and a stride that is compiled in.
        DISJOINT = [(0, 2)]
        def view(address, storage):
            made = View(address, storage, 1024)
            made.shape, made.stride, made.ndim = (64,), lambda *axis: (1,), 1
            return TensorDescriptor(made, [64], [1], [64])
        x, y, part = view(4096, 4096), view(8192, 8192), view(4352, 4096)
        for first, second in ((x, y), (x, y), (x, part), (part, y), (y, y)):
            copy[(1,)](first, second, BLOCK=64)
        names = [line[0] for line in launches()]
        assert names == ["k", "k", "careful", "k", "careful"]
        assert copy._launcher.stored() == 1 and compiled == [False, True]
        """,
        FAKE_CUDA_ARGUMENTS="4",
    )


def test_a_forked_child_launches_on_the_cpu_alone(run):
    run("""
        import numpy as np

        def check_in_child():
            with pytest.raises(LaunchError, match="started before this process was forked"):
                k[(7,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
            assert "forked" in _core.gpu.why_unavailable()
            x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
            k[(1,)](x, y, 100, BLOCK=128)
            assert (y == x + 100).all()

        k[(7,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        k[(7,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                check_in_child()
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        k[(7,)](Tensor(4096), Tensor(8192), 100, BLOCK=128)
        assert len(launches()) == 3
    """)


def test_hooks_around_loading_and_unloading(run):
    run("""
        import gc
        seen = []
        def told(when):
            def hook(module, function, name, group, hash):
                seen.append((when, bool(function), name))
            return hook
        knobs.runtime.kernel_load_start_hook.add(told("begins"))
        knobs.runtime.kernel_load_end_hook.add(told("ends"))
        knobs.runtime.kernel_unload_hook.add(told("unloads"))
        x, y = Tensor(4096), Tensor(8192)
        for _ in range(2):
            kernel = k[(1,)](x, y, 100, BLOCK=128)
        assert seen == [("begins", False, "k"), ("ends", True, "k")]
        assert kernel.module and kernel.function
        k.device_caches.clear()
        del kernel
        gc.collect()
        assert seen[2:] == [("unloads", True, "k")]
        kernel = k.warmup(x, y, 100, BLOCK=128, grid=(1,))
        kernel._init_handles()
        kernel.__del__()
        assert kernel.module is kernel.function is None and seen[5:] == [("unloads", True, "k")]
    """)


def test_parameters_that_are_called_as_options_are_both(run):
    run(
        """
        @triton.jit
        def both(x, y, n, BLOCK: tl.constexpr, num_stages: tl.constexpr, num_warps: tl.constexpr):
            i = tl.arange(0, BLOCK)
            for _ in tl.range(0, n, num_stages=num_stages):
                tl.store(y + i, tl.load(x + i) + num_warps)

        x, y = Tensor(4096), Tensor(8192)
        kernel = both.warmup(x, y, 100, BLOCK=128, num_stages=2, num_warps=8, grid=(1,))
        assert (compiled[0][1]["num_stages"], compiled[0][1]["num_warps"]) == (2, 8)
        assert (kernel.metadata.num_stages, kernel.metadata.num_warps) == (2, 8)
        for _ in range(2):
            kernel[(3, 1, 1)](x, y, 100, 128, 2, 8)
            assert launches()[-1][1:5] == ["3", "1", "1", "256"]
        both[(5,)](x, y, 100, 128, 2, 8)
        both[(5,)](x, y, 100, BLOCK=128, num_stages=2, num_warps=8)
        assert launches()[-1][1:5] == ["5", "1", "1", "256"] and len(compiled) == 1
        both[(5,)](x, y, 100, BLOCK=128, num_stages=2, num_warps=4)
        assert launches()[-1][1:5] == ["5", "1", "1", "128"] and len(compiled) == 2
        """
    )
