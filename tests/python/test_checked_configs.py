"""Under a check every configuration of an autotuned kernel runs, and leaves what one run leaves."""

import json

import blockscope
import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope import Config
from blockscope.errors import AutotunerError
from blockscope.launch_file.container import Writer
from blockscope.launch_file.contents import File
from blockscope.launch_file.recorder import Recorder
from blockscope.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_one(x_ptr, seen_ptr, n, BLOCK: tl.constexpr, SIZE: tl.constexpr = 0):
    tl.static_assert(BLOCK < 4096)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, x + 1)
    tl.atomic_add(seen_ptr, 1)


CONFIGS = [
    Config({"BLOCK": 64}),
    Config({"BLOCK": 64}, num_warps=8),
    Config({"BLOCK": 128}),
    Config({"BLOCK": 4096}),  # does not compile
    Config({"BLOCK": 32}),
]


def tuned(configs=CONFIGS, key=("n",), **options):
    """The kernel, and the blocks of its launches in their order."""
    blocks = []
    kernel = triton.autotune(list(configs), key=list(key), **options)(add_one)

    def grid(meta):
        blocks.append(meta["BLOCK"])
        return (triton.cdiv(192, meta["BLOCK"]),)

    return kernel, blocks, grid


def arrays(library):
    whole = np.zeros(320, np.float32)
    seen = np.zeros(1, np.int32)
    if library == "numpy":
        return whole[32:224], seen, whole
    whole = torch.from_numpy(whole)
    return whole[32:224], torch.from_numpy(seen), whole


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("step", [False, True])
def test_every_configuration_is_checked_and_the_arguments_hold_one_run(library, step):
    kernel, blocks, grid = tuned()
    x, seen, whole = arrays(library)
    with blockscope.knobs.runtime.scope(), blockscope.check("asan") as report:
        blockscope.set_interpret_mode(step)
        kernel[grid](x, seen, 192)
    assert [b for b in blocks if b != 4096] == [64, 128, 32]
    assert [(f.code, f.meta_parameters["BLOCK"]) for f in report] == [("outside-view", "128")] * 2
    assert (x == 1).all() and whole.sum() == 192 and int(seen[0]) == 3
    assert kernel.best_config.kwargs == {"BLOCK": 64}


def test_a_check_runs_them_once_for_each_key_also_of_a_kernel_that_was_tuned_before():
    kernel, blocks, grid = tuned(CONFIGS[:3])
    x, seen, _ = arrays("torch")
    kernel.cache[(192, "torch.float32", "torch.int32")] = CONFIGS[2]
    with blockscope.check("asan"):
        for _ in range(2):
            kernel[grid](x, seen, 192)
        assert blocks == [128, 64, 128]
        kernel[grid](x, seen, 193)
        assert blocks == [128, 64, 128, 64, 128]
    with blockscope.check("asan"):
        kernel[grid](x, seen, 192)
    assert blocks[5:] == [128, 64]


def test_pruned_configurations_are_not_run():
    def prune(configs, named, **kwargs):
        assert named["n"] == 192
        return [config for config in configs if config.kwargs["BLOCK"] < 128]

    kernel, blocks, grid = tuned(prune_configs_by={"early_config_prune": prune})
    x, seen, _ = arrays("torch")
    with blockscope.check("asan") as report:
        kernel[grid](x, seen, 192)
    assert blocks == [64, 32] and report.clean


def test_hooks_are_called_as_when_tuning():
    said = []
    configs = [
        Config({"BLOCK": 64}, pre_hook=lambda named: said.append(named["BLOCK"])),
        Config({"BLOCK": 32}, pre_hook=lambda named: said.append(named["BLOCK"])),
    ]
    kernel, _, grid = tuned(configs, reset_to_zero=["seen_ptr"], restore_value=["x_ptr"])
    x, seen, _ = arrays("torch")
    with blockscope.check("asan"):
        kernel[grid](x, seen, 192)
    assert said == [64, 32] and int(seen[0]) == 3 and (x == 1).all()


@triton.jit
def copied(x_desc, out_desc, BLOCK: tl.constexpr):
    at = [tl.program_id(0) * BLOCK]
    out_desc.store(at, x_desc.load(at) + tl.zeros([BLOCK], tl.float32))


