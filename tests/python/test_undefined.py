"""The check `undefined`: what torch does with memory between launches, its options, its report."""

import io
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import blockscope
import blockscope.language as tl
import numpy as np
import pytest
import torch
from blockscope.errors import CompilationError
from blockscope.runtime.backends import flat


@blockscope.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@blockscope.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0)), sem="relaxed")


@blockscope.jit
def negated(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PACK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if PACK == 1:
        y = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        both: tl.constexpr = "neg.f32 $0, $2; neg.f32 $1, $3;"
        y = tl.inline_asm_elementwise(both, "=f,=f,f,f", [x], tl.float32, True, 2)
    tl.store(out_ptr + i, y, mask=i < n)


@pytest.fixture(params=["flat", "step"])
def mode(request):
    blockscope.set_interpret_mode(request.param == "step")
    yield
    blockscope.set_interpret_mode(False)


def codes(report):
    return [finding.code for finding in report.findings]


def summed(make, n=8):
    """The findings of a sum over what ``make`` gives."""
    with blockscope.check("undefined") as report:
        total[(1,)](make(), torch.zeros(1), n, BLOCK=16)
    return codes(report)


ALLOCATIONS = {
    "empty": lambda: torch.empty(8),
    "empty_like": lambda: torch.empty_like(torch.ones(8)),
    "new_empty": lambda: torch.ones(1).new_empty(8),
    "empty_strided": lambda: torch.empty_strided((8,), (1,)),
    "Tensor": lambda: torch.Tensor(8),
    "resize": lambda: torch.ones(4).resize_(8),
    "half filled": lambda: half_filled(),
    "copy": lambda: torch.empty(8).clone(),
    "copy into zeros": lambda: torch.zeros(8).copy_(torch.empty(8)),
}


def half_filled():
    x = torch.empty(8)
    x[:4] = 1
    return x


DEFINED = {
    "zeros": lambda: torch.zeros(8),
    "filled": lambda: torch.empty(8).fill_(1),
    "random": lambda: torch.empty(8).uniform_(),
    "out": lambda: torch.add(torch.ones(8), 1, out=torch.empty(8)),
    "in parts": lambda: in_parts(),
    "columns": lambda: columns(),
    "by index": lambda: torch.empty(8).index_copy_(0, torch.arange(8), torch.ones(8)),
    "resized, of which the beginning is read": lambda: torch.ones(8).resize_(100),
    "NumPy": lambda: by_numpy(),
    "freed": lambda: freed(),
    "a sum": lambda: torch.ones(8) + torch.zeros(8),
    "a list": lambda: torch.tensor([1.0] * 8),
    "a list, by the old constructor": lambda: torch.Tensor([1.0] * 8),
    "a buffer": lambda: torch.frombuffer(bytearray(32), dtype=torch.float32),
    "a module": lambda: torch.nn.Linear(8, 8)(torch.ones(8)).detach(),
    "by a mask": lambda: by_mask(),
    "another thread": lambda: by_thread(),
    "filled by another thread": lambda: filled_in(threading_map),
    "filled by a pool": lambda: filled_in(pool_map),
    "view": lambda: torch.empty(4, 4).fill_(0).view(16)[4:12],
}


def in_parts():
    x = torch.empty(8)
    x[:4], x[4:] = 1, torch.arange(4)
    return x


def columns():
    x = torch.empty(4, 2)
    x[:, 0] = 1
    x[:, 1] = 2
    return x


def by_numpy():
    x = torch.empty(8)
    x.numpy()[:] = 1
    return x


def by_mask():
    x, mask = torch.empty(8), torch.arange(8) < 4
    x[mask], x[~mask] = 1, 2
    return x


def by_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.empty(8).fill_(1)))
    thread.start()
    thread.join()
    return made[0]


