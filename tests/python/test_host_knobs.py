"""Settings: environment, Python values, scopes; hooks; the cache folder; small host functions."""

import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from blockscope import errors, host, knobs
from blockscope.runtime import cache

GROUPS = ("build", "redis", "cache", "compilation", "autotuning", "runtime", "language", "nvidia",
          "amd", "proton")  # fmt: skip


def test_there_are_74_knobs_in_10_groups():
    assert sum(len(getattr(knobs, group).knobs) for group in GROUPS) == 74


PAGE = (Path(__file__).parents[2] / "docs/host.md").read_text(encoding="utf-8")


def test_the_page_lists_what_does_nothing():
    inert = knobs.without_effect()
    assert len(inert) > 50
    assert {name for name in inert if f"`{name}`" not in PAGE} == set()
    sentence = next(line for line in PAGE.splitlines() if line.startswith("These do nothing"))
    assert re.findall(r"`(\w+)`", sentence) == inert


def test_a_knob_that_does_nothing_says_so_once(monkeypatch):
    monkeypatch.setattr(knobs, "_said", set())
    with warnings.catch_warnings(record=True) as seen, knobs.amd.scope(), knobs.proton.scope():
        warnings.simplefilter("always")
        knobs.amd.use_buffer_ops = True  # the default
        knobs.amd.use_block_pingpong = None
        knobs.compilation.dump_ir = knobs.env
        assert seen == []
        for value in (True, False):
            knobs.amd.use_async_copy = value
        knobs.proton.roctx_library = "other.so"
    texts = [str(warning.message) for warning in seen]
    assert texts == [
        "TRITON_HIP_USE_ASYNC_COPY has no effect in Blockscope",
        "TRITON_ROCTX_LIBRARY has no effect in Blockscope",
    ]
    assert {warning.filename for warning in seen} == {__file__}


def test_a_variable_that_does_nothing_says_so():
    variables = {"MLIR_ENABLE_TIMING": "1", "TRITON_ENABLE_NVTX": "1", "AMDGCN_ENABLE_DUMP": "0"}
    done = subprocess.run(
        [sys.executable, "-c", "import blockscope.knobs"],
        env={**os.environ, **variables}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr.count("has no effect") == 1
    assert "RuntimeWarning: MLIR_ENABLE_TIMING has no effect in Blockscope" in done.stderr


def test_tools_have_a_path_and_a_version(tmp_path, monkeypatch):
    monkeypatch.delenv("TRITON_NVDISASM_PATH", raising=False)
    tool = tmp_path / "my tool"
    tool.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.99'\n")
    tool.chmod(0o755)
    with knobs.nvidia.scope():
        knobs.nvidia.nvdisasm = str(tool)
        assert knobs.nvidia.nvdisasm == knobs.NvidiaTool(str(tool), "12.4")
        assert os.environ["TRITON_NVDISASM_PATH"] == knobs.nvidia.chosen_path("nvdisasm")
        knobs.nvidia.nvdisasm = "/no/such/tool"
        with pytest.raises(RuntimeError, match="Cannot find nvdisasm at /no/such/tool"):
            knobs.nvidia.nvdisasm  # noqa: B018
        assert knobs.nvidia.knobs["nvdisasm"] is None
        del knobs.nvidia.nvdisasm
        monkeypatch.setenv("TRITON_NVDISASM_PATH", str(tool))
        assert knobs.nvidia.nvdisasm.path == str(tool)


def test_fusing_can_be_asked_for_and_forbidden(monkeypatch):
    monkeypatch.delenv("TRITON_DEFAULT_FP_FUSION", raising=False)
    with knobs.language.scope():
        enabled = knobs.language.fp_fusion_enabled
        assert (enabled(None), enabled(True), enabled(False)) == (True, True, False)
        knobs.language.default_fp_fusion = False
        assert (enabled(None), enabled(True)) == (False, True)
        knobs.language.force_disable_fp_fusion = True
        assert not enabled(True)


def test_files_make_knobs_of_their_own(monkeypatch):
    class group(knobs.base_knobs):
        name: knobs.env_str = knobs.env_str("MY_NAME", "a")
        size: knobs.env_int = knobs.env_int("MY_SIZE", 3)
        flag: knobs.env_bool = knobs.env_bool("MY_FLAG")
        kind: knobs.env_class = knobs.env_class("MY_KIND", "PurePath")
        path = knobs.env_str_callable_default("MY_PATH", lambda: "here")

    mine = group()
    assert mine.knobs == {"name": "a", "size": 3, "flag": False, "kind": None, "path": "here"}
    monkeypatch.setenv("MY_KIND", "pathlib:Path")
    monkeypatch.setenv("MY_SIZE", "5")
    assert mine.kind is Path and mine.size == 5
    monkeypatch.setenv("MY_KIND", "fractions:Fraction")
    with pytest.raises(ValueError, match="expected a class derived from PurePath"):
        mine.kind  # noqa: B018


def test_every_knob_has_its_own_variable():
    keys = [k.key for g in GROUPS for k in getattr(knobs, g).knob_descriptors.values()]
    assert len(set(keys)) == len(keys)


def test_environment_decides_until_python_does(monkeypatch):
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE", raising=False)
    assert knobs.compilation.always_compile is False
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "on")
    assert knobs.compilation.always_compile is True
    with knobs.compilation.scope():
        knobs.compilation.always_compile = False
        assert os.environ["TRITON_ALWAYS_COMPILE"] == "0"
        assert knobs.compilation.always_compile is False
    assert knobs.compilation.always_compile is True
    assert os.environ["TRITON_ALWAYS_COMPILE"] == "on"


