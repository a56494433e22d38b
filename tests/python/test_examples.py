"""Every example is right in both CPU modes, with the same bits, and clean under asan and tsan.

All examples run in one process for each way of running them; the commands are tried on one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "harness")
# Sizes that keep the tests short; a name that is missing here runs with its own size.
SIZES = {
    "attention": 80, "attention_backward": 40, "cross_entropy": 1500, "cumsum": 300,
    "dropout": 3000, "histogram": 3000, "layer_norm": 1100, "layer_norm_backward": 200,
    "matmul": 96, "softmax": 3000, "vector_add": 5000,
}  # fmt: skip
WAYS = {  # checks, variables
    "whole": ("-", {}),
    "one thread": ("-", {"BLOCKSCOPE_THREADS": "1"}),
    "five threads": ("-", {"BLOCKSCOPE_THREADS": "5"}),
    "step": ("-", {"TRITON_INTERPRET": "1"}),
    "checked": ("asan,tsan", {}),
}


def environment(variables, python_path=()):
    kept = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "TRITON_DEBUG")}
    paths = [*map(str, python_path), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {}), **variables}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pytestconfig):
    """way -> (folder of the outputs, name -> result); a way runs when it is first asked for."""
    done = {}
    limit_s = float(pytestconfig.getini("timeout")) - 20

    def results(way):
        if way not in done:
            checks, variables = WAYS[way]
            folder = tmp_path_factory.mktemp(way.replace(" ", "_"))
            words = [f"{name}:{SIZES.get(name, '')}" for name in NAMES]
            runner = Path(__file__).with_name("example_runner.py")
            process = subprocess.run(
                [sys.executable, runner, folder, checks, *words],
                capture_output=True, text=True, env=environment(variables), timeout=limit_s,
            )  # fmt: skip
            lines = (folder / "results.jsonl").read_text().splitlines()
            by_name = {result["name"]: result for result in map(json.loads, lines)}
            missing = {"status": "not reached", "text": process.stderr[-2000:], "findings": []}
            done[way] = folder, {name: by_name.get(name, missing) for name in NAMES}
        return done[way]

    return results


def outputs(runs, way, name):
    """The output bits of one example, by label; checks that it ended well."""
    folder, results = runs(way)
    result = results[name]
    assert result["status"] == 0, f"{result['status']}\n{result['text']}"
    assert result["text"].startswith(f"{name}: ok"), result["text"]
    with np.load(folder / f"{name}.npz") as file:
        return {label: file[label] for label in file.files}


def assert_same_bits(ours, theirs):
    assert ours and list(ours) == list(theirs)
    for label in ours:
        if not label.endswith("~"):  # ~: its rounding depends on the order of execution
            np.testing.assert_array_equal(ours[label], theirs[label], err_msg=label)


def test_the_list_is_not_empty():
    assert len(NAMES) >= 16


@pytest.mark.parametrize("name", NAMES)
def test_both_modes_give_the_same_bits(runs, name):
    assert_same_bits(outputs(runs, "whole", name), outputs(runs, "step", name))


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(runs, name):
    assert_same_bits(outputs(runs, "one thread", name), outputs(runs, "five threads", name))


@pytest.mark.parametrize("name", NAMES)
def test_clean_under_all_checks(runs, name):
    outputs(runs, "checked", name)
    assert runs("checked")[1][name]["findings"] == []


def copy_of_vector_add(tmp_path, old, new):
    text = (EXAMPLES / "vector_add.py").read_text()
    assert old in text
    (tmp_path / "changed.py").write_text(text.replace(old, new))
    return tmp_path / "changed.py"


def test_a_wrong_example_exits_with_1(tmp_path):
    wrong = copy_of_vector_add(tmp_path, "x + y, mask", "x - y, mask")
    done = subprocess.run(
        [sys.executable, "-m", "blockscope", "run", wrong, "--size", "100"],
        capture_output=True, text=True, env=environment({}, [EXAMPLES]),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "WRONG" in done.stdout


def test_a_broken_copy_is_reported_by_triton_san(tmp_path):
    load = "tl.load(y_ptr + offsets"
    broken = copy_of_vector_add(tmp_path, load + ", mask=mask)", load + ")")
    for file, status in ((broken, 66), (EXAMPLES / "vector_add.py", 0)):
        done = subprocess.run(
            [Path(sys.executable).with_name("triton-san"), "asan", "python", file],
            capture_output=True, text=True, env=environment({}, [EXAMPLES]),
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        assert ("error[oob-load]" in done.stderr) == (status == 66), done.stderr