def threading_map(function, values):
    threads = [threading.Thread(target=function, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pool_map(function, values):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(function, values))


def filled_in(map_in_threads):
    x = torch.empty(8)
    map_in_threads(lambda part: part.fill_(1), x.view(4, 2))
    return x


def freed():
    x = torch.empty(8)
    del x
    return torch.from_numpy(np.ones(8, np.float32))


@pytest.mark.parametrize("make", ALLOCATIONS.values(), ids=ALLOCATIONS)
def test_memory_without_a_value(make, mode):
    assert summed(make) == ["undefined-value"]


@pytest.mark.parametrize("make", DEFINED.values(), ids=DEFINED)
def test_memory_that_torch_has_written(make, mode):
    assert summed(make) == []


def test_what_another_thread_reads(mode):
    with blockscope.check("undefined") as report:
        out = torch.empty(8)
        copy[(1,)](torch.ones(8), out, 6, BLOCK=8)
        threading_map(lambda part: part.sum(), [out[:6]])
        assert codes(report) == []
        threading_map(lambda part: part.sum(), [out])
    assert codes(report) == ["undefined-value"]


def test_a_thread_may_outlive_the_check(mode):
    go, ended = threading.Event(), []

    def fill(x):
        go.wait()
        x.fill_(1)
        ended.append(torch.empty(8).sum())

    with blockscope.check("undefined") as report:
        thread = threading.Thread(target=fill, args=(torch.empty(8),))
        thread.start()
    go.set()
    thread.join()
    assert len(ended) == 1
    assert codes(report) == []


READS = {
    "sum": lambda x: x.sum(),
    "item": lambda x: x[7].item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "equal": lambda x: torch.equal(x, torch.ones(8)),
    "add in place": lambda x: x.add_(1).sum(),
    "of a view": lambda x: x.view(2, 4).t().sum(),
    "of a copy": lambda x: x.clone().sum(),
    "print": lambda x: str(x),
    "format": lambda x: f"{x}",
    "print of a large tensor": lambda x: repr(torch.cat([torch.ones(2000), x])),
    "of a sum": lambda x: (1 + torch.ones(3, 8) * x)[2].tolist(),
    "of a comparison": lambda x: (x == 1).all(),
    "of a joined tensor": lambda x: torch.cat([torch.ones(2, 4), x.view(2, 4)])[3].sum(),
    "of padding": lambda x: torch.nn.functional.pad(x, (1, 1))[7:].sum(),
    "of what is chosen": lambda x: torch.where(torch.arange(8) > 3, x, 0.0).sum(),
    "of what is picked": lambda x: x[torch.tensor([1, 7])].sum(),
    "of what is left": lambda x: x.index_put_((torch.tensor([6]),), torch.ones(1)).sum(),
    "of what is broadcast": lambda x: torch.ones(2, 8).copy_(x).sum(),
    "as a mask": lambda x: torch.ones(8)[x > 2],
    "pickle": lambda x: pickle.dumps({"x": x}),
    "pickle of a parameter": lambda x: pickle.dumps(torch.nn.Parameter(x)),
    "torch.save": lambda x: torch.save(x, io.BytesIO()),
    "numpy.save": lambda x: np.save(io.BytesIO(), x),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_host_reads_what_a_kernel_should_have_written(read, mode):
    with blockscope.check("undefined") as report:
        x, out = torch.ones(8), torch.empty(8)
        copy[(1,)](x, out, 6, BLOCK=8)
        out[:6].sum()
        assert codes(report) == []
        read(out)
    (finding,) = report.findings
    assert finding.code == "undefined-value"
    assert finding.tensor == "out_ptr"  # of what torch made of it, too
    assert finding.element in ([6], [7])
    assert finding.allocated_at[0]["line"] == finding_line("x, out = torch.ones(8), torch.empty(8)")
    assert finding.file == __file__


def finding_line(text):
    with open(__file__) as lines:
        return next(number for number, line in enumerate(lines, 1) if text in line)


def test_padding_may_be_reshaped_and_copied_with_the_rest(mode):
    with blockscope.check("undefined") as report:
        out = torch.empty(4, 8)
        copy[(1,)](torch.ones(16), out, 16, BLOCK=16)
        assert out.t().reshape(-1).view(8, 4)[:, :2].sum() == 16
        assert out.expand(10**6, 4, 8)[5, :2].double().sum() == 16
        assert codes(report) == []
        out.t().reshape(-1).sum()
    assert codes(report) == ["undefined-value"]


IN_PART = {
    "computed": lambda x: torch.relu(x * 2 + torch.arange(8.0))[:6].sum(),
    "in place": lambda x: x.mul_(2).clamp_(max=1)[:6].sum(),
    "compared": lambda x: (x > 0)[:6].all(),
    "joined": lambda x: torch.cat([x, x])[8:14].sum() + torch.stack([x, x])[1, :6].sum(),
    "padded": lambda x: torch.nn.functional.pad(x, (3, 3))[:9].sum(),
    "picked": lambda x: x[torch.tensor([0, 5])].sum() + x[torch.arange(8) < 6].sum(),
    "chosen": lambda x: torch.where(torch.arange(8) < 6, x, 0.0).sum(),
    "filled": lambda x: x.masked_fill_(torch.arange(8) >= 6, 0.0).sum(),
    "put": lambda x: x.index_put_((torch.tensor([6, 7]),), torch.ones(2)).sum(),
    "scattered": lambda x: x.scatter_(0, torch.tensor([7, 6]), 1.0).sum(),
    "rolled": lambda x: x.roll(2)[2:].sum() + x.flip(0)[2:].sum(),
    "overwritten": lambda x: x.copy_(torch.ones(1)).sum(),
    "written into": lambda x: torch.mul(torch.ones(8), 2, out=x).sum(),
    "printed": lambda x: repr(torch.cat([torch.ones(1000), x, torch.ones(1000)])),
}


@pytest.mark.parametrize("use", IN_PART.values(), ids=IN_PART)
def test_what_is_made_of_padding_may_be_left_alone(use, mode):
    with blockscope.check("undefined") as report:
        x, out = torch.ones(8), torch.empty(8)
        copy[(1,)](x, out, 6, BLOCK=8)
        use(out)
    assert codes(report) == [], report.text()


def test_memory_without_a_value_is_the_same_in_each_run():
    """Else a NaN that happens to be there is a finding of another check."""
    with blockscope.check("undefined"):
        torch.full((1000,), float("nan"))
        assert torch.empty(1000).tolist() == [0] * 1000
        x = torch.ones(2)
        x.resize_(5000)
        assert x.sum() == 2


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_left_alone():
    with blockscope.check("undefined") as report:
        rows = torch.nested.nested_tensor([torch.ones(3), torch.ones(5)])
        assert rows.to_padded_tensor(0.0).sum() == 8
    assert codes(report) == []


def test_copies_are_followed_from_launch_to_launch(mode):
    with blockscope.check("undefined") as report:
        a, b, c = torch.empty(8), torch.zeros(8), torch.zeros(8)
        a[:4] = 1
        copy[(1,)](a, b, 8, BLOCK=8)
        copy[(1,)](b, c, 8, BLOCK=8)
        assert codes(report) == []
        total[(1,)](c, torch.zeros(1), 8, BLOCK=8)
    (finding,) = report.findings
    assert [site["line"] for site in finding.through].count(copy_line()) == 1
    assert finding.allocated_at[0]["line"] == finding_line("a, b, c = torch.empty(8)")


def copy_line():
    return finding_line("tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n)")


@pytest.mark.parametrize(("n", "pack"), [(9, 1), (10, 2), (9, 2)])
def test_assembly_is_followed_register_by_register(n, pack, mode):
    """With two elements at a time, the ninth one is beside one that was not loaded."""
    out = torch.zeros(16)
    with blockscope.check("undefined") as report:
        negated[(1,)](torch.ones(16), out, n, BLOCK=16, PACK=pack)
        assert out.sum() == -n
    assert codes(report) == [], report.text()


def test_strict_finds_each_store(mode):
    for strict, expected in ((False, []), (True, ["undefined-value"])):
        with blockscope.check("init", init_strict=strict) as report:
            copy[(1,)](torch.empty(8), torch.zeros(8), 8, BLOCK=8)
        assert codes(report) == expected


def test_the_report_as_json_has_the_way():
    with blockscope.check("undefined") as report:
        total[(1,)](torch.empty(8), torch.zeros(1), 8, BLOCK=8)
    (finding,) = json.loads(report.json())
    assert finding["allocated_at"][0]["file"] == __file__
    assert finding["access"] == "atomic"


def test_memory_is_followed_only_inside_the_check():
    x = torch.empty(8)
    with blockscope.check("undefined") as report:
        total[(1,)](x, torch.zeros(1), 8, BLOCK=8)
    assert codes(report) == []


def test_a_launch_that_is_clean_runs_in_the_fast_form_alone():
    """Lanes that nobody uses do not make the launch run again."""
    with blockscope.check("undefined") as report:
        x, out = torch.ones(100), torch.empty(100)
        copy[(7,)](x, out, 100, BLOCK=16)
        assert out.sum() == 100
    assert codes(report) == []


@pytest.mark.parametrize("step_only", [True, False])
def test_step_mode_hides_no_error_but_that_of_a_kernel_it_alone_can_run(monkeypatch, step_only):
    """Its checks ask for the compiled kernel too (of a size that no other test compiles)."""

    def fail(*args, **kwargs):
        raise CompilationError("a kernel of step mode") if step_only else TypeError("a wrong call")

    monkeypatch.setattr(flat, "FlatCode", fail)
    blockscope.set_interpret_mode(True)
    try:
        with blockscope.check("undefined,tsan") as report:
            if step_only:
                total[(1,)](torch.ones(8), torch.zeros(1), 8, BLOCK=512)
            else:
                with pytest.raises(TypeError, match="a wrong call"):
                    total[(1,)](torch.ones(8), torch.zeros(1), 8, BLOCK=512)
    finally:
        blockscope.set_interpret_mode(False)
    assert report.clean


def half_copied(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel() // 2, BLOCK=16)
    return out


def all_copied(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=16)
    return out


@pytest.mark.parametrize("kind", ["custom_op", "triton_op", "impl"])
@pytest.mark.parametrize("function", [half_copied, all_copied])
def test_custom_ops_are_looked_into(kind, function, mode):
    name = f"blockscope_test_{kind}::{function.__name__}"
    space, _, short = name.partition("::")
    if kind != "impl":
        if not hasattr(getattr(torch.ops, space), short):
            getattr(torch.library, kind)(name, function, mutates_args=())
    elif not hasattr(getattr(torch.ops, space), short):
        torch.library.define(name, "(Tensor x) -> Tensor")
        torch.library.impl(name, "cpu", function)
    with blockscope.check("undefined") as report:
        getattr(getattr(torch.ops, space), short)(torch.ones(16)).sum().item()
    assert codes(report) == (["undefined-value"] if function is half_copied else [])
