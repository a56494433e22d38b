"""Pointers as data are addresses, and an integer points to the tensor that has the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope.errors import SanitizerError


@pytest.fixture(params=["whole", "step"], autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    blockscope.set_interpret_mode(request.param == "step")
    yield request.param
    blockscope.set_interpret_mode(False)


@pytest.fixture(params=["unchecked", "asan", "tsan", "asan,tsan"])
def checks(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Runs a test without checks, and again under each: none may find anything."""
    if request.param == "unchecked":
        yield None
        return
    with blockscope.check(request.param) as report:
        yield report
    assert report.clean, report.text()


@blockscope.jit
def numbers(a, b, out):
    x, y = a.to(tl.int64), b.to(tl.uint64, bitcast=True)
    tl.store(out, x)
    tl.store(out + 1, y)
    tl.store(out + 2, y.to(tl.int64) - x)
    tl.store(out + 3, x % 16)
    tl.store(out + 4, (a == b).to(tl.int64))
    tl.store(out + 5, (a != b).to(tl.int64))


BASE = torch.zeros(64)
PAIRS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "two tensors": lambda: (torch.zeros(4), torch.zeros(4)),
    "one tensor twice": lambda: (BASE, BASE),
    "views of one storage": lambda: (BASE, BASE[3:]),
    "the same view twice": lambda: (BASE[5:], BASE[5:]),
    "a view before another": lambda: (BASE[9:], BASE[2:]),
    "a reversed array": lambda: (np.zeros(8, np.float32)[::-1], np.zeros(8, np.float32)),
    "an empty tensor": lambda: (torch.zeros(0), BASE),
}


def address_of(x: Any) -> int:
    return int(x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr())


@pytest.mark.parametrize("name", PAIRS)
def test_a_pointer_is_its_address(name: str, checks: Any) -> None:
    a, b = PAIRS[name]()
    out = torch.zeros(6, dtype=torch.int64)
    numbers[(1,)](a, b, out)
    x, y = address_of(a), address_of(b)
    assert out.tolist() == [x, y, y - x, x % 16, x == y, x != y]


@blockscope.jit
def block_of_numbers(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, (x + i * 2).to(tl.int64))


def test_a_block_of_pointers_is_their_addresses(checks: Any) -> None:
    x, out = torch.zeros(4), torch.zeros(16, dtype=torch.int64)
    block_of_numbers[(1,)](x, out, B=16)  # past the end too: nothing is accessed
    assert out.tolist() == [x.data_ptr() + 8 * i for i in range(16)]


@blockscope.jit
def build_table(table, x, y):
    tl.store(table, x.to(tl.int64))
    tl.store(table + 1, y.to(tl.int64))


@blockscope.jit
def load_through_table(table, unrelated, other, out, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(2):
        x = tl.load(table + k).to(tl.pointer_type(tl.float32))
        tl.store(out + k * B + i, tl.load(x + i))


@blockscope.jit
def store_through_table(table, unrelated, other):
    tl.store(tl.load(table + 1).to(tl.pointer_type(tl.float32)) + 2, 99.0)


def test_a_table_that_one_launch_builds_serves_the_next_ones(checks: Any) -> None:
    x, y = torch.arange(4.0), torch.arange(4.0) + 10
    unrelated, other, out = torch.full((4,), 111.0), torch.full((4,), 222.0), torch.zeros(8)
    table = torch.zeros(2, dtype=torch.int64)
    build_table[(1,)](table, x, y)
    assert table.tolist() == [x.data_ptr(), y.data_ptr()]
    load_through_table[(1,)](table, unrelated, other, out, B=4)
    assert out.tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    store_through_table[(1,)](table, unrelated, other)
    assert y.tolist() == [10, 11, 99, 13]
    assert (unrelated == 111).all() and (other == 222).all()


@blockscope.jit
def build_table_of_pointers(table, x, y):
    pointers = table.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    tl.store(pointers, x)
    i = tl.arange(0, 2)
    tl.store(pointers + 1 + i, tl.where(i == 0, y, x + i), mask=i < 2)


@blockscope.jit
def load_table_of_pointers(table, x, out):
    pointers = table.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(tl.load(pointers + i, mask=i < 3, other=x)))


