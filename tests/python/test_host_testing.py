"""triton.testing: timing, comparing, tables and plots."""

import time

import numpy as np
import pytest
from blockscope import testing, timing


def test_do_bench_takes_the_time_of_a_run():
    assert 2 <= testing.do_bench(lambda: time.sleep(0.002), warmup=1, rep=10) < 20


def test_do_bench_quantiles_and_return_modes():
    times = testing.do_bench(lambda: time.sleep(0.001), 0, 5, quantiles=[0.2, 0.5, 0.8])
    assert times == sorted(times) and len(times) == 3
    assert isinstance(testing.do_bench(lambda: None, 0, 1, quantiles=[0.5]), float)
    every = testing.do_bench(lambda: time.sleep(0.001), 0, 200, return_mode="all")
    assert isinstance(every, list) and len(every) >= 2
    for mode in ("min", "max", "mean", "median"):
        assert testing.do_bench(lambda: None, 0, 1, return_mode=mode) > 0


def test_times_of_others_are_summarized():
    assert testing._quantile([3.0, 1.0, 2.0], [0, 0.25, 1]) == [1.0, 1.5, 3.0]
    times = [4.0, 1.0, 2.0]
    assert testing._summarize_statistics(times, [0.5, 1], "mean") == [2.0, 4.0]
    assert testing._summarize_statistics(times, [0.5], "mean") == 2.0
    assert testing._summarize_statistics(times, None, "median") == 2.0
    assert testing._summarize_statistics(times, None, "all") is times
    tensor = pytest.importorskip("torch").tensor(times)
    assert testing._summarize_statistics(tensor, [0.5], "mean") == 2.0
    assert testing._summarize_statistics(tensor, None, "mean") == pytest.approx(7 / 3)


def test_a_slow_function_is_timed_once():
    calls = []
    testing.do_bench(lambda: (calls.append(1), time.sleep(0.1)), warmup=10, rep=20)
    assert len(calls) == 2


def test_do_bench_clears_gradients():
    class Leaf:
        grad = 1

    leaf = Leaf()
    testing.do_bench(lambda: None, 0, 1, grad_to_none=[leaf])
    assert leaf.grad is None


def test_do_bench_accepts_old_options():
    testing.do_bench(lambda: None, 0, 1, fast_flush=False, device_type="cuda")
    assert len(testing.do_bench(lambda: None, 0, 1, percentiles=[0.2, 0.8])) == 2
    assert testing.do_bench_cudagraph(lambda: None, rep=1) > 0


def test_do_bench_bad_arguments():
    with pytest.raises(TypeError, match="expected a function to call"):
        testing.do_bench(3)
    with pytest.raises(ValueError, match="return_mode 'average'"):
        testing.do_bench(lambda: None, return_mode="average")
    with pytest.raises(ValueError, match="quantile 50"):
        testing.do_bench(lambda: None, quantiles=[50])


