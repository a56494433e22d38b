"""Launch files of strangers: every broken one is one clear error, before memory is taken for it."""

import copy
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import blockscope as triton
import blockscope.language as tl
import numpy as np
import pytest
from blockscope.errors import LaunchFileError
from blockscope.launch_file.container import Writer
from blockscope.launch_file.contents import File
from blockscope.launch_file.recorder import Recorder
from blockscope.launch_file.replay import Replay

SECONDS = float(os.environ.get("BLK_FUZZ_SECONDS", "3"))


@triton.jit
def helper(x, by: tl.constexpr = 2):
    return x * by


@triton.jit
def kernel(x_ptr, out_ptr, pair, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, helper(x) + pair[0], mask=i < n)


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """A right file: its bytes, what launches.json says, and its data by name."""
    path = tmp_path_factory.mktemp("reader") / "right.blk"
    writer = Writer(str(path))
    recorder = Recorder(writer)
    x, out = np.arange(100, dtype=np.float32), np.zeros(200, np.float32)
    with recorder.recording():
        kernel[(2,)](x, out[::2], (1, 2.5), 100, BLOCK=64)
        kernel[(1,)](x, x, (3, None), 10, BLOCK=16, num_warps=2)
    assert (recorder.recorded, recorder.refused) == (2, 0)
    writer.close(recorder.head())
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(data.pop("launches.json"))
    return path.read_bytes(), head, data


@pytest.fixture
def written(tmp_path):
    """written(head, data) -> the path of a file with these parts."""

    def write(head, data, name="broken.blk", **options):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, content in data.items():
                archive.writestr(part, content)
            text = head if isinstance(head, str | bytes) else json.dumps(head)
            archive.writestr("launches.json", text)
        return path

    return write


def read(path):
    """Read all of a file, and make its kernels, tensors and values; nothing is launched."""
    file = File(str(path))
    try:
        with Replay(file) as replay:
            for launch in file.launches:
                replay.prepare(launch)
                file.ir_of(launch)
    finally:
        file.close()


def test_the_right_file_is_read(right, written):
    _, head, data = right
    read(written(head, data))


# --- the container ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("../evil.py", r"it has a part '\.\./evil\.py', expected launches\.json and data/SHA256"),
        ("/etc/passwd", "it has a part '/etc/passwd'"),
        ("data/" + "0" * 63, "it has a part 'data/000"),
    ],
)
def test_names_that_are_none_of_ours_are_refused(right, written, part, said):
    _, head, data = right
    with pytest.raises(LaunchFileError, match=said):
        read(written(head, {**data, part: b"x"}))


def test_bytes_are_held_to_their_name(right, written):
    _, head, data = right
    name = max(data, key=lambda n: len(data[n]))
    wrong = bytearray(data[name])
    wrong[0] ^= 1
    with pytest.raises(LaunchFileError, match="are not those of this SHA-256"):
        read(written(head, {**data, name: bytes(wrong)}))


def test_a_missing_part_is_named(right, written):
    _, head, data = right
    name = head["launches"][0]["memory"][0]["data"]
    left = {key: value for key, value in data.items() if name not in key}
    with pytest.raises(LaunchFileError, match=r"memory\[0\]\.data is .*expected the SHA-256 of"):
        read(written(head, left))


def test_a_size_that_deflate_cannot_hold_is_refused_before_memory_is_taken(right, written):
    _, head, data = right
    path = written(head, data)
    bytes_ = bytearray(path.read_bytes())
    place = bytes_.index(b"PK\x01\x02")  # the first row of the directory
    struct.pack_into("<I", bytes_, place + 24, 0xF0000000)  # its size unpacked
    path.write_bytes(bytes_)
    with pytest.raises(LaunchFileError, match="claims 4026531840 bytes, which its"):
        File(str(path))


def test_a_part_that_unpacks_to_more_than_it_says_ends_there(right, written):
    _, head, _ = right
    bomb = zlib.compress(b"\0" * (64 << 20), 9)
    name = f"data/{hashlib.sha256(b'x').hexdigest()}"
    path = written(head, {name: b"\0" * (64 << 20)})
    bytes_ = bytearray(path.read_bytes())
    for mark, field in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", bytes_, bytes_.index(mark) + field, 1000)
    path.write_bytes(bytes_)
    changed = copy.deepcopy(head)
    assert len(bomb) < 70000
    with pytest.raises(LaunchFileError):
        read(path)
    assert changed == head


def test_a_head_of_nested_lists_is_refused(written):
    text = '{"format": "blockscope-launches", "version": ' + "[" * 100000 + "]" * 100000 + "}"
    with pytest.raises(LaunchFileError, match=r"launches\.json is no JSON that can be read"):
        read(written(text, {}))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ({"format": "zip"}, "has format 'zip', expected 'blockscope-launches'"),
        ({}, r"launches\.json has no 'format'"),
        ([], "expected an object"),
        ({"format": "blockscope-launches", "version": 99}, "has version 99 of the format"),
        ({"format": "blockscope-launches", "version": "1"}, r"launches\.json\.version is '1'"),
    ],
)
def test_another_format_says_what_was_found_and_what_was_expected(written, head, said):
    with pytest.raises(LaunchFileError, match=said):
        read(written(head, {}))


# --- what it says -------------------------------------------------------------------------------


def changed(head, path, value):
    head = copy.deepcopy(head)
    inner = head
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return head


