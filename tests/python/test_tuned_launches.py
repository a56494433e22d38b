"""Autotuned kernels whose launches C++ repeats: it launches what the autotuner would."""

import copy

import blockscope as triton
import blockscope.language as tl
import pytest
import torch
from blockscope import knobs


def untimed(call, quantiles=None):
    call()
    return [1.0, 1.0, 1.0]


def scaled(configs=None, key=("n",), **options):
    """A kernel that stores what its configuration says, and its autotuner."""

    @triton.jit
    def scaled(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr = 64):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) * FACTOR, i < n)

    if configs is None:
        configs = [triton.Config({"FACTOR": factor}, num_warps=2) for factor in (2, 3)]
    return triton.autotune(configs=configs, key=list(key), do_bench=untimed, **options)(scaled)


class Counted:
    """How often an autotuner's own ``run`` is called."""

    def __init__(self, tuner):
        self.count, self.tuner = 0, tuner

        def general(grid, *args, **kwargs):
            self.count += 1
            return type(tuner)._run_on(tuner, grid, *args, **kwargs)

        tuner._run_on = general

    def of(self, launch):
        before = self.count
        launch()
        return self.count - before


@pytest.fixture
def x():
    return torch.ones(64)


def test_the_choice_is_launched_again(x):
    tuner, out = scaled(), torch.zeros(64)
    counted = Counted(tuner)
    launch = lambda: tuner[(1,)](x, out, 64)
    assert [counted.of(launch) for _ in range(3)] == [1, 0, 0]
    assert out[5] == 2 and tuner.best_config is tuner.configs[0]
    by_name = lambda: tuner[lambda meta: (meta["FACTOR"] // 2,)](x, n=64, out=out, BLOCK=64)
    assert [counted.of(by_name) for _ in range(2)] == [1, 0]
    assert tuner.fn._launcher.short_launches() >= 3
    assert counted.of(lambda: tuner[(1,)](x, out, 32)) == 1, "another key"
    assert counted.of(lambda: tuner[(1,)](x.half(), out, 64)) == 1, "another dtype"
    assert counted.of(launch) == 0 and len(tuner.cache) == 3


def test_choices_that_change_are_noticed(x):
    tuner, out = scaled(), torch.zeros(64)
    counted = Counted(tuner)
    launch = lambda: tuner[(1,)](x, out, 64)
    launch()
    first, second = tuner.configs
    for key in tuner.cache:
        tuner.cache[key] = second
    assert counted.of(launch) == 1 and out[5] == 3 and tuner.best_config is second
    assert counted.of(launch) == 0
    second.kwargs["FACTOR"] = 5
    assert counted.of(launch) == 1 and out[5] == 5
    seen = []
    second.pre_hook = lambda arguments: seen.append(arguments)
    assert counted.of(launch) == 1 and counted.of(launch) == 0
    assert len(seen) == 2 and seen[0].keys() == seen[1].keys() >= {"x", "out", "n", "FACTOR"}
    assert seen[1]["num_warps"] == 2 and seen[0]["grid"] == seen[1]["grid"] == (1,)
    tuner.cache.clear()
    assert counted.of(launch) == 1 and tuner.best_config is first and out[5] == 2
    tuner.configs = [triton.Config({"FACTOR": 7})]
    assert counted.of(launch) == 1 and out[5] == 7
    assert counted.of(launch) == 0
    tuner.run = lambda *args, **kwargs: "mine"
    assert launch() == "mine"


def test_hooks_of_configurations(x):
    """They are called once for each launch, before it, and their errors come through."""
    seen, out = [], torch.zeros(64)

    def hook(arguments):
        seen.append(arguments["n"])
        arguments["out"].zero_()
        if len(seen) == 4:
            raise KeyError("hook")

    tuner = scaled([triton.Config({"FACTOR": 2}, pre_hook=hook)])
    counted = Counted(tuner)
    for _ in range(3):
        tuner[(1,)](x, out, 64)
    assert seen == [64] * 3 and out[5] == 2 and counted.count == 1
    with pytest.raises(KeyError, match="hook"):
        tuner[(1,)](x, out, 64)
    assert out[5] == 0


def test_a_hook_may_change_a_descriptor(x):
    """As in Triton's tutorials: the block of a descriptor made on the host is chosen with it."""
    from blockscope.tools.tensor_descriptor import TensorDescriptor

    @triton.jit
    def copy(source, out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), tl.sum(source.load([0, 0]), 0))

    def choose(arguments):
        arguments["source"].block_shape = [arguments["BLOCK"], arguments["BLOCK"]]

    configs = [triton.Config({"BLOCK": 16}, pre_hook=choose)]
    tuner = triton.autotune(configs=configs, key=[])(copy)
    counted, out = Counted(tuner), torch.zeros(64)
    for _ in range(3):
        source = TensorDescriptor.from_tensor(torch.ones(32, 32), [1, 16])
        tuner[(1,)](source, out)
    assert out.sum() == 256 and counted.count == 1


def test_what_goes_through_python(x):
    tuner, out = scaled(), torch.zeros(64)
    counted = Counted(tuner)
    launch = lambda: tuner[(1,)](x, out, 64)
    launch()
    with triton.check("asan"):
        assert counted.of(launch) == 1
    called = []
    knobs.runtime.launch_enter_hook.add(called.append)
    assert counted.of(launch) == 1 and len(called) == 1
    knobs.runtime.launch_enter_hook.calls = []  # another list
    assert counted.of(launch) == 0 and len(called) == 1
    tuner.fn.add_pre_run_hook(lambda *args, **kwargs: called.append(kwargs["FACTOR"]))
    launch()
    assert called[1:] == [2]
    with pytest.raises(ValueError, match="autotune chooses"):
        tuner[(1,)](x, out, 64, FACTOR=3)
    with pytest.raises(TypeError, match="missing a required argument"):
        tuner[(1,)](x, out)

    class Own(type(tuner)):
        def run(self, *args, **kwargs):
            called.append("own")
            return super().run(*args, **kwargs)

    own = Own(tuner.fn, tuner.arg_names, tuner.configs[:1], [], None, None)
    own[(1,)](x, out, 64)
    own[(1,)](x, out, 64)
    assert called.count("own") == 2


def test_kernels_that_are_no_jit_function(x):
    """Heuristics below autotune choose for each launch."""

    @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=[])
    @triton.heuristics({"FACTOR": lambda arguments: arguments["n"] // 8})
    @triton.jit
    def scaled(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) * FACTOR, i < n)

    out = torch.zeros(64)
    for n in (16, 24, 16):
        scaled[(1,)](x, out, n)
        assert out[5] == n // 8


def test_a_copy_has_launches_of_its_own(x):
    tuner, out = scaled(), torch.zeros(64)
    for _ in range(2):
        tuner[(1,)](x, out, 64)
    other = copy.copy(tuner)
    assert other.fn is tuner.fn and other.cache is tuner.cache
    counted = Counted(other)
    assert [counted.of(lambda: other[(1,)](x, out, 64)) for _ in range(2)] == [1, 0]
