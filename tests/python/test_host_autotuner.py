"""autotune, Config and heuristics: choice, key, pruning, hooks, disk cache, errors."""

import inspect
import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope import checks, errors, knobs, timing
from blockscope.runtime import tried_configs
from blockscope.runtime.autotuner import Config, autotune, heuristics


class Kernel:
    """Stands for a @jit function: records its launches, fails where it is told to."""

    def __init__(self, arg_names, action=lambda arguments: None):
        self.arg_names = arg_names
        self.action = action
        self.launches = []
        self.__name__ = "kernel"
        self.cache_key = "key"

        def fn():
            pass

        fn.__name__ = "kernel"
        self.fn = fn

    def run(self, *args, grid=None, warmup=False, **kwargs):
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        self.launches.append(arguments)
        self.action(arguments)
        return "compiled"

    def warmup(self, *args, **kwargs):
        return self.run(*args, **kwargs)


CONFIGS = [Config({"BLOCK": size}) for size in (64, 128, 256)]


def bench_by_block(times):
    """A timer that takes the time from the block of the last launch."""

    def bench(kernel, call):
        call()
        return [times[kernel.launches[-1]["BLOCK"]]] * 3

    return bench


def tuned(kernel, times, configs=CONFIGS, **options):
    bench = bench_by_block(times)
    return autotune(
        configs=configs, key=["n"], do_bench=lambda call, quantiles: bench(kernel, call), **options
    )(kernel)


def test_fastest_config_is_chosen_once_for_each_key():
    kernel = Kernel(["x", "n", "BLOCK"])
    tuner = tuned(kernel, {64: 3.0, 128: 1.0, 256: 2.0})
    x = np.zeros(4, np.float32)
    assert tuner[(1,)](x, 4) == "compiled"
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    assert kernel.launches[-1]["BLOCK"] == 128
    assert {c.kwargs["BLOCK"]: t[0] for c, t in tuner.configs_timings.items()} == {
        64: 3.0, 128: 1.0, 256: 2.0,
    }  # fmt: skip
    count = len(kernel.launches)
    tuner[(1,)](x, 4)
    assert len(kernel.launches) == count + 1
    tuner[(1,)](x, 5)
    assert len(kernel.launches) == count + 1 + 4


def test_dtypes_belong_to_the_key():
    kernel = Kernel(["x", "n", "BLOCK"])
    tuner = tuned(kernel, {64: 3.0, 128: 1.0, 256: 2.0})
    tuner[(1,)](np.zeros(4, np.float32), 4)
    tuner[(1,)](np.zeros(4, np.float16), 4)
    assert set(tuner.cache) == {(4, "float32"), (4, "float16")}


def test_one_config_is_not_timed():
    kernel = Kernel(["x", "n", "BLOCK"])
    tuner = autotune([Config({"BLOCK": 64}, num_warps=8)], key=["n"])(kernel)
    tuner[(1,)](None, 4)
    assert len(kernel.launches) == 1
    assert kernel.launches[0]["num_warps"] == 8


def test_no_configs_means_the_defaults():
    kernel = Kernel(["x", "n"])
    autotune([], key=["n"])(kernel)[(1,)](None, 4)
    assert kernel.launches[0]["num_stages"] == 3


def test_early_config_prune_sees_arguments_and_keywords():
    seen = {}

    def prune(configs, named_args, **kwargs):
        seen.update(named_args, **kwargs)
        return [c for c in configs if c.kwargs["BLOCK"] <= 128]

    kernel = Kernel(["x", "n", "BLOCK", "flag"])
    tuner = tuned(
        kernel, {64: 3.0, 128: 2.0, 256: 1.0}, prune_configs_by={"early_config_prune": prune}
    )
    tuner[(1,)](None, 4, flag=True)
    assert tuner.best_config.kwargs["BLOCK"] == 128
    assert seen["n"] == 4 and seen["flag"] is True