def test_pointers_in_memory_are_addresses(checks: Any) -> None:
    x, y = torch.arange(4.0), torch.arange(4.0) + 10
    table, out = torch.zeros(4, dtype=torch.int64), torch.zeros(4)
    build_table_of_pointers[(1,)](table, x, y)
    assert table.tolist() == [x.data_ptr(), y.data_ptr(), x.data_ptr() + 4, 0]
    load_table_of_pointers[(1,)](table, x, out)
    assert out.tolist() == [0, 10, 1, 0]


@blockscope.jit
def there_and_back(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    numbers = x.to(tl.int64) + i * 4
    tl.store(out + i, tl.load(numbers.to(tl.pointer_type(tl.float32))) * 2)
    middle = (x.to(tl.int64) + 8).to(tl.pointer_type(tl.float32))
    tl.store(middle - 2 + i, tl.load(middle + 1 - 3 + i) + 1)


@pytest.mark.parametrize("begin", [0, 8])
def test_integers_made_of_pointers_are_pointers_again(begin: int, checks: Any) -> None:
    x, out = torch.arange(32.0)[begin : begin + 16], torch.zeros(16)
    there_and_back[(1,)](x, out, B=16)
    assert torch.equal(out, (torch.arange(16.0) + begin) * 2)
    assert torch.equal(x, torch.arange(16.0) + begin + 1)


def test_an_integer_belongs_to_the_view_that_has_it(checks: Any) -> None:
    arena = torch.arange(32.0)
    out = torch.zeros(16, dtype=torch.float32)

    @blockscope.jit
    def read_second(first, second, out, B: tl.constexpr):
        i = tl.arange(0, B)
        base = second.to(tl.int64).to(tl.pointer_type(tl.float32))
        tl.store(out + i, tl.load(base + i))

    read_second[(1,)](arena[:16], arena[16:], out, B=16)
    assert out.tolist() == list(range(16, 32))


@blockscope.jit
def past_the_end(x, y, out, OFFSET: tl.constexpr):
    base = (x.to(tl.int64) + 8).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(base + OFFSET))


def test_a_pointer_made_of_an_integer_keeps_its_tensor() -> None:
    x, y, out = torch.arange(4.0), torch.zeros(4), torch.zeros(1)
    past_the_end[(1,)](x, y, out, OFFSET=1)
    assert out.item() == 3
    for offset in (2, 1 << 20, (y.data_ptr() - x.data_ptr() - 8) // 4):
        with blockscope.check("asan") as report:
            past_the_end[(1,)](x, y, out, OFFSET=offset)
        (finding,) = report.findings
        assert (finding.code, finding.tensor) == ("oob-load", "x")
        assert finding.element == [offset + 2]


@blockscope.jit
def by_distance(x, y, out):
    tl.store(out, tl.load(x + (y.to(tl.int64) - x.to(tl.int64)) // 4))


def test_no_arithmetic_leads_from_one_tensor_to_another() -> None:
    x, y = torch.zeros(4), torch.ones(4)
    for a, b in ((x, y), (y, x)):
        with pytest.raises(SanitizerError, match="oob-load.* of 'x'"):
            by_distance[(1,)](a, b, torch.zeros(1))
    whole = torch.arange(8.0)
    out = torch.zeros(1)
    by_distance[(1,)](whole, whole[5:], out)
    assert out.item() == 5


@blockscope.jit
def load_at(address, out):
    tl.store(out, tl.load(address.to(tl.pointer_type(tl.float32))))


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0, "null pointer"),
        (8, "null pointer"),
        (0x123456000, "belongs to no known tensor"),
        (-4, "belongs to no known tensor"),
        (1 << 62 | 1 << 47, "belongs to no known tensor"),
        (1 << 62 | 1 << 41, "belongs to no known tensor"),
        ((1 << 63) - 8, "belongs to no known tensor"),
    ],
)
def test_an_integer_that_no_tensor_has_is_wild(address: int, text: str) -> None:
    with pytest.raises(SanitizerError, match=text):
        load_at[(1,)](address, torch.zeros(1))


