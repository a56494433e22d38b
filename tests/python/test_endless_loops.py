"""Loops without bounds: those that go on for ever are named, all others run to their end."""

import inspect

import blockscope
import blockscope.language as tl
import pytest
import torch
from blockscope import knobs
from blockscope.errors import SanitizerError


@pytest.fixture(params=["1 thread", "2 threads", "step"], autouse=True)
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    with knobs.cpu.scope():
        knobs.cpu.num_threads = 1 if request.param == "1 thread" else 2
        yield
    blockscope.set_interpret_mode(False)


@blockscope.jit
def wait_for_next(flag_ptr, out_ptr):
    pid = tl.program_id(0)
    while tl.load(flag_ptr + pid + 1) == 0:
        pass
    tl.store(out_ptr + pid, pid)
    tl.store(flag_ptr + pid, 1)


def test_a_program_that_waits_by_plain_loads_lets_the_others_run():
    flag, out = torch.zeros(5, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    flag[4] = 1
    wait_for_next[(4,)](flag, out)
    assert out.tolist() == [0, 1, 2, 3]


def test_programs_that_wait_for_nobody_are_a_deadlock():
    flag, out = torch.zeros(5, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    with pytest.raises(SanitizerError, match="never leaves this loop while 'flag_ptr'") as error:
        wait_for_next[(4,)](flag, out)
    assert "all 4 live programs only spin" in str(error.value)


@blockscope.jit
def count(x_ptr, out_ptr, n):
    i, total = 0, 0
    while i < n:
        total += tl.load(x_ptr)
        i += 1
    tl.store(out_ptr, total)


@blockscope.jit
def halve(x_ptr, out_ptr, n):
    i, steps = 0, 0
    value = tl.load(x_ptr)
    while i < n:
        if steps == 70:  # the value rests for 70 iterations
            steps = 0
            i += 1
            value = value / 2
        steps += 1
    tl.store(out_ptr, value)


def test_long_loops_end():
    out = torch.zeros(1, dtype=torch.int32)
    count[(1,)](torch.ones(1, dtype=torch.int32), out, 2500)
    assert out.item() == 2500
    left = torch.zeros(1)
    halve[(1,)](torch.ones(1), left, 30)
    assert left.item() == 2.0**-30


@blockscope.jit
def swap_for_ever(x_ptr, out_ptr, n):
    a, b = tl.load(x_ptr), tl.load(x_ptr + 1)
    while a < n:
        a, b = b, a
    tl.store(out_ptr, a)


@blockscope.jit
def inner_loop(x_ptr, out_ptr, n):
    i = 0
    while i < n:
        low = 0
        while low < tl.load(x_ptr + i):
            low = low // 2
        i += 1
    tl.store(out_ptr, i)


@pytest.mark.parametrize("kernel", [swap_for_ever, inner_loop], ids=lambda k: k.__name__)
def test_loops_that_stand_still_are_named(kernel):
    with pytest.raises(SanitizerError, match="deadlock"):
        kernel[(1,)](torch.ones(4, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), 3)


@blockscope.jit
def draw_until(out_ptr, seed, limit):
    tries = 0
    while tl.rand(seed, tries) > limit:
        tries += 1
    tl.store(out_ptr, tries)


def test_a_loop_whose_condition_depends_on_a_counter_is_none():
    out = torch.zeros(1, dtype=torch.int32)
    draw_until[(1,)](out, 7, 0.0005)
    assert out.item() > 0


@blockscope.jit
def store_until(x_ptr, n):
    while tl.load(x_ptr) < n:
        tl.store(x_ptr, tl.load(x_ptr) + 1)


def test_a_loop_that_changes_memory_is_none():
    x = torch.zeros(1, dtype=torch.int32)
    store_until[(1,)](x, 3000)
    assert x.item() == 3000


@blockscope.jit
def walk(next_ptr, out_ptr):
    at, length = tl.program_id(0), 0
    while at != -1:
        at = tl.load(next_ptr + at)
        length += 1
    tl.store(out_ptr + tl.program_id(0), length)


@pytest.mark.parametrize("length", [2, 3, 300])
def test_a_walk_in_a_circle_is_found_whatever_its_length(length):
    circle = (torch.arange(length, dtype=torch.int32) + 1) % length
    with pytest.raises(SanitizerError, match="never leaves this loop while what it loads stays"):
        walk[(1,)](circle, torch.zeros(1, dtype=torch.int32))


def test_a_long_walk_ends():
    following = torch.arange(1, 20_001, dtype=torch.int32)
    following[-1] = -1
    out = torch.zeros(1, dtype=torch.int32)
    walk[(1,)](following, out)
    assert out.item() == 20_000


@blockscope.jit
def poll_in_turn(flag_ptr, out_ptr, COUNT: tl.constexpr):
    if tl.program_id(0) == 0:
        at = 0
        while tl.load(flag_ptr + at) == 0:
            at = (at + 1) % COUNT
        tl.store(out_ptr, at)
    else:
        tl.store(flag_ptr + 2, 1)


def test_a_program_that_polls_several_flags_lets_the_others_run():
    out = torch.zeros(1, dtype=torch.int32)
    poll_in_turn[(2,)](torch.zeros(5, dtype=torch.int32), out, COUNT=5)
    assert out.item() == 2


@blockscope.jit
def most_of_all(x_ptr, out_ptr, n):
    for i in range(n):
        tl.atomic_max(out_ptr, tl.load(x_ptr + i))


def test_a_counted_loop_of_atomics_that_change_nothing_ends():
    x, out = torch.zeros(3000, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    x[0] = 7
    most_of_all[(2,)](x, out, 3000)
    assert out.item() == 7


@blockscope.jit
def try_often(lock_ptr, out_ptr, n):
    got = 0
    for _ in range(n):
        got += tl.atomic_cas(lock_ptr, 0, 1) == 0
    tl.store(out_ptr + tl.program_id(0), got)


def test_a_counted_loop_that_looks_for_a_lock_gives_up():
    lock, out = torch.ones(1, dtype=torch.int32), torch.ones(2, dtype=torch.int32)
    try_often[(2,)](lock, out, 3000)
    assert out.tolist() == [0, 0]


@blockscope.jit
def try_in_rounds(lock_ptr, out_ptr):
    got = 0
    while got == 0:
        for _ in range(3):
            got += tl.atomic_cas(lock_ptr, 0, 1) == 0
    tl.store(out_ptr, got)


def test_rounds_of_looks_for_a_lock_that_nobody_gives_are_a_deadlock():
    lock, out = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with pytest.raises(SanitizerError, match="deadlock"):
        try_in_rounds[(2,)](lock, out)


@blockscope.jit
def put(table_ptr, values_ptr, keys_ptr, SIZE: tl.constexpr):
    key = tl.load(keys_ptr + tl.program_id(0))
    slot = key % SIZE
    old = tl.atomic_cas(table_ptr + slot, 0, key)
    while (old != 0) & (old != key):
        slot = (slot + 1) % SIZE
        old = tl.atomic_cas(table_ptr + slot, 0, key)
    tl.store(values_ptr + slot, key)


@blockscope.jit
def put_in_the_loop(table_ptr, values_ptr, keys_ptr, SIZE: tl.constexpr):
    key = tl.load(keys_ptr + tl.program_id(0))
    slot, done = key % SIZE, False
    while not done:
        old = tl.atomic_cas(table_ptr + slot, 0, key)
        if (old == 0) | (old == key):
            tl.store(values_ptr + slot, key)
            done = True
        else:
            slot = (slot + 1) % SIZE


@pytest.mark.parametrize("kernel", [put, put_in_the_loop])
@pytest.mark.parametrize("size", [2, 7, 300])
def test_a_search_for_room_in_a_table_that_is_full_is_found(kernel, size):
    table, keys = torch.zeros(size, dtype=torch.int32), torch.arange(1, size + 2).int()
    values = torch.zeros_like(table)
    with pytest.raises(SanitizerError, match="deadlock") as error:
        kernel[(size + 1,)](table, values, keys, SIZE=size)
    assert "never leaves this loop" in str(error.value) or "waits here for ever" in str(error.value)
    lines, first = inspect.getsourcelines(kernel.fn)
    asks = [first + i for i, line in enumerate(lines) if "tl.atomic_cas" in line]
    assert error.value.findings[0]["line"] == asks[-1]  # the one in the loop
    assert sorted(table.tolist()) == sorted(set(table.tolist())) and 0 not in table.tolist()


@blockscope.jit
def fill_without_a_step(out_ptr, n):
    i = 0
    while i < n:
        tl.store(out_ptr + i, i)


def test_a_loop_that_stores_and_forgets_to_count_is_found():
    with pytest.raises(SanitizerError, match="deadlock"):
        fill_without_a_step[(2,)](torch.zeros(4, dtype=torch.int32), 4)


@blockscope.jit
def strike_out(marks_ptr, n):
    low = 0
    while tl.load(marks_ptr + n - 1) != 0:
        tl.store(marks_ptr + low % n, tl.load(marks_ptr + low % n) - 1)
        if low % n == n - 1:
            low = 0
        else:
            low += 1


def test_a_loop_that_comes_back_to_where_it_was_but_has_stored_ends():
    marks = torch.full((3,), 2000, dtype=torch.int32)
    strike_out[(1,)](marks, 3)
    assert marks.tolist() == [0, 0, 0]


@blockscope.jit
def put_or_make_room(table_ptr, keys_ptr, SIZE: tl.constexpr):
    if tl.program_id(0) == 0:
        slot = 0
        old = tl.atomic_cas(table_ptr, 0, 1000)
        while old != 0:
            slot = (slot + 1) % SIZE
            old = tl.atomic_cas(table_ptr + slot, 0, 1000)
    else:
        tl.atomic_xchg(table_ptr + 2, 0)


def test_who_looks_for_room_in_a_table_lets_the_others_make_it():
    table = torch.arange(1, 6, dtype=torch.int32)
    put_or_make_room[(2,)](table, table, SIZE=5)
    assert table.tolist() == [1, 2, 1000, 4, 5]


@blockscope.jit
def count_to(x_ptr, out_ptr, start, goal, step, HOW: tl.constexpr):
    k, total = start, 0
    if HOW == "up":
        while k != goal:
            total += tl.load(x_ptr)
            k += step
    elif HOW == "down":
        while goal != k:
            total += tl.load(x_ptr)
            k = k - step
    elif HOW == "by a constant":
        while k != goal:
            total += tl.load(x_ptr)
            k += 4
    elif HOW == "sometimes":
        while k != goal:
            total += tl.load(x_ptr)
            if total > 2000:
                k += 1
            k += step
    tl.store(out_ptr, total)


@pytest.mark.parametrize(
    "how, start, goal, step",
    [
        ("up", 0, 100, 32),
        ("up", -7, 100, -2),
        ("up", 5, 6, 0),
        ("down", 100, 1, 2),
        ("down", 0, 1, -16),
        ("by a constant", 3, 100, 4),
    ],
)
def test_a_loop_that_counts_past_its_goal_never_ends(how, start, goal, step):
    x, out = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with blockscope.check("asan") as report:
        count_to[(1,)](x, out, start, goal, step, how)
    (finding,) = report.findings
    lines, first = inspect.getsourcelines(count_to.fn)
    assert finding.code == "deadlock"
    assert "!=" in lines[finding.line - first]


@pytest.mark.parametrize(
    "how, start, goal, step",
    [
        ("up", 0, 4096, 2),
        ("down", 4096, 0, 2),
        ("by a constant", 0, 8192, 4),
        ("sometimes", 0, 5005, 2),
    ],
)
def test_a_loop_that_meets_its_goal_ends(how, start, goal, step):
    x, out = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with blockscope.check("asan") as report:
        count_to[(1,)](x, out, start, goal, step, how)
    assert report.findings == []
    assert out.item() > 1024