@pytest.mark.parametrize("top_k, expected", [(1, 1), (2, 2), (0.5, 1), (0.01, 1)])
def test_perf_model_keeps_the_top_k(top_k, expected):
    kernel = Kernel(["x", "n", "BLOCK"])
    tuner = tuned(
        kernel,
        {64: 1.0, 128: 1.0, 256: 1.0},
        prune_configs_by={"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": top_k},
    )
    tuner.nargs = {"x": None, "n": 4}
    kept = tuner.prune_configs({})
    assert len(kept) == expected
    assert kept[0].kwargs["BLOCK"] == 256


def test_pruning_everything_is_an_error():
    tuner = tuned(
        Kernel(["x", "n", "BLOCK"]), {}, prune_configs_by={"early_config_prune": lambda *a, **k: []}
    )
    with pytest.raises(errors.AutotunerError, match="No valid autotuner configs after pruning"):
        tuner[(1,)](None, 4)


@pytest.mark.parametrize("other", ["CompileTimeAssertionFailure", "OptionNotSupported"])
def test_failing_configs_count_as_infinite(other):
    def action(arguments):
        if arguments["BLOCK"] == 64:
            raise errors.OutOfResources(300, 200, "shared memory")
        if arguments["BLOCK"] == 128:
            raise getattr(errors, other)("no")

    kernel = Kernel(["x", "n", "BLOCK"], action)
    tuner = tuned(kernel, {256: 9.0})
    tuner[(1,)](None, 4)
    assert tuner.best_config.kwargs["BLOCK"] == 256
    assert sorted(t[0] for t in tuner.configs_timings.values()) == [9.0, float("inf"), float("inf")]


def test_no_config_that_runs_is_an_error():
    def action(arguments):
        raise errors.OutOfResources(300, 200, "shared memory")

    with pytest.raises(errors.AutotunerError, match="none of the 3 configurations of 'kernel'"):
        tuned(Kernel(["x", "n", "BLOCK"], action), {})[(1,)](None, 4)


def test_reset_to_zero_and_restore_value():
    def action(arguments):
        arguments["out"] += 1
        arguments["state"] *= 2

    kernel = Kernel(["out", "state", "n", "BLOCK"], action)
    tuner = tuned(
        kernel, {64: 3.0, 128: 1.0, 256: 2.0}, reset_to_zero=["out"], restore_value=["state"]
    )
    out, state = np.full(3, 5.0), np.full(3, 7.0)
    tuner[(1,)](out, state, 4)
    assert out.tolist() == [1, 1, 1]
    assert state.tolist() == [14, 14, 14]


def test_reset_of_an_unknown_argument_names_it():
    tuner = tuned(Kernel(["x", "n", "BLOCK"]), {}, reset_to_zero=["y"])
    with pytest.raises(ValueError, match="'y' in 'reset_to_zero'"):
        tuner[(1,)](None, 4)


def test_hooks():
    calls = []
    kernel = Kernel(["x", "n", "BLOCK"])
    tuner = tuned(
        kernel,
        {64: 1.0, 128: 2.0},
        configs=[Config({"BLOCK": 64}, pre_hook=lambda a: calls.append(("config", a["BLOCK"]))),
                 Config({"BLOCK": 128})],
        pre_hook=lambda a, reset_only=False: calls.append(("pre", a["BLOCK"], reset_only)),
        post_hook=lambda a, exception: calls.append(("post", a["BLOCK"], exception)),
    )  # fmt: skip
    tuner[(1,)](None, 4)
    assert calls == [
        ("config", 64), ("pre", 64, False), ("post", 64, None),
        ("pre", 128, False), ("post", 128, None),
        ("pre", 64, True), ("config", 64),
    ]  # fmt: skip


@triton.jit
def store_block(o, n, BLOCK: tl.constexpr):
    tl.store(o, BLOCK * 1.0)


def test_a_key_that_is_no_parameter_is_a_warning():
    configs = [Config({"BLOCK": 64}), Config({"BLOCK": 128})]
    text = r"'store_block' has 'N' in 'key', which is no parameter .* did you mean 'n'\?"
    with pytest.warns(RuntimeWarning, match=text):
        autotune(configs, key=["N"])(store_block)