LAUNCH = ("launches", 0)
X = (*LAUNCH, "arguments", 0, 1, "tensor")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            (*LAUNCH, "grid"),
            [1, 2],
            r"launches\[0\]\.grid is \[1, 2\], expected a list of 3 values",
        ),
        ((*LAUNCH, "grid", 0), 1 << 40, "expected a whole number from 1 to 2147483647"),
        ((*LAUNCH, "kernel"), 77, r"launches\[0\]\.kernel is 77, expected a whole number from 0"),
        ((*X, "shape"), [1 << 50], "expected elements inside its storage of 400 bytes"),
        ((*X, "strides"), [-1], "expected elements inside its storage"),
        ((*X, "offset"), -4, "expected elements inside its storage"),
        (
            (*X, "storage"),
            [0, 4000],
            r"storage\[1\] is 4000, expected a whole number from 0 to 400",
        ),
        ((*X, "dtype"), "float7", "dtype is 'float7', expected one of int1"),
        ((*X, "element_bytes"), 8, "expected 4, as float32 has"),
        ((*X, "block"), 5, "block is 5"),
        (("blocks", 0, "bytes"), 1 << 61, r"data is '.*expected the SHA-256 of \d+ bytes"),
        (("blocks", 0, "alignment"), -1, "expected a whole number from 0 to 4095"),
        (("functions", 0, "text"), "import os", "expected the text of one definition"),
        (("functions", 0, "text"), "def f(:", "does not make a function or a class: SyntaxError"),
        (("functions", 0, "line"), 1 << 30, "expected a whole number from 1 to"),
        (("functions", 0, "globals", 0, 1), {"code": 9}, "is 9, expected a whole number from 0"),
        (("functions", 0, "globals", 0, 1), {"module": "no.such"}, "needs the module 'no.such'"),
        (("functions", 0, "globals", 0, 1), {"shell": "ls"}, "expected a value of a known kind"),
        (("files",), {"a.py": {str(1 << 24): "x"}}, "expected lines from 1 to"),
    ],
)
def test_each_wrong_value_is_named_with_what_was_expected(right, written, path, value, said):
    _, head, data = right
    with pytest.raises(LaunchFileError, match=said):
        read(written(changed(head, path, value), data))


def test_memory_that_the_machine_has_not_is_refused_before_it_is_taken(right, written):
    _, head, data = right
    head = changed(head, ("blocks", 0, "bytes"), 1 << 60)
    for launch in head["launches"]:
        for state in launch["memory"]:
            state["data"] = None
    with pytest.raises(LaunchFileError, match="at most two thirds of this machine's memory"):
        read(written(head, data))


def test_the_commands_say_it_in_one_line(right, written, tmp_path):
    _, head, data = right
    path = written(changed(head, (*LAUNCH, "grid"), "all"), data)
    done = subprocess.run(
        [sys.executable, "-m", "blockscope", "check", path], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"blockscope: '{path}' is damaged: launches.json.launches[0].grid"
    )
    assert done.stderr.count("\n") == 1


# --- at random ----------------------------------------------------------------------------------

VALUES = [
    None,
    True,
    -1,
    0,
    1,
    3,
    1 << 31,
    1 << 63,
    10**30,
    0.5,
    "",
    "x",
    "int32",
    [],
    [[]],
    {},
    [0] * 9,
]


def mutated(value, chance, random):
    """A JSON value, some of whose parts are other ones, gone, or there twice."""
    if random.random() < chance:
        return copy.deepcopy(random.choice(VALUES))
    if isinstance(value, list):
        found = [mutated(item, chance, random) for item in value]
        if found and random.random() < chance:
            found.append(found[0])
        return found
    if isinstance(value, dict):
        return {
            key: mutated(item, chance, random)
            for key, item in value.items()
            if random.random() >= chance / 4
        }
    if isinstance(value, str) and random.random() < chance * 2 and value:
        place = random.randrange(len(value))
        return value[:place] + random.choice("()[]{}:\n \t\0é@x0") + value[place + 1 :]
    return value


def outcomes(seconds, attempt):
    """How often ``attempt(random)`` ended in which way, until the time is up. All seeds are said by
    the failure."""
    counts, end, seed = {"read": 0, "refused": 0}, time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            attempt(random.Random(seed))
            counts["read"] += 1
        except LaunchFileError as error:
            assert str(error).isprintable(), f"seed {seed}: {error!r}"
            counts["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        seed += 1
    return counts


def test_mutated_contents_are_read_or_refused(right, written):
    _, head, data = right

    def attempt(random):
        chance = random.choice([0.002, 0.01, 0.05])
        read(written(mutated(head, chance, random), data))

    counts = outcomes(SECONDS, attempt)
    assert counts["refused"] > 20 and counts["read"] > 0, counts


def test_mutated_files_are_read_or_refused(right, tmp_path):
    whole, _, _ = right
    path = tmp_path / "mutated.blk"

    def attempt(random):
        bytes_ = bytearray(whole)
        for _ in range(random.choice([1, 1, 2, 8, 64])):
            bytes_[random.randrange(len(bytes_))] = random.randrange(256)
        if random.random() < 0.1:
            del bytes_[random.randrange(len(bytes_)) :]
        path.write_bytes(bytes_)
        read(path)

    counts = outcomes(SECONDS, attempt)
    assert counts["refused"] > 20, counts
