"""blockscope.check and blockscope.trace as Python users see them."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import blockscope
import pytest
from blockscope import checks, errors, knobs

torch = pytest.importorskip("torch")


def wrong_kernel():
    """A load whose last block passes the end of x by 24 elements."""
    from blockscope import language as tl

    @blockscope.jit
    def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, x, mask=offsets < n)

    return copy


def launch(kernel, n=1000):
    x, out = torch.ones(n), torch.zeros(n)
    kernel[(blockscope.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out


@pytest.mark.parametrize("step", [False, True])
def test_threads_that_launch_under_one_check(step):
    kernel = wrong_kernel()
    launches = [(kernel, 1000)] * 5 + [(kernel, 1024)] * 5
    with knobs.runtime.scope(), blockscope.check("asan,tsan") as report:
        blockscope.set_interpret_mode(step)
        threads = [
            threading.Thread(target=lambda: [launch(*each) for each in launches]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (finding,) = report.findings
    assert finding.code == "oob-load" and finding.count == 4 * 5 * 24


@pytest.mark.parametrize("step", [False, True])
def test_an_error_without_a_check_has_findings_as_reports_have(step):
    with knobs.runtime.scope():
        blockscope.set_interpret_mode(step)
        with pytest.raises(errors.SanitizerError) as caught:
            launch(wrong_kernel())
    (finding,) = caught.value.findings
    assert isinstance(finding, checks.Finding)
    assert finding.code == finding["code"] == "oob-load" and finding.tensor == "x_ptr"


def test_report_of_a_wrong_kernel():
    kernel = wrong_kernel()
    with blockscope.check("asan") as report:
        out = launch(kernel)
    assert out.sum() == 1000
    assert len(report) == 1 and report and not report.clean and report.error_count == 1
    (finding,) = report.findings
    assert finding.code == finding["code"] == finding.get("code") == "oob-load"
    assert finding.get("no such field") is None and "code" in dir(finding)
    with pytest.raises(AttributeError, match="no field 'colour'"):
        finding.colour  # noqa: B018
    assert "error[oob-load]" in report.text() and "\x1b" not in report.text()
    assert "\x1b" in report.text(color=True)
    assert "oob-load" in json.dumps(json.loads(report.json()))
    with pytest.raises(errors.SanitizerError, match="oob-load") as caught:
        report.raise_on_error()
    assert caught.value.findings[0].code == "oob-load"


def test_report_of_a_right_kernel():
    kernel = wrong_kernel()
    with blockscope.check("asan,tsan") as report:
        launch(kernel, 1024)
    assert report.clean and not report and list(report) == []
    report.raise_on_error()


def test_only_launches_inside_the_block_are_checked():
    kernel = wrong_kernel()
    with blockscope.check(["asan"]) as report:
        launch(kernel, 1024)
    assert checks.active() == ()
    with pytest.raises(Exception, match="x_ptr"):
        launch(kernel)  # unchecked: an error, and not in the report
    assert report.clean


@pytest.mark.parametrize("step", [False, True])
def test_stop_at_first(step):
    """The first program ends the launch at its first error: it stores nothing behind it."""
    from blockscope import language as tl

    @blockscope.jit
    def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        first = tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK))
        tl.store(out_ptr + pid, tl.sum(first))
        second = tl.load(x_ptr + 1000 + pid)
        tl.store(out_ptr + 8 + pid, second)

    @blockscope.jit
    def good(out_ptr):
        tl.store(out_ptr + 1, 1.0)

    x, out = torch.ones(40), torch.zeros(16)
    with knobs.runtime.scope():
        blockscope.set_interpret_mode(step)
        with blockscope.check("asan,tsan", stop_at_first=True) as report:
            with pytest.raises(errors.SanitizerError, match="oob-load") as caught:
                kernel[(8,)](x, out, BLOCK=16)
            refused = rf"nothing was launched: .* ended at launch {report.findings[0].launch}, of "
            for _ in range(2):  # nor does any later launch run, of a correct kernel neither
                with pytest.raises(errors.StoppedAtFirst, match=refused + "'kernel':\n.*oob-load"):
                    good[(1,)](out)
            with ThreadPoolExecutor(1) as pool, pytest.raises(errors.StoppedAtFirst, match=refused):
                pool.submit(good[(1,)], out).result()
        assert checks.active() == ()
    assert len(report) == len(caught.value.findings) == 1
    (finding,) = report.findings
    assert (finding.program, finding.element) == ([0, 0, 0], [1000])
    assert out.tolist() == [16.0] + [0.0] * 15


@pytest.mark.parametrize("step", [False, True])
def test_stop_at_first_goes_on_after_a_warning(step):
    from blockscope import language as tl

    @blockscope.jit
    def kernel(flag_ptr, out_ptr):
        tl.store(flag_ptr, 1.0)
        tl.store(out_ptr + tl.program_id(0), 1.0)

    out = torch.zeros(4)
    with knobs.runtime.scope(), blockscope.check("tsan", stop_at_first=True) as report:
        blockscope.set_interpret_mode(step)
        kernel[(4,)](torch.zeros(1), out)
    assert [finding.code for finding in report] == ["race-same-value"]
    assert out.tolist() == [1.0] * 4


def test_sessions_nest():
    kernel = wrong_kernel()
    with blockscope.check("asan") as outer:
        with blockscope.check("asan") as inner:
            assert checks.active() == (outer, inner)
            launch(kernel)
        assert checks.active() == (outer,)
    assert len(outer) == len(inner) == 1


def test_session_ends_when_the_block_raises():
    with pytest.raises(KeyError), blockscope.check():
        raise KeyError
    assert checks.active() == ()


@pytest.mark.parametrize(
    "arguments, options, text",
    [
        (["msan"], {}, "unknown check 'msan'"),
        ([""], {}, "no check was named"),
        (["asan"], {"bounds": "none"}, "bounds is 'none', expected view or storage"),
        (["asan"], {"max_findings": 0}, "max_findings is 0"),
    ],
)
def test_wrong_options(arguments, options, text):
    with pytest.raises(ValueError, match=text), blockscope.check(*arguments, **options):
        pass


def test_bounds_storage_allows_what_is_outside_a_view():
    kernel = wrong_kernel()
    for bounds, count in (("view", 1), ("storage", 0)):
        x, out = torch.ones(2000)[:1000], torch.zeros(1000)
        with blockscope.check("asan", bounds=bounds) as report:
            kernel[(4,)](x, out, 1000, BLOCK=256)
        assert len(report) == count


def test_trace_holds_the_findings_of_the_check_around_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    kernel, path = wrong_kernel(), tmp_path / "t.h5"
    with blockscope.check("asan"), blockscope.trace(path) as recording:
        launch(kernel)
    assert recording.path == str(path)
    with h5py.File(path) as file:
        names = []
        file.visit(names.append)
    assert any("finding" in name for name in names)


@pytest.mark.parametrize(
    "path, kind, text",
    [
        ("no/such/folder/t.h5", FileNotFoundError, "there is no folder"),
        (".", IsADirectoryError, "it is a folder"),
    ],
)
def test_trace_that_cannot_be_written(path, kind, text):
    with pytest.raises(kind, match=text), blockscope.trace(path):
        pass


def assert_kernel():
    from blockscope import language as tl

    @blockscope.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, BLOCK))
        tl.device_assert(x > 0, "x is positive")

    return kernel


def waiting_kernel():
    from blockscope import language as tl

    @blockscope.jit
    def kernel(flag_ptr):
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass

    return kernel


def endless_kernel():
    from blockscope import language as tl

    @blockscope.jit
    def kernel(x_ptr, step):
        for i in range(0, 8, step):
            tl.store(x_ptr + i, 1.0)

    return kernel


def outcome(kernel, *args, **kwargs):
    """The codes and messages of the error that a launch ends with."""
    try:
        kernel[(2,)](*args, **kwargs)
    except errors.SanitizerError as error:
        return [(finding["code"], finding["message"]) for finding in error.findings]
    return []


CASES = {
    "assert": (assert_kernel, lambda: (torch.zeros(4),), {"BLOCK": 4, "debug": True}),
    "assert that is off": (assert_kernel, lambda: (torch.zeros(4),), {"BLOCK": 4}),
    "deadlock": (waiting_kernel, lambda: (torch.zeros(1, dtype=torch.int32),), {}),
}


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_trace_changes_no_error(case, step, tmp_path):
    """What a trace does not record ends the launch, as it does without."""
    make, arguments, options = CASES[case]
    kernel = make()
    with knobs.runtime.scope():
        blockscope.set_interpret_mode(step)
        without = outcome(kernel, *arguments(), **options)
        with blockscope.trace(tmp_path / "t.h5"):
            traced = outcome(kernel, *arguments(), **options)
    assert traced == without
    assert [code for code, _ in without] == {
        "assert": ["device-assert"], "assert that is off": [], "deadlock": ["deadlock"]
    }[case]  # fmt: skip


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("traced", [False, True])
def test_a_check_takes_over_asserts_and_deadlocks(case, step, traced, tmp_path):
    """With a trace beside it or without, the check has them, and the script goes on."""
    make, arguments, options = CASES[case]
    with knobs.runtime.scope(), blockscope.check("tsan") as report, ExitStack() as stack:
        blockscope.set_interpret_mode(step)
        if traced:
            stack.enter_context(blockscope.trace(tmp_path / "t.h5"))
        assert outcome(make(), *arguments(), **options) == []
    assert [finding.code for finding in report] == [
        "deadlock" if case == "deadlock" else "device-assert"
    ]


def test_an_endless_loop_is_a_finding_of_the_check():
    with blockscope.check("asan") as report:
        assert outcome(endless_kernel(), torch.zeros(8), 0) == []
    (finding,) = report
    assert finding.code == "deadlock" and "never ends" in finding.message


@pytest.mark.parametrize("wrong", [None, 5, ["asan", None], b"asan"])
def test_checks_that_are_no_names(wrong):
    with pytest.raises(TypeError, match=r"'checks' has .*, expected names such as 'asan,tsan'"):
        with blockscope.check(wrong):
            pass


@pytest.mark.parametrize("step", [False, True])
def test_sentences_name_programs_as_the_grid_counts_them(step):
    from blockscope import language as tl

    @blockscope.jit
    def everyone(x_ptr):
        tl.store(x_ptr, tl.program_id(0) + 2 * tl.program_id(1))

    @blockscope.jit
    def wait(x_ptr):
        while tl.atomic_cas(x_ptr, 1, 2) == 0:
            pass

    blockscope.set_interpret_mode(step)
    try:
        for grid, race, stuck in [
            ((4,), "programs 1 and 0 both write", "program 0 waits"),
            ((2, 2), "programs (1, 0, 0) and (0, 0, 0) both write", "program (0, 0, 0) waits"),
        ]:
            with blockscope.check("tsan") as report:
                everyone[grid](torch.zeros(1, dtype=torch.int32))
            assert report.findings[0].message.startswith(race)
            with blockscope.check("tsan") as report:
                wait[grid](torch.zeros(1, dtype=torch.int32))
            (finding,) = report.findings
            assert finding.message.startswith(stuck)
            assert [1, 0, 0] in [wait["program"] for wait in finding.waiting]
            named = "programs 0, 1, 2" if len(grid) == 1 else "programs (0, 0, 0), (1, 0, 0),"
            assert named in report.text()
    finally:
        blockscope.set_interpret_mode(False)
