"""Compiled GPU kernels on disk: what is stored comes back whole or not at all."""

import os
import subprocess
import sys

import pytest
from blockscope import knobs
from blockscope.runtime.backends.cuda import disk_cache

KERNEL = {
    "name": "k",
    "cubin": b"\x00\x01binary\n",
    "ptx": "text\n\u00fc",
    "shared": 7,
    "sites": [],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("BLOCKSCOPE_CACHE", raising=False)
    monkeypatch.delitem(knobs.cache.__dict__, "dir", raising=False)
    return tmp_path / "kernels"


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_written_is_read(folder):
    key = disk_cache.key_of("ir", "sm_90a", [("num_warps", 4)])
    assert disk_cache.read(key) is None
    disk_cache.write(key, KERNEL)
    assert disk_cache.read(key) == KERNEL
    assert [path.suffix for path in files(folder)] == [".kernel"]


def test_keys_depend_on_every_part():
    keys = [
        disk_cache.key_of("ir", "sm_90a"),
        disk_cache.key_of("ir", "sm_80"),
        disk_cache.key_of("irsm_80"),
        disk_cache.key_of("ir2", "sm_90a"),
        disk_cache.key_of("ir", "sm_90a", None),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == disk_cache.key_of("ir", "sm_90a")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-3] + b"\xff" + data[-2:],
        lambda data: b"\x80\x00" + data,
        lambda data: b"{}\n" + data,
        lambda data: b"[1]\n",
    ],
)
def test_damaged_files_count_as_absent(folder, damage):
    key = disk_cache.key_of("ir")
    disk_cache.write(key, KERNEL)
    (path,) = files(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert disk_cache.read(key) is None
    disk_cache.write(key, KERNEL)
    assert disk_cache.read(key) == KERNEL


def test_a_file_under_another_key_is_refused(folder):
    first, second = disk_cache.key_of("a"), disk_cache.key_of("b")
    disk_cache.write(first, KERNEL)
    (path,) = files(folder)
    other = folder / second[:2] / (second[2:] + ".kernel")
    other.parent.mkdir(exist_ok=True)
    path.rename(other)
    assert disk_cache.read(second) is None


def test_off(folder, monkeypatch):
    key = disk_cache.key_of("ir")
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    disk_cache.write(key, KERNEL)
    assert not files(folder) and disk_cache.read(key) is None
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "1")
    disk_cache.write(key, KERNEL)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert disk_cache.read(key) is None


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/dev/null")
    disk_cache.write(disk_cache.key_of("ir"), KERNEL)
    assert disk_cache.read(disk_cache.key_of("ir")) is None


def test_what_was_used_longest_ago_goes_first(folder, monkeypatch):
    keys = [disk_cache.key_of(str(i)) for i in range(4)]
    for age, key in enumerate(keys):
        disk_cache.write(key, {**KERNEL, "cubin": bytes(400_000)})
        path = folder / key[:2] / (key[2:] + ".kernel")
        os.utime(path, (1000 + age, 1000 + age))
    assert disk_cache.read(keys[0])  # used now
    monkeypatch.setenv("BLOCKSCOPE_CACHE_MB", "1")
    disk_cache.clean()
    assert [disk_cache.read(key) is not None for key in keys] == [True, False, False, True]


def test_many_processes_write_and_read_one_key(folder):
    program = (
        "from blockscope.runtime.backends.cuda import disk_cache\n"
        "key = disk_cache.key_of('shared')\n"
        "kernel = {'cubin': bytes(100_000), 'name': 'k'}\n"
        "for _ in range(50):\n"
        "    disk_cache.write(key, kernel)\n"
        "    assert disk_cache.read(key) == kernel\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4
    assert len(files(folder)) == 1