@pytest.mark.parametrize("step", [False, True], ids=["whole", "step"])
@pytest.mark.parametrize("count", [1, 2])
def test_conflicting_meta_parameter(step, count):
    """The same error before and after tuning, with one configuration too, in every way to give."""
    tuner = autotune([Config({"BLOCK": 4 * i}) for i in (1, 2)][:count], key=["n"])(store_block)
    o = torch.zeros(1)

    def refused(name, *args, **kwargs):
        with pytest.raises(
            ValueError,
            match=rf"'store_block' was launched with '{name}', which autotune chooses "
            r"\(config: BLOCK: 4, num_warps: 4, .*\); leave it out",
        ):
            tuner[(1,)](*args, **kwargs)
        with pytest.raises(ValueError, match=f"'{name}', which autotune chooses"):
            tuner.warmup(*args, grid=(1,), **kwargs)

    triton.set_interpret_mode(step)
    try:
        for _ in range(2):
            refused("BLOCK", o, 1, BLOCK=4)
            refused("BLOCK", o, 1, 16)
            refused("num_warps", o, 1, num_warps=8)
            tuner[(1,)](o, 1)
            assert o.item() == tuner.best_config.kwargs["BLOCK"]
    finally:
        triton.set_interpret_mode(False)


def test_conflict_with_another_configuration_than_the_best():
    configs = [Config({"BLOCK": 64}), Config({"BLOCK": 128, "UNROLL": 2})]
    kernel = Kernel(["x", "n", "BLOCK", "UNROLL"])
    tuner = tuned(kernel, {64: 1.0, 128: 2.0}, configs)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"'UNROLL', .* \(config: BLOCK: 128, UNROLL: 2,"):
            tuner[(1,)](None, 4, UNROLL=1)
        tuner[(1,)](None, 4)
    assert tuner.best_config is configs[0]


def test_conflict_with_a_configuration_made_by_pruning():
    made = Config({"BLOCK": 8, "SPLIT": 2})
    prune = {"early_config_prune": lambda configs, named, **rest: [made]}
    tuner = tuned(Kernel(["x", "n", "BLOCK", "SPLIT"]), {}, prune_configs_by=prune)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"'SPLIT', which autotune chooses"):
            tuner[(1,)](None, 4, SPLIT=1)
    tuner[(1,)](None, 4)


def test_built_in_timer_ignores_what_the_cpu_ignores():
    kernel = Kernel(["x", "n", "BLOCK"])
    configs = [Config({"BLOCK": 64}, num_warps=w, num_stages=s) for w in (1, 2, 4) for s in (1, 2)]
    tuner = autotune(configs, key=["n"])(kernel)
    tuner[(1,)](None, 4)
    assert len(tuner.configs_timings) == 6
    assert len({tuple(t) for t in tuner.configs_timings.values()}) == 1
    assert {launch["num_warps"] for launch in kernel.launches} == {1}


def test_step_mode_takes_the_first_config_that_runs(monkeypatch):
    def action(arguments):
        if arguments["BLOCK"] == 64:
            raise errors.OutOfResources(300, 200, "shared memory")

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernel = Kernel(["x", "n", "BLOCK"], action)
    tuner = autotune(CONFIGS, key=["n"])(kernel)
    tuner[(1,)](None, 4)
    assert [launch["BLOCK"] for launch in kernel.launches] == [64, 128]
    assert tuner.best_config.kwargs["BLOCK"] == 128


def test_nothing_is_timed_under_a_check(monkeypatch):
    monkeypatch.setattr(checks, "_sessions", (object(),))
    kernel = Kernel(["x", "n", "BLOCK"])
    autotune(CONFIGS, key=["n"])(kernel)[(1,)](None, 4)
    assert len(kernel.launches) == 1