def test_an_integer_argument_is_a_pointer_to_what_has_it(checks: Any) -> None:
    x, out = torch.arange(4.0), torch.zeros(1)
    load_at[(1,)](x.data_ptr() + 12, out)
    assert out.item() == 3
    load_at[(1,)](out.data_ptr(), out)
    assert out.item() == 3


@blockscope.jit
def prints(x):
    tl.device_print("at", x + 1)
    tl.device_print("as", (x + 1).to(tl.int64), hex=True)


def test_printed_pointers_are_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.zeros(4)
    prints[(1,)](x)
    shown = re.findall(r"0x[0-9a-f]+", capsys.readouterr().out)
    assert [int(text, 16) for text in shown] == [x.data_ptr() + 4] * 2


@blockscope.jit
def asserts(x, y):
    tl.device_assert(x == y, "one tensor")


def test_failed_asserts_show_addresses() -> None:
    x, y = torch.zeros(4), torch.zeros(4)
    with blockscope.check("asan") as report:
        asserts[(1,)](x, x)
        asserts[(1,)](x, y)
    (finding,) = report.findings
    assert finding.code == "device-assert"
    values = dict(finding.data["values"])
    assert [int(values[side]) for side in ("left", "right")] == [x.data_ptr(), y.data_ptr()]


SHOWN: list[Any] = []


@blockscope.jit
def shows(x, B: tl.constexpr):
    i = tl.arange(0, B)
    SHOWN.extend([1 if x else 0, repr(x), x.numpy().tolist(), (x + i).numpy().tolist(), x])


def test_python_is_shown_addresses(mode: str) -> None:
    if mode == "whole":
        pytest.skip("Python sees no values in a compiled kernel")
    x = torch.zeros(4)
    SHOWN.clear()
    shows[(1,)](x, B=2)
    address = x.data_ptr()
    text = f"pointer<fp32>: {address:#x}"
    assert SHOWN[:-1] == [1, text, address, [address, address + 4]]
    assert repr(SHOWN[-1]) == "pointer<fp32> of a kernel that has ended"
    with pytest.raises(RuntimeError, match="known only inside its kernel"):
        int(SHOWN[-1])


@blockscope.jit
def race_through_integers(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    other = y.to(tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(tl.where(tl.program_id(0) == 0, x, other) + i, tl.program_id(0) * 1.0)


def test_races_are_found_through_integers() -> None:
    x, y = torch.zeros(16), torch.zeros(16)
    with blockscope.check("tsan") as report:
        race_through_integers[(2,)](x, y, B=16)
    assert report.clean, report.text()
    with blockscope.check("tsan") as report:
        race_through_integers[(2,)](x, x, B=16)
    assert [finding.code for finding in report.findings] == ["race-write-write"]


@blockscope.jit
def as_floats(x, out):
    tl.store(out, tl.load(x.to(tl.pointer_type(tl.float32)) + 2))


def test_the_words_of_a_misaligned_access() -> None:
    data = torch.zeros(64, dtype=torch.int8)
    as_floats[(1,)](data, torch.zeros(1))
    with pytest.raises(SanitizerError) as caught:
        as_floats[(1,)](data[1:], torch.zeros(1))
    (finding,) = caught.value.findings
    assert finding["message"] == (
        "load of 4 bytes at byte 8 of 'x', at an address that is no multiple of 4"
    )
    assert finding["hint"].startswith("the view that was passed begins at such an address")