def test_assert_close():
    testing.assert_close([1.0, 2.0], [1.005, 2.0])
    testing.assert_close(np.array([np.nan]), np.array([np.nan]))
    testing.assert_close(100.0, 101.0, atol=0, rtol=0.02)
    with pytest.raises(AssertionError, match=r"1 of 4 elements .* \(1, 0\): 3\.5 and 3\.0"):
        testing.assert_close(np.array([[1, 2], [3.5, 4]]), np.array([[1, 2], [3.0, 4]]))
    with pytest.raises(AssertionError, match="shapes"):
        testing.assert_close([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(AssertionError, match="here: 1 of 1"):
        testing.assert_close(1.0, float("nan"), err_msg="here")


def test_assert_close_takes_tensors():
    torch = pytest.importorskip("torch")
    x = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
    testing.assert_close(x, torch.ones(4))
    with pytest.raises(AssertionError):
        testing.assert_close(x, torch.zeros(4))


def benchmark(**options):
    return testing.Benchmark(
        **{
            "x_names": ["n"],
            "x_vals": [1, 2],
            "line_arg": "provider",
            "line_vals": ["a", "b"],
            "line_names": ["A", "B"],
            "plot_name": "speed",
            "args": {"scale": 10},
            **options,
        }
    )


def test_perf_report_prints_a_table(capsys):
    @testing.perf_report(benchmark(ylabel="GB/s"))
    def bench(n, provider, scale):
        return float(n * scale + (provider == "b"))

    bench.run(print_data=True)
    assert capsys.readouterr().out == (
        "speed:\n"
        "   n   A (GB/s)   B (GB/s)\n"
        "0  1  10.000000  11.000000\n"
        "1  2  20.000000  21.000000\n"
    )


def test_perf_report_bounds_and_frame():
    @testing.perf_report([benchmark()])
    def bench(n, provider, scale):
        return n, n - 1, n + 1

    pandas = pytest.importorskip("pandas")
    (frame,) = bench.run(return_df=True)
    assert isinstance(frame, pandas.DataFrame) and list(frame["B"]) == [1, 2]


def test_perf_report_saves(tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new"

    @testing.perf_report(benchmark(styles=[("blue", "-"), ("green", "--")], x_log=True))
    def bench(n, provider, scale):
        return float(n), n - 0.5, n + 0.5

    bench.run(save_path=str(folder))
    assert (folder / "speed.csv").read_text().splitlines()[1] == "1,1.000000,1.000000"
    assert (folder / "speed.png").read_bytes()[:4] == b"\x89PNG"
    assert "speed.png" in (folder / "results.html").read_text()


def test_perf_report_two_x_names(capsys):
    @testing.perf_report(benchmark(x_names=["m", "n"], x_vals=[(1, 2), 3]))
    def bench(m, n, provider, scale):
        return m * 10 + n

    bench.run(print_data=True, diff_col=True)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [["0", "1", "2", "12", "12", "0"], ["1", "3", "3", "33", "33", "0"]]


def test_perf_report_bad_settings():
    with pytest.raises(ValueError, match="2 line_vals and 1 line_names"):
        benchmark(line_names=["A"])
    with pytest.raises(ValueError, match="3 x values for 1 x_names"):
        testing.perf_report(benchmark(x_vals=[(1, 2, 3)]))(lambda **_: 1).run()

    def two(**_):
        return 1, 2

    with pytest.raises(ValueError, match="'two' gave 2 values"):
        testing.perf_report(benchmark())(two).run()


def test_without_pandas_and_matplotlib(monkeypatch, tmp_path, capsys):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    mark = testing.perf_report(benchmark())(lambda n, provider, scale: n)
    mark.run(print_data=True, save_path=str(tmp_path))
    assert "matplotlib is not installed" in capsys.readouterr().out
    assert (tmp_path / "speed.csv").is_file()
    with pytest.raises(ImportError, match="needs pandas"):
        mark.run(return_df=True)
    with pytest.raises(ImportError, match="needs matplotlib"):
        mark.run(show_plots=True)


def test_what_the_machine_can_do():
    assert testing.get_dram_gbps() > 0.1
    assert testing.get_max_simd_tflops(None) > 0
    assert testing.get_max_tensorcore_tflops(None) > 0
    with pytest.raises(RuntimeError, match="needs a GPU"), testing.set_gpu_clock():
        pass


class Stream:
    """A GPU as do_bench sees it, with a clock of its own that advances by what is put on it."""

    def __init__(self):
        self.now_ms = 0.0

    def Event(self, enable_timing):  # noqa: N802 (torch's name)
        stream = self

        class Event:
            def record(self):
                self.at = stream.now_ms

            def elapsed_time(self, end):
                return end.at - self.at

        return Event()

    def synchronize(self):
        pass


def test_runs_on_a_gpu_are_counted_with_what_comes_before_them():
    """A kernel of 2 us behind a flush of 98 us: 25 + 100 ms hold 1250 runs, not 62500."""
    stream = Stream()
    runs = 0

    def advance(milliseconds):
        stream.now_ms += milliseconds

    def kernel():
        nonlocal runs
        runs += 1
        advance(0.002)

    times = timing.time_on_gpu(stream, kernel, 25, 100, lambda: advance(0.098))
    assert len(times) == pytest.approx(1000, abs=1)
    assert runs == pytest.approx(1250 + 6, abs=3)
    assert times == [pytest.approx(0.002)] * len(times)
