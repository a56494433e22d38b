"""Folders that code is loaded from: only those that no other user can change."""

import os
import stat
import warnings
from types import SimpleNamespace as Entry

import pytest
from blockscope import knobs
from blockscope.runtime import cache, private_folder
from blockscope.runtime.backends.cuda import disk_cache

STRANGER = 54321


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(private_folder, "_warned", set())


@pytest.fixture
def home(tmp_path):
    assert private_folder.why_not_private(tmp_path) is None
    return tmp_path


@pytest.fixture
def give(monkeypatch):
    """Gives a path to another user: for real as root, else by being another user oneself."""

    def to_stranger(path):
        if os.geteuid() == 0:
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: STRANGER)

    return to_stranger


def test_a_folder_is_made_for_this_user_alone(home):
    for _ in range(2):
        private_folder.make(home / "a/b")
        for made in (home / "a", home / "a/b"):
            assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_folder_that_others_may_write_is_refused(home, mode):
    (home / "shared").mkdir()
    (home / "shared").chmod(mode)
    expected = f"others may write '{home / 'shared'}' (mode {mode:04o})"
    assert private_folder.why_not_private(home / "shared") == expected
    with pytest.raises(private_folder.NotPrivate, match="others may write"):
        private_folder.make(home / "shared")


def test_a_folder_below_one_that_others_may_write_is_refused(home):
    (home / "shared/mine").mkdir(parents=True)
    (home / "shared").chmod(0o777)
    assert private_folder.why_not_private(home / "shared/mine").startswith("others may write")
    with pytest.raises(private_folder.NotPrivate):
        private_folder.make(home / "shared/new")
    assert not (home / "shared/new").exists()


def test_a_folder_in_a_sticky_one_is_fine_if_it_is_ours(home, give):
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    private_folder.make(home / "tmp/mine")
    assert private_folder.why_not_private(home / "tmp/mine") is None
    give(home / "tmp/mine")
    assert "belongs to" in private_folder.why_not_private(home / "tmp/mine")


def test_a_folder_of_another_user_is_refused(home, give):
    private_folder.make(home / "theirs/kernels")
    give(home / "theirs")
    for path in (home / "theirs", home / "theirs/kernels"):
        assert "belongs to" in private_folder.why_not_private(path)


def test_links_count_for_what_they_lead_to(home):
    (home / "shared").mkdir()
    (home / "shared").chmod(0o777)
    (home / "mine").mkdir()
    (home / "to_shared").symlink_to(home / "shared")
    assert private_folder.why_not_private(home / "to_shared").startswith("others may write")
    (home / "to_mine").symlink_to(home / "mine")
    assert private_folder.why_not_private(home / "to_mine") is None


def test_a_group_may_write_only_if_it_is_our_own(home, monkeypatch):
    (home / "group").mkdir()
    (home / "group").chmod(0o770)
    for own, reason in ((True, None), (False, f"others may write '{home / 'group'}' (mode 0770)")):
        monkeypatch.setattr(private_folder, "_is_own_group", lambda *_, own=own: own)
        assert private_folder.why_not_private(home / "group") == reason


def test_our_own_group_has_our_name_and_nobody_else(home, monkeypatch):
    def is_own(name, members, primary=7):
        monkeypatch.setattr("pwd.getpwuid", lambda _: Entry(pw_name="me", pw_gid=primary))
        monkeypatch.setattr("grp.getgrgid", lambda _: Entry(gr_name=name, gr_mem=members))
        return private_folder._is_own_group(home, 7)

    assert is_own("me", []) and is_own("me", ["me"])
    assert not is_own("staff", []) and not is_own("me", ["you"]) and not is_own("me", [], 8)


def test_files_that_others_can_change_are_not_read(home, give):
    path = home / "file"
    with pytest.raises(FileNotFoundError):
        private_folder.read(path)
    path.write_bytes(b"code")
    path.chmod(0o644)
    assert private_folder.read(path) == b"code"
    path.chmod(0o666)
    with pytest.raises(private_folder.NotPrivate, match="others may write"):
        private_folder.read(path)
    path.chmod(0o600)
    give(path)
    with pytest.raises(private_folder.NotPrivate, match="belongs to"):
        private_folder.read(path)


# -- the caches ---------------------------------------------------------------------------------

KERNEL = {"name": "k", "cubin": b"code"}


@pytest.fixture
def folder(home, monkeypatch):
    monkeypatch.delenv("BLOCKSCOPE_CACHE", raising=False)
    monkeypatch.delitem(knobs.cache.__dict__, "dir", raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(home / "cache"))
    return home / "cache"


def test_kernels_in_a_folder_that_others_may_write_are_neither_read_nor_written(folder):
    key, other = disk_cache.key_of("ir"), disk_cache.key_of("other")
    disk_cache.write(key, KERNEL)
    assert disk_cache.read(key) == KERNEL
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write .*TRITON_CACHE_DIR") as said:
        assert disk_cache.read(key) is None
        disk_cache.write(other, KERNEL)
    assert len(said) == 1  # once
    assert len(list(folder.rglob("*.kernel"))) == 1


def test_a_kernel_of_another_user_is_not_loaded(folder, give):
    key = disk_cache.key_of("ir")
    disk_cache.write(key, KERNEL)
    (path,) = folder.rglob("*.kernel")
    path.chmod(0o666)
    with pytest.warns(RuntimeWarning, match="others may write .*kernel"):
        assert disk_cache.read(key) is None
    disk_cache.write(key, KERNEL)  # one of ours takes its place
    assert disk_cache.read(key) == KERNEL
    (path,) = folder.rglob("*.kernel")
    give(path)
    with pytest.warns(RuntimeWarning, match="belongs to"):
        assert disk_cache.read(key) is None


def test_a_private_folder_says_nothing(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        disk_cache.write(disk_cache.key_of("ir"), KERNEL)
        assert disk_cache.read(disk_cache.key_of("ir")) == KERNEL
        path = cache.get_cache_manager("00ff").put("text", "a.json", binary=False)
        assert cache.get_cache_manager("00ff").get_file("a.json") == path


def test_files_of_the_cache_manager_too(folder):
    manager = cache.get_cache_manager("00ff")
    manager.put("text", "a.json", binary=False)
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert manager.get_file("a.json") is None
    with pytest.raises(private_folder.NotPrivate, match="others may write"):
        manager.put("text", "b.json", binary=False)


def test_a_folder_that_cannot_be_made_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/etc/passwd")
    with pytest.warns(RuntimeWarning) as said:
        disk_cache.write(disk_cache.key_of("ir"), KERNEL)
        disk_cache.write(disk_cache.key_of("other ir"), KERNEL)
    assert len(said) == 1 and said[0].filename == __file__
    text = str(said[0].message)
    assert text.startswith("compiled kernels are not kept: not a directory: '/etc/passwd")
    assert text.endswith("; name a folder that can be written in TRITON_CACHE_DIR")
