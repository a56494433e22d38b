"""The table of speed: Blockscope against Triton's interpreter, memcpy, a matrix library; one run.

Every number is the median of several launches in a fresh process, 2 threads. Writes
benchmarks/results.json and docs/benchmarks.md.
"""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BY_HAND = "## Reading it\n"
CASES = {
    "vector_add": "vector add 2^22",
    "softmax": "softmax 4096x1000",
    "layer_norm": "LayerNorm 4096x1000",
    "matmul": "matmul 1024^3 fp16 (64x64x32)",
    "attention": "attention 8x1024x64 fp16 (64x64)",
}
#: How many times the unchecked launch each check may take.
WATCHED = {
    "asan": 1.08,
    "tsan": 1.08,
    "asan,tsan": 1.15,
    "undefined": 1.8,
    "overflow": 1.5,
    "arith": 1.5,
    "nan": 1.3,
    "hints": 1.1,
    "outputs": 1.3,
    "rows": 1.3,
    "all": 3.0,
    "trace": 5.0,
}
#: Kernels whose programs meet, which tsan analyses exactly, and how many times the unchecked launch
#: that may take.
MEETING = {
    "ticket": "sum by the last program, 2^22",
    "locks": "rows added under 64 locks, 4096x1000",
    "dealt": "matmul 512^3 fp16, tiles dealt out by a counter",
    "racing": "vector add 2^22, neighbours share an element",
}
EXACT = 5.0
FIRST_LAUNCH = """
import gc, json, time, torch, triton
import kernels
launch, _, _ = kernels.matmul(4096)
gc.collect()  # of torch's objects, 90 ms, which fall into a launch or an import by chance
start = time.perf_counter(); launch(); first = time.perf_counter() - start
again = []
for _ in range(20):
    start = time.perf_counter(); launch(); again.append(time.perf_counter() - start)
print(json.dumps(first - sorted(again)[10]))
"""
SMALL_LAUNCHES = """
import contextlib, json, timeit, torch, triton
import kernels
x, y, out = (torch.rand(64) for _ in range(3))
launch = lambda: kernels.add_kernel[(1,)](x, y, out, 64, BLOCK=64)
launch()
seconds = {}
for watch in ("nothing", "asan"):
    with triton.check(watch) if watch != "nothing" else contextlib.nullcontext():
        seconds[watch] = sorted(timeit.repeat(launch, number=500, repeat=11))[5] / 500
print(json.dumps(seconds))
"""
IMPORT = """
import sys, time
start = time.perf_counter()
import blockscope
took = time.perf_counter() - start
assert "torch" not in sys.modules, "blockscope imports torch"
print(took)
"""


def run(python, arguments, **variables):
    """Runs Python in a fresh process; returns the JSON of its last line, None when it failed."""
    environment = {
        **os.environ, "BLOCKSCOPE_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
        **variables,
    }  # fmt: skip
    if "TRITON_INTERPRET" not in variables:
        environment.pop("TRITON_INTERPRET", None)
    # Python's bytecode is kept, as in every installation, whatever this shell says.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "bytecode"))
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, env=environment, cwd=HERE
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"    failed ({done.returncode}): {reason}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def measured(python, case, limits, watch="nothing", **variables):
    """What kernels.py prints; None where it failed or was wrong."""
    scale, seconds, least, most = limits
    result = run(
        python,
        ["kernels.py", "--case", case, "--scale", str(scale), "--seconds", str(seconds),
         "--least", str(least), "--most", str(most), "--watch", watch],
        **variables,
    )  # fmt: skip
    if result is None:
        return None
    if result["error"] > 0.05:
        print(f"    {case}: wrong result, error {result['error']}", file=sys.stderr)
        return None
    return result


def median_seconds(python, case, limits, **variables):
    result = measured(python, case, limits, **variables)
    return result and statistics.median(result["seconds"])


def times_slower(python, case, limits, watch):
    """How many times the unchecked launch a watched one takes, in turn with it."""
    result = measured(python, case, limits, watch)
    return result and statistics.median(result["seconds"]) / statistics.median(result["plain"])


def copy_seconds(copied_bytes):
    """One memcpy of so many bytes: the better of one thread and of two."""
    import threading

    import numpy as np

    source, target = np.ones(copied_bytes, np.uint8), np.zeros(copied_bytes, np.uint8)
    half = copied_bytes // 2

    def both():
        other = threading.Thread(target=lambda: np.copyto(target[:half], source[:half]))
        other.start()
        np.copyto(target[half:], source[half:])
        other.join()

    medians = []
    for copy in (lambda: np.copyto(target, source), both):
        times = []
        for _ in range(50):
            start = time.perf_counter()
            copy()
            times.append(time.perf_counter() - start)
        medians.append(statistics.median(times))
    return min(medians)


