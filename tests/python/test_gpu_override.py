"""Compiled GPU kernels that users keep elsewhere, and stages that they put in place of ours."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest
from blockscope import knobs
from blockscope.errors import NotYetSupported, OptionNotSupported, PTXASError
from blockscope.runtime import cache

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def store_seven(x_ptr):
    tl.store(x_ptr, 7)


def compiled(**options: Any) -> Any:
    store_seven.device_caches.clear()
    return store_seven.warmup(tl.int32, grid=(1,), arch="sm_90a", **options)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: Any) -> Any:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    with knobs.cache.scope(), knobs.compilation.scope(), knobs.runtime.scope():
        yield


def with_eight(ptx: str) -> str:
    changed = ptx.replace(", 7;", ", 8;")
    assert changed != ptx
    return changed


def test_an_edited_dump_takes_the_place_of_a_stage(tmp_path: Path, capfd: Any) -> None:
    knobs.cache.dump_dir = str(tmp_path / "dump")
    knobs.cache.override_dir = str(tmp_path / "override")
    knobs.compilation.dump_ir = True
    before = compiled()
    knobs.compilation.dump_ir = False
    shutil.copytree(tmp_path / "dump", tmp_path / "override")
    knobs.compilation.override = True
    assert compiled().asm["cubin"] == before.asm["cubin"]  # nothing was edited
    file = tmp_path / "override" / before.hash / "store_seven.ptx"
    file.write_text(with_eight(file.read_text()))
    after = compiled()
    assert after.asm["ptx"] == file.read_text() and after.hash == before.hash
    assert after.asm["cubin"] != before.asm["cubin"] and after.n_regs > 0
    assert f"with files of {file.parent}" in capfd.readouterr().out
    file.write_text("not PTX")
    with pytest.raises(PTXASError, match="Missing .version directive"):
        compiled()
    file.unlink()
    (file.parent / "store_seven.cubin").write_bytes(b"mine")
    assert compiled().asm["cubin"] == b"mine"
    earlier = file.parent / "store_seven.tl"
    earlier.write_text(earlier.read_text().replace("7", "8"))
    with pytest.raises(NotYetSupported, match="'tl' is overridden, expected 'ptx' or 'cubin'"):
        compiled()
    knobs.compilation.override = False
    assert compiled().asm["cubin"] == before.asm["cubin"]  # none of it was kept


def test_a_file_for_one_launch(tmp_path: Path) -> None:
    before = compiled()
    file = tmp_path / "mine.ptx"
    file.write_text(with_eight(before.asm["ptx"]))
    assert compiled(ir_override=str(file)).asm["ptx"] == file.read_text()
    assert compiled().asm["ptx"] == before.asm["ptx"]
    with pytest.raises(OptionNotSupported, match=r"expected a file .ptx or .cubin"):
        compiled(ir_override="kernel.ttir")


def test_a_hook_sees_the_stages_and_may_change_the_last_ones() -> None:
    seen: list[Any] = []
    before = compiled()

    def hook(backend=None, stages=None, options=None, language=None, capability=None):  # type: ignore[no-untyped-def]
        if stages is None:
            return "key", "digest"
        seen.append((list(stages), options.num_warps, capability))
        make = stages["ptx"]
        stages["ptx"] = lambda source, metadata: with_eight(make(source, metadata))
        return None

    knobs.runtime.add_stages_inspection_hook = hook
    after = compiled()
    assert seen == [(["tl", "plan", "tlg", "llir", "ptx", "cubin"], 4, 90)]
    assert after.asm["ptx"] == with_eight(before.asm["ptx"]) and after.hash != before.hash
    knobs.runtime.add_stages_inspection_hook = lambda *a: (
        a[1].update(more=None) if a else ("k", "h")
    )
    with pytest.raises(NotYetSupported, match="added or removed the stage 'more'"):
        compiled()


def test_a_hook_for_stages_is_asked_at_each_launch_on_the_cpu() -> None:
    calls: list[int] = []

    def hook(*arguments: Any) -> Any:
        calls.append(len(arguments))
        return None if arguments else ("key", f"digest {len(calls) > 4}")

    x = torch.zeros(1, dtype=torch.int32)
    store_seven.device_caches.clear()
    store_seven[(1,)](x)
    knobs.runtime.add_stages_inspection_hook = hook
    for _ in range(4):
        store_seven[(1,)](x)
    assert calls == [0, 5, 0, 0, 0, 5] and len(store_seven.kernels) == 3
    knobs.runtime.add_stages_inspection_hook = None
    short = store_seven._launcher.short_launches()
    store_seven[(1,)](x)
    assert len(calls) == 6 and store_seven._launcher.short_launches() == short + 1


def test_only_the_binary_is_stored(tmp_path: Path) -> None:
    knobs.compilation.store_binary_only = True
    for is_hit in (False, True):
        kernel = compiled()
        assert kernel.asm["cubin"] and ("ptx" in kernel.asm) is not is_hit
    with pytest.raises(KeyError, match="no stage 'ptx'"):
        kernel.asm["ptx"]
    knobs.compilation.store_binary_only = False
    assert compiled().asm["ptx"] and compiled().asm["tl"]


class Store(cache.RemoteCacheBackend):
    """A store for many machines, of which this process has one."""

    files: dict[tuple[str, str], bytes] = {}  # noqa: RUF012

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        names = [name for name in filenames if (self.key, name) in self.files]
        return {name: self.files[self.key, name] for name in names}

    def put(self, filename: str, data: bytes) -> None:
        self.files[self.key, filename] = data


class Counted(cache.FileCacheManager):
    """A cache manager of a user."""

    puts: list[str] = []  # noqa: RUF012

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        self.puts.append(filename)
        return super().put(data, filename, binary)


STAGES = {f"store_seven.{end}" for end in ("tl", "plan", "tlg", "llir", "ptx", "cubin", "json")}


def heard() -> list[Any]:
    seen: list[Any] = []
    knobs.compilation.listener = lambda **told: seen.append(told)
    return seen


def test_a_cache_manager_of_the_user() -> None:
    knobs.cache.manager_class = Counted
    seen = heard()
    made, again = compiled(), compiled()
    assert set(Counted.puts) == STAGES | {"__grp__store_seven.json"}
    assert len(Counted.puts) == len(STAGES) + 1
    assert [told["cache_hit"] for told in seen] == [False, True]
    assert dict(again.asm) == dict(made.asm) and again.metadata == made.metadata
    assert set(again.metadata_group) == STAGES == set(seen[1]["metadata_group"])
    Path(again.metadata_group["store_seven.cubin"]).unlink()
    compiled()
    assert not seen[2]["cache_hit"]


def test_kernels_in_a_remote_store(tmp_path: Path) -> None:
    knobs.cache.manager_class = cache.RemoteCacheManager
    with pytest.raises(RuntimeError, match="needs TRITON_REMOTE_CACHE_BACKEND"):
        compiled()
    knobs.cache.remote_manager_class = Store
    seen = heard()
    made = compiled()
    shutil.rmtree(tmp_path / "cache")  # as on another machine
    assert compiled().asm["cubin"] == made.asm["cubin"]
    assert [told["cache_hit"] for told in seen] == [False, True]
    for key in [key for key in Store.files if key[1].endswith(".ptx")]:
        del Store.files[key]
    compiled()
    assert not seen[2]["cache_hit"]


def test_redis_keeps_files_under_its_names(monkeypatch: Any) -> None:
    kept: dict[str, bytes] = {}

    class Redis:
        def __init__(self, host: str, port: int) -> None:
            assert (host, port) == ("cachehost", 7)

        def mget(self, names: list[str]) -> list[Any]:
            return [kept.get(name) for name in names]

        def set(self, name: str, data: bytes) -> None:
            kept[name] = data

    import sys
    import types

    module = types.ModuleType("redis")
    module.Redis = Redis  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "redis", module)
    with knobs.redis.scope():
        knobs.cache.redis.host, knobs.cache.redis.port = "cachehost", 7
        store = cache.RedisRemoteCacheBackend("aa")
        store.put("k.ptx", b"text")
        assert kept == {"triton:aa:k.ptx": b"text"}
        assert store.get(["k.ptx", "k.cubin"]) == {"k.ptx": b"text"}