def test_hooks_give_descriptors_the_block_of_each_configuration():
    def shape(named):
        for name in ("x_desc", "out_desc"):
            named[name].block_shape = [named["BLOCK"]]

    configs = [Config({"BLOCK": block}, pre_hook=shape) for block in (64, 16, 32)]
    kernel = triton.autotune(configs, key=[])(copied)
    x, out = torch.arange(192.0), torch.zeros(192)
    descriptors = [TensorDescriptor.from_tensor(each, [1]) for each in (x, out)]
    with blockscope.check("asan") as report:
        kernel[lambda meta: (192 // meta["BLOCK"],)](*descriptors)
    assert report.clean and torch.equal(x, out)
    assert [each.block_shape for each in descriptors] == [[64], [64]]


@pytest.mark.parametrize("is_first", [True, False])
def test_what_cannot_be_checked_is_noted(is_first, tmp_path):
    kernel, blocks, grid = tuned([CONFIGS[0], CONFIGS[2]])
    x, seen, _ = arrays("torch")
    with blockscope.check("asan") as report, blockscope.trace(tmp_path / "t.h5") as trace:
        for _ in range(2):
            kernel[grid](x, seen, 192)
    assert trace.launches == 2 and blocks == [64, 64]
    (finding,) = json.loads(report.json())
    assert (finding["code"], finding["severity"]) == ("unchecked-configs", "note")
    assert finding["message"] == (
        "1 of 2 configurations of 'add_one' was checked: a trace holds the chosen one alone"
    )
    assert finding["line"] == add_one.fn.__code__.co_firstlineno
    assert finding["meta_parameters"] == {"BLOCK": "64", "SIZE": "0", "n": "192"}
    assert report.error_count == 0 and report.text().endswith("0 errors, 0 warnings, 1 note")


class Opaque:
    """A tensor of some library, of which nobody can make a copy."""

    def __init__(self, tensor):
        self.tensor, self.shape, self.dtype = tensor, tensor.shape, tensor.dtype

    def __getattr__(self, name):
        if name == "untyped_storage":
            raise AttributeError(name)
        return getattr(self.tensor, name)

    def data_ptr(self):
        return self.tensor.data_ptr()


def test_an_argument_that_cannot_be_copied_is_noted():
    kernel, blocks, grid = tuned([CONFIGS[0], CONFIGS[2]])
    x, seen, _ = arrays("torch")
    with blockscope.check("asan") as report:
        kernel[grid](Opaque(x), seen, 192)
    assert blocks == [64]
    (finding,) = report
    assert finding.message.endswith("Opaque, cannot be copied")


@pytest.mark.parametrize("step", [False, True])
def test_configurations_that_are_timed_take_no_numbers(step, tmp_path):
    kernel, _, grid = tuned(do_bench=lambda call, quantiles: [call(), call(), 1.0][2:] * 3)
    x, seen, _ = arrays("torch")
    writer = Writer(str(tmp_path / "run.blk"))
    recorder = Recorder(writer)
    blockscope._core.number_next_launch(0)
    with blockscope.knobs.runtime.scope(), recorder.recording():
        blockscope.set_interpret_mode(step)
        kernel[grid](x, seen, 192)
        add_one[(3,)](x, seen, 192, BLOCK=64)
        kernel[grid](x, seen, 192)
    writer.close(recorder.head())
    file = File(str(tmp_path / "run.blk"))
    found = [each.number for each in file.launches]
    file.close()
    assert found[-3:] == [0, 1, 2] and set(found) == {0, 1, 2}


@triton.jit
def past_the_end(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + 4096 + tl.arange(0, BLOCK), 0.0)


def test_a_finding_of_a_configuration_has_the_number_of_the_launch():
    kernel, _, grid = tuned()
    x, seen, _ = arrays("torch")
    blockscope._core.number_next_launch(7)
    with blockscope.check("asan,outputs") as report:
        kernel[grid](x, seen, 192)
        past_the_end[(1,)](x, BLOCK=16)
    launches = {(f["launch"], f["meta_parameters"]["BLOCK"]) for f in json.loads(report.json())}
    assert launches == {(7, "128"), (7, "64"), (8, "16")}


def test_a_launch_that_cannot_be_tuned_takes_one_number():
    kernel, _, grid = tuned([CONFIGS[3], Config({"BLOCK": 8192})])
    x, seen, _ = arrays("torch")
    for step in (False, True):
        blockscope._core.number_next_launch(3)
        with blockscope.knobs.runtime.scope(), pytest.raises(AutotunerError):
            blockscope.set_interpret_mode(step)
            kernel[grid](x, seen, 192)
        assert blockscope._core.next_launch_number() == 4