def test_env_and_reset_forget_the_python_value(monkeypatch):
    monkeypatch.setenv("TRITON_REDIS_PORT", "1")
    with knobs.redis.scope():
        knobs.redis.port = 2
        os.environ["TRITON_REDIS_PORT"] = "3"
        assert knobs.redis.port == 2
        knobs.redis.port = knobs.env
        assert knobs.redis.port == 3
        knobs.redis.port = 4
        os.environ["TRITON_REDIS_PORT"] = "5"
        assert knobs.redis.reset().port == 5


def test_copy_is_independent(monkeypatch):
    with knobs.autotuning.scope():
        copy = knobs.autotuning.copy()
        knobs.propagate_env = False
        try:
            copy.print = True
        finally:
            knobs.propagate_env = True
        assert copy.print is True and knobs.autotuning.print is False


def test_none_removes_the_variable(monkeypatch):
    monkeypatch.setenv("CC", "gcc")
    with knobs.build.scope():
        knobs.build.cc = None
        assert "CC" not in os.environ and knobs.build.cc is None
    assert knobs.build.cc == "gcc"


def test_bad_values_name_the_variable(monkeypatch):
    monkeypatch.setenv("TRITON_REDIS_PORT", "many")
    with pytest.raises(ValueError, match="TRITON_REDIS_PORT is 'many': expected a whole number"):
        knobs.redis.port  # noqa: B018
    monkeypatch.setenv("TRITON_INTERPRET", "perhaps")
    with pytest.raises(ValueError, match="TRITON_INTERPRET is 'perhaps': expected 0 or 1"):
        knobs.runtime.interpret  # noqa: B018


def test_class_knob(monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "blockscope.runtime.cache:FileCacheManager")
    assert knobs.cache.manager_class is cache.FileCacheManager
    monkeypatch.setenv("TRITON_CACHE_MANAGER", "nowhere")
    with pytest.raises(ValueError, match="expected MODULE:CLASS"):
        knobs.cache.manager_class  # noqa: B018


def test_refresh(monkeypatch):
    monkeypatch.setenv("TRITON_DEBUG", "1")
    knobs.refresh_knobs()
    assert knobs.runtime.debug is True
    monkeypatch.delenv("TRITON_DEBUG")
    knobs.refresh_knobs()
    assert knobs.runtime.debug is False