def test_timings_are_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    times = {64: 3.0, 128: 1.0, 256: 2.0}
    first = Kernel(["x", "n", "BLOCK"])
    tuned(first, times, cache_results=True)[(1,)](None, 4)
    assert len(first.launches) == 4
    second = Kernel(["x", "n", "BLOCK"])
    tuner = tuned(second, times, cache_results=True)
    tuner[(1,)](None, 4)
    assert len(second.launches) == 1
    assert tuner.best_config.kwargs["BLOCK"] == 128
    (file,) = tmp_path.rglob("kernel.autotune.json")
    assert json.loads(file.read_text())["key"] == ["4"]
    file.write_text("{")  # a damaged file is made anew
    third = Kernel(["x", "n", "BLOCK"])
    tuned(third, times, cache_results=True)[(1,)](None, 4)
    assert len(third.launches) == 4


def test_knob_turns_the_disk_cache_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", "1")
    assert tuned(Kernel(["x", "n", "BLOCK"]), {}).cache_results


def test_listener_and_printing(capsys):
    heard = []
    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **event: heard.append(event)
        knobs.autotuning.print = True
        tuned(Kernel(["x", "n", "BLOCK"]), {64: 3.0, 128: 1.0, 256: 2.0})[(1,)](None, 4)
    assert heard[0]["best_config"].kwargs["BLOCK"] == 128 and heard[0]["cache_hit"] is False
    assert "best: BLOCK: 128" in capsys.readouterr().out


def test_warmup_compiles_every_config():
    kernel = Kernel(["x", "n", "BLOCK"])
    assert tuned(kernel, {}).warmup(None, 4, grid=(1,)) == ["compiled"] * 3


def test_old_timer_options_warn():
    with pytest.warns(DeprecationWarning, match="deprecated"):
        autotune(CONFIGS, key=["n"], warmup=1, rep=2)(Kernel(["x", "n", "BLOCK"]))


def test_bad_decoration():
    with pytest.raises(TypeError, match=r"put @triton\.jit below it"):
        autotune(CONFIGS, key=["n"])(lambda: None)
    with pytest.raises(TypeError, match=r"expected triton\.Config"):
        autotune([{"BLOCK": 64}], key=["n"])(Kernel(["n"]))
    with pytest.warns(RuntimeWarning, match="'prune' in 'prune_configs_by', which prunes nothing"):
        autotune(CONFIGS, key=["n"], prune_configs_by={"prune": None})(Kernel(["n"]))


def test_config():
    config = Config({"BLOCK": 64}, num_warps=8, num_stages=2, maxnreg=128)
    assert config.all_kwargs() == {
        "BLOCK": 64, "num_warps": 8, "num_ctas": 1, "num_stages": 2, "maxnreg": 128,
    }  # fmt: skip
    assert str(config) == "BLOCK: 64, num_warps: 8, num_ctas: 1, num_stages: 2, maxnreg: 128"
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(Config({"A": [1]})) == hash(Config({"A": [1]}))
    assert Config({"A": 1}) != Config({"A": 2})
    assert "num_cpu_threads" in inspect.signature(Config).parameters
    with pytest.raises(TypeError, match="expected a dict"):
        Config(64)


def test_heuristics():
    kernel = Kernel(["x", "n", "BLOCK", "EVEN"])
    wrapped = heuristics(
        {"BLOCK": lambda args: args["n"] * 2, "EVEN": lambda args: args["n"] % args["BLOCK"] == 0}
    )(kernel)
    wrapped[(1,)](None, 4)
    assert kernel.launches[-1]["BLOCK"] == 8 and kernel.launches[-1]["EVEN"] is False


def test_heuristic_that_returns_a_dict_is_unpacked():
    kernel = Kernel(["x", "n", "BLOCK"])
    heuristics({"BLOCK": lambda args: {"BLOCK": 128, "num_warps": 8}})(kernel)[(1,)](None, 4)
    assert kernel.launches[-1]["BLOCK"] == 128 and kernel.launches[-1]["num_warps"] == 8