def library_seconds(size, folder):
    """fp32 matrix product on 2 threads: Eigen when a compiler is there, else torch."""
    binary = Path(folder) / "eigen_gemm"
    for compiler in ("clang++-22", "clang++", "g++"):
        command = [compiler, "-O3", "-march=native", "-std=c++20", "-DNDEBUG", "-pthread"]
        command += ["-I/usr/include/eigen3", str(HERE / "eigen_gemm.cpp"), "-o", str(binary)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        done = subprocess.run(
            [binary, str(size), "2", "15"], capture_output=True, text=True, check=True
        )
        return "Eigen", float(done.stdout.split()[0])
    import torch

    torch.set_num_threads(2)
    a, b, times = torch.randn(size, size), torch.randn(size, size), []
    for _ in range(15):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return "torch", statistics.median(times)


def machine():
    cpu = platform.processor() or "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": f"{cpu}, {os.cpu_count()} processors", "memory": f"{memory:.0f} GiB",
        "system": platform.platform(), "python": platform.python_version(), "threads": 2,
        "date": datetime.date.today().isoformat(),
    }  # fmt: skip


def say(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


def collect(options):
    """All measurements, in seconds; None where a run failed."""
    ours, peer, scale = sys.executable, options.peer_python, options.scale
    os.environ["BLOCKSCOPE_AS_TRITON"] = "1"
    quick = (scale, options.seconds, 5, 200)
    slow = (scale, options.seconds, 3, 20)
    results = {"machine": machine(), "scale": scale, "cases": {}, "watched": {}}
    results["peer"] = subprocess.run(
        [peer, "-c", "import triton, numpy; print(f'Triton {triton.__version__}, NumPy "
         "{numpy.__version__}')"], capture_output=True, text=True, env={"PATH": os.environ["PATH"]},
    ).stdout.strip()  # fmt: skip
    for case, title in CASES.items():
        say(title)
        results["cases"][case] = {
            "whole": median_seconds(ours, case, quick),
            "step": median_seconds(ours, case, slow, TRITON_INTERPRET="1"),
            "peer": median_seconds(
                peer,
                case,
                (scale, 0, 2, 2),
                TRITON_INTERPRET="1",
                BLOCKSCOPE_AS_TRITON="0",
                PYTHONPATH=str(HERE),
            ),
        }
        results["watched"][case] = {}
        for watch in WATCHED:
            results["watched"][case][watch] = times_slower(ours, case, slow, watch)
    say("programs that meet")
    results["exact"] = {case: times_slower(ours, case, slow, "tsan") for case in MEETING}
    say("memcpy, matrix library, first launch, import")
    results["memcpy"] = copy_seconds((1 << 22) // scale * 6)
    with tempfile.TemporaryDirectory() as folder:
        size = max(64, round(1024 / scale ** (1 / 3) / 64) * 64)
        results["library"], results["library_seconds"] = library_seconds(size, folder)
    firsts = [run(ours, ["-c", FIRST_LAUNCH]) for _ in range(5)]
    results["first_launch"] = statistics.median(firsts) if None not in firsts else None
    results["small_launch"] = run(ours, ["-c", SMALL_LAUNCHES])
    imports = [run(ours, ["-c", IMPORT], BLOCKSCOPE_AS_TRITON="0") for _ in range(5)]
    results["import"] = statistics.median(imports) if None not in imports else None
    return results


def ratio(over, under):
    return over / under if over is not None and under else None


def geometric_mean(values):
    known = [v for v in values if v]
    return math.exp(statistics.fmean(map(math.log, known))) if known else None


def number(value, digits=3, unit=""):
    return "-" if value is None else f"{value:.{digits}g}{unit}"


def milliseconds(value):
    return "-" if value is None else f"{value * 1e3:,.2f} ms"


def microseconds(value):
    return "-" if value is None else f"{value * 1e6:,.1f} us"


def verdict(value, wanted, at_least=True):
    if value is None:
        return "not measured"
    return "reached" if (value >= wanted if at_least else value <= wanted) else "missed"


def table(results):
    """The page as Markdown."""
    cases, watched = results["cases"], results["watched"]
    whole = {c: ratio(t["peer"], t["whole"]) for c, t in cases.items()}
    step = {c: ratio(t["peer"], t["step"]) for c, t in cases.items()}
    lines = ["| kernel | peer | whole kernel | times | step | times |", "|---|---|---|---|---|---|"]
    for case, title in CASES.items():
        t = cases[case]
        lines.append(
            f"| {title} | {milliseconds(t['peer'])} | {milliseconds(t['whole'])} "
            f"| {number(whole[case], 4)} | {milliseconds(t['step'])} | {number(step[case])} |"
        )
    lines += ["", "Times the unchecked launch in whole-kernel mode, which takes turns with the one"]
    lines += ["that is watched; launch and report included:", ""]
    lines += ["| kernel | " + " | ".join(WATCHED) + " |", "|---" * (len(WATCHED) + 1) + "|"]
    for case, title in CASES.items():
        lines.append(f"| {title} | " + " | ".join(number(watched[case][w]) for w in WATCHED) + " |")
    means = {w: geometric_mean(watched[case][w] for case in CASES) for w in WATCHED}
    lines.append("| geometric mean | " + " | ".join(number(m) for m in means.values()) + " |")
    lines += ["", "| programs that meet: tsan analyses them exactly | times |", "|---|---|"]
    lines += [f"| {title} | {number(results['exact'][case])} |" for case, title in MEETING.items()]
    exact = geometric_mean(results["exact"].values())

    mean, lowest = geometric_mean(whole.values()), min(filter(None, whole.values()), default=None)
    step_mean = geometric_mean(step.values())
    add = ratio(results["memcpy"], cases["vector_add"]["whole"])
    library = results["library_seconds"]
    product = ratio(library, cases["matmul"]["whole"])
    first, load = results["first_launch"], results["import"]
    small = results.get("small_launch") or {}
    goals = [
        ("whole-kernel mode over the peer, geometric mean", number(mean, 4), "300",
         verdict(mean, 300)),
        ("the same, lowest", number(lowest, 4), "120", verdict(lowest, 120)),
        (f"vector add against memcpy of the same bytes ({milliseconds(results['memcpy'])})",
         number(add), "0.5", verdict(add, 0.5)),
        (f"matmul against {results['library']} in fp32 ({milliseconds(library)})",
         number(product), "0.4", verdict(product, 0.4)),
        ("step mode over the peer, geometric mean", number(step_mean), "10",
         verdict(step_mean, 10)),
        *((f"{w}, times the unchecked, geometric mean", number(means[w]), f"{limit}",
           verdict(means[w], limit, False)) for w, limit in WATCHED.items()),
        ("tsan where programs meet, the same", number(exact), f"{EXACT}",
         verdict(exact, EXACT, False)),
        ("first launch of matmul, beyond a later one", milliseconds(first), "20 ms",
         verdict(first, 0.02, False)),
        ("launch of 64 elements, repeated", microseconds(small.get("nothing")), "15 us",
         verdict(small.get("nothing"), 15e-6, False)),
        ("the same under asan", microseconds(small.get("asan")), "30 us",
         verdict(small.get("asan"), 30e-6, False)),
        ("import blockscope", milliseconds(load), "250 ms", verdict(load, 0.25, False)),
    ]  # fmt: skip
    lines += ["", "| goal | measured | to reach | |", "|---|---|---|---|"]
    lines += [f"| {name} | {got} | {wanted} | {how} |" for name, got, wanted, how in goals]
    return "\n".join(lines)


def page(results, before):
    """The page, made anew down to the heading BY_HAND; from there on as `before` has it."""
    m = results["machine"]
    scaled = "" if results["scale"] == 1 else f" Problems divided by {results['scale']}."
    _, heading, by_hand = before.partition(BY_HAND)
    return f"""# Benchmarks

Made by `./dev bench` on {m["date"]}: {m["cpu"]}, {m["memory"]}; {m["system"]};
Python {m["python"]}; {m["threads"]} threads. The peer is the interpreter of
{results["peer"]}, running the same file,
[benchmarks/kernels.py](../benchmarks/kernels.py). Medians of launches after the first.{scaled}

{table(results)}

{heading}{by_hand}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", required=True, help="Python with Triton's interpreter")
    parser.add_argument("--scale", type=int, default=1, help="divide every problem by this")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each measurement")
    parser.add_argument("--results", default=HERE / "results.json", type=Path)
    parser.add_argument("--page", default=ROOT / "docs" / "benchmarks.md", type=Path)
    options = parser.parse_args()
    results = collect(options)
    print(table(results))
    options.results.write_text(json.dumps(results, indent=1) + "\n")
    before = options.page.read_text() if options.page.exists() else ""
    options.page.write_text(page(results, before))


if __name__ == "__main__":
    main()