def test_hook_chain():
    calls = []
    chain = knobs.HookChain()
    assert not chain
    first = lambda x: calls.append(("first", x))
    chain.add(first)
    chain.add(first)
    chain.add(lambda x: calls.append(("second", x)))
    chain(1)
    assert calls == [("first", 1), ("second", 1)]
    chain.remove(first)
    chain.remove(first)
    assert len(chain.calls) == 1
    backwards = knobs.HookChain(reversed=True)
    order = []
    backwards.add(lambda: order.append(1))
    backwards.add(lambda: order.append(2))
    backwards()
    assert order == [2, 1]


def test_lazy_dict():
    data = knobs.LazyDict({"name": "kernel"})
    data.add(lambda x: {"flops": x * 2}, (3,))
    assert data["flops"] == 6 and data.get() == {"name": "kernel", "flops": 6}


def test_cache_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    manager = cache.get_cache_manager("00ff")
    assert manager.get_file("a.json") is None
    path = manager.put("text", "a.json", binary=False)
    assert manager.get_file("a.json") == path and open(path).read() == "text"
    manager.put(b"new", "a.json")
    assert open(path, "rb").read() == b"new"
    manager.put_group("g", {"a.json": path})
    assert manager.get_group("g") == {"a.json": path}
    manager.put_group("g", {"a.json": path, "gone": str(tmp_path / "gone")})
    assert manager.get_group("g") is None
    assert manager.get_group("other") is None
    assert not list(tmp_path.rglob(".partial-*"))


def test_cdiv_and_next_power_of_2():
    assert [host.cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [host.next_power_of_2(n) for n in (0, 1, 2, 3, 1000, 1 << 40)] == [
        0, 1, 2, 4, 1024, 1 << 40,
    ]  # fmt: skip
    assert host.next_power_of_2(5.0) == 8
    with pytest.raises(TypeError, match="expected a whole number"):
        host.next_power_of_2("5")


def test_allocator():
    with pytest.raises(RuntimeError, match="no allocator is set"):
        host.get_allocator()(1, 1, None)
    host.set_allocator(lambda size, alignment, stream: bytearray(size))
    try:
        assert len(host.get_allocator()(3, 1, None)) == 3
    finally:
        host.set_allocator(None)
    with pytest.raises(TypeError, match="set_allocator got int"):
        host.set_allocator(3)


def test_interpret_mode(monkeypatch):
    with knobs.runtime.scope():
        host.set_interpret_mode(True)
        assert knobs.runtime.interpret is True and os.environ["TRITON_INTERPRET"] == "1"
        host.set_interpret_mode(False)
        assert knobs.runtime.interpret is False


def test_errors():
    error = errors.OutOfResources(300, 200, "shared memory")
    assert str(error).startswith(
        "out of resource: shared memory, required: 300, hardware limit: 200"
    )
    assert isinstance(errors.CompileTimeAssertionFailure("x"), errors.CompilationError)
    assert isinstance(errors.UnsupportedLanguageConstruct("x"), errors.TritonError)
    placed = errors.CompilationError(
        None, None, "no", file="a.py", line=3, column=2, source_line=" x", calls=[("b.py", 9)]
    )
    assert str(placed) == "a.py:3:2: error: no\n   x\n   ^\n  called from b.py:9"
    whole = errors.CompilationError("a.py:1:2: error: x")
    others = errors.PTXASError("y"), errors.SanitizerError("z"), errors.InterpreterError("i")
    for original in (placed, error, whole, *others):
        assert str(pickle.loads(pickle.dumps(original))) == str(original)


def test_compilation_error_with_tritons_arguments():
    import ast

    source = "def k():\n  x = 1 < 2 < 3\n"
    node = ast.parse(source).body[0].body[0].value
    error = errors.CompilationError(source, node, "no chains")
    assert str(error) == "at 2:7: error: no chains\n    x = 1 < 2 < 3\n        ^"