def test_heuristic_that_is_no_function():
    with pytest.raises(TypeError, match="got int for 'BLOCK'"):
        heuristics({"BLOCK": 128})


def test_heuristics_below_autotune():
    kernel = Kernel(["x", "n", "BLOCK", "EVEN"])
    inner = heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})(kernel)
    tuner = tuned(kernel, {64: 3.0, 128: 1.0, 256: 2.0})
    tuner.fn = inner
    tuner[(1,)](None, 256)
    assert kernel.launches[-1]["EVEN"] is True
    assert tuner.jit_function is kernel


def test_a_stored_choice_depends_on_what_the_kernel_calls(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))

    def launches(helper):
        kernel = Kernel(["x", "n", "BLOCK"])

        def fn():
            helper()

        kernel.fn = fn
        tuned(kernel, {64: 3.0, 128: 1.0, 256: 2.0}, cache_results=True)[(1,)](None, 4)
        return len(kernel.launches)

    def one():
        return 1

    def two():
        return 2

    assert [launches(one), launches(one), launches(two)] == [4, 1, 4]


def test_threads_do_not_share_the_arguments_of_a_call():
    """Eight threads tune for keys of their own; each one's state is put back after each run."""

    def action(arguments):
        value = arguments["state"][0]
        time.sleep(0.001)
        assert arguments["state"][0] == value
        arguments["state"] *= 2

    kernel = Kernel(["state", "n", "BLOCK"], action)
    tuner = autotune(
        CONFIGS, key=["n"], restore_value=["state"],
        do_bench=lambda call, quantiles: [call() and 1.0] * 3,
    )(kernel)  # fmt: skip
    states = [np.full(3, float(n + 1)) for n in range(8)]
    seen = []

    def prune(configs, named_args, **kwargs):
        seen.append(named_args["n"] == int(named_args["state"][0]))
        return configs

    tuner.early_config_prune = prune
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: tuner[(1,)](states[n], n + 1), range(8)))
    assert [s[0] for s in states] == [2.0 * (n + 1) for n in range(8)]
    assert len(seen) == 8 and all(seen)
    assert tuner.nargs is None


def test_one_thread_tunes_a_key_and_the_others_wait_for_it():
    kernel = Kernel(["x", "n", "BLOCK"], lambda arguments: time.sleep(0.005))
    tuner = tuned(kernel, {64: 3.0, 128: 1.0, 256: 2.0})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: tuner[(1,)](None, 4), range(8)))
    assert len(kernel.launches) == 3 + 8


def test_a_slow_configuration_is_given_up_after_its_first_runs(monkeypatch):
    """On a GPU; the stand-in for it says what five runs take, and counts whole measurements."""
    first = {64: [1.0, 0.9, 1.1], 128: [2.5, 2.3, 2.6], 256: [0.8, 0.7, 0.9]}
    kernel = Kernel(["x", "n", "BLOCK"])
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(kernel.launches[-1]["BLOCK"])
        return first[measured[-1]]

    tuner = autotune(CONFIGS, key=["n"])(kernel)
    monkeypatch.setattr(tried_configs, "go_to_gpu", lambda args, kwargs: True)
    monkeypatch.setattr(type(tuner), "do_bench", property(lambda self: bench))
    monkeypatch.setattr(
        timing, "first_times_on_gpu",
        lambda driver, call: (call(), first[kernel.launches[-1]["BLOCK"]])[1],
    )  # fmt: skip
    tuner[(1,)](None, 4)
    assert measured == [64, 256]
    assert tuner.best_config.kwargs["BLOCK"] == 256
    assert {c.kwargs["BLOCK"]: t[0] for c, t in tuner.configs_timings.items()}[128] == 2.5


def test_a_misspelt_option_of_a_config_is_an_error_there():
    with pytest.raises(TypeError, match="Config got 'num_warp', .* did you mean 'num_warps'"):
        Config({"BLOCK": 64}, num_warp=4)
    assert Config({}, waves_per_eu=2).all_kwargs()["waves_per_eu"] == 2
