"""Kernels that nobody here tuned, by Triton and by Blockscope, side by side.

A case file has functions ``case_NAME()`` that make tensors with the functions of foreign_worker.py
and launch kernels, as an unmodified program would. With ``--static`` nothing runs and no GPU is
needed. For each kernel: registers, spilled bytes, shared memory, and what its main loop is made of,
from SASS, for the same work on both sides. Columns:

  regs, stack, shared  of a thread, bytes of a thread (spills), bytes of a CTA
  total   instructions of one pass of the main loop; where the passes do different amounts of work,
          ours are divided by how many of Triton's they make
  mma ... the same, by kind: dots; copies to shared memory that do not wait; loads and stores of
          global (ldg, stg) and shared memory (lds, sts); barriers; integers; floats; shuffles;
          spills (local)
  widths  loads and copies of global memory, NxBITS of an instruction (UTMALDG, by TMA: how many)

Marks, in place of the case's name:

  sync    loads stay synchronous in a loop where Triton's are asynchronous
  more    the loop has over 10 % more instructions for the same work
  narrow  loads or copies are narrower than Triton's
  spill   spills where Triton has none

With ``--timed``, on a GPU: the time of the kernels alone, by replay of a graph, in a process for
each side, in turn; whether both computed the same; the geometric mean, and the ten lowest. Where
several processes run at once, what is far from equal is timed again, with few others beside it.

With ``--profile``, on a GPU with ncu: what the hardware counted for each launch of the cases, both
sides beside one another (foreign_profile.py).

With ``--compile-time``, without a GPU: how long compiling takes, one process at a time, with no
cache of compiled kernels (compile_times.py).

  python benchmarks/foreign.py --static CASES.py [NAME,...] --triton-python PYTHON
  python benchmarks/foreign.py --static CLONES:lmdeploy --triton-python PYTHON
  python benchmarks/foreign.py --timed CASES.py [NAME,...]
  python benchmarks/foreign.py --timed CLONES: --processes 14
  python benchmarks/foreign.py --timed CLONES: sla/attention_64,kernl
  python benchmarks/foreign.py --profile CLONES:lmdeploy NAME,...
  python benchmarks/foreign.py --compile-time CLONES: --triton-python PYTHON

PYTHON is one with Triton (any version that compiles for sm_90) and torch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import compile_times
import foreign_profile
import requirements
from foreign_worker import MARK
from sass_loops import Loop, disassembled, loops_of, main_loop

HERE = Path(__file__).resolve().parent
PRACTICE_CASES = HERE.parent / "tests/practice/practice/cases"
SIDES = ("triton", "blockscope")
MUCH_MORE = 1.1
TOLERANCE = 1e-2  # of fingerprints
LIMIT_SECONDS = 600  # for one process
FEW_CASES = 5  # of a module, for one process
FAR = 0.9  # ratios below it, or above its inverse, are timed again where processes share the GPU
FEW_PROCESSES = 3
SHOWN = ("mma", "async", "ldg", "lds", "sts", "stg", "bar", "int", "float", "shfl", "local")


def lines_of(
    mode: str, side: str, python: str, cases: str, names: str, folder: str
) -> list[dict[str, Any]]:
    """What a process says about one side. Paths are absolute: it runs in a folder of its own."""
    command = [python, str(HERE / "foreign_worker.py"), mode, side, cases, folder]
    # What the files write beside themselves, such as tuned configurations, goes with `here`.
    with tempfile.TemporaryDirectory(prefix="foreign-") as here:
        child = subprocess.Popen(
            [*command, names] if names else command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here,
        )
        try:
            out, errors = child.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            out, errors = child.communicate()
            errors += f"\nnot done in {LIMIT_SECONDS} s"
    marked = (line.partition(MARK) for line in out.splitlines())  # kernels print lines, too
    lines = [json.loads(text) for _, mark, text in marked if mark]
    if child.returncode != 0:
        print(f"{side}, {cases}: {errors.strip()[-2000:]}", file=sys.stderr)
    elif not lines:
        said = errors.strip()[-2000:] or "no case has such a name, or launches a kernel"
        print(f"{side}, {cases} {names}: {said}", file=sys.stderr)
    return lines


def tool(name: str, given: str | None, triton_python: str) -> str:
    """A program of the CUDA Toolkit: as given, on the path, or of Triton's package."""
    if found := given or shutil.which(name):
        return found
    code = "import triton, os; print(os.path.dirname(triton.__file__))"
    package = subprocess.run([triton_python, "-c", code], capture_output=True, text=True).stdout
    found = str(Path(package.strip(), "backends", "nvidia", "bin", name))
    if not package.strip() or not os.access(found, os.X_OK):
        requirements.stop(f"{name} is not on the path, and not in Triton's package; --{name} PATH")
    return found


def usage_of(cubin: str, cuobjdump: str) -> dict[str, int]:
    """Registers and bytes on the stack."""
    text = subprocess.run([cuobjdump, "-res-usage", cubin], capture_output=True, text=True).stdout
    return {name: int(n) for name, n in re.findall(r"\b(REG|STACK|SHARED):(\d+)", text)}


class Kernel:
    """One kernel of one side."""

    def __init__(self, line: dict[str, Any], nvdisasm: str, cuobjdump: str) -> None:
        self.line = line
        self.usage = usage_of(line["cubin"], cuobjdump)
        self.loops = loops_of(disassembled(Path(line["cubin"]).read_bytes(), nvdisasm))
        self.loop = main_loop(self.loops)

    def row(self, unit: float) -> str:
        usage = (
            f"{self.usage.get('REG', 0):4} {self.usage.get('STACK', 0):6} {self.line['shared']:7}"
        )
        if self.loop is None:
            return f"{usage}  no loop"
        counts = " ".join(f"{self.loop.count(kind) / unit:6.4g}" for kind in SHOWN)
        return f"{usage} {self.loop.total / unit:6.4g} {counts}  {widths(self.loop)}"


def widths(loop: Loop) -> str:
    parts = []
    for family in ("LDG", "LDGSTS", "UTMALDG"):
        if found := loop.widths(family):
            parts.append(
                family
                + " "
                + "+".join(
                    f"{n}" if family == "UTMALDG" else f"{n}x{bits}"
                    for bits, n in sorted(found.items())
                )
            )
    return ", ".join(parts)


def marks(triton: Kernel, ours: Kernel) -> list[str]:
    found = []
    if ours.usage.get("STACK", 0) > triton.usage.get("STACK", 0):
        found.append("spill")
    if not triton.loop or not ours.loop:
        return found
    unit = units(triton.loop, ours.loop)
    theirs, mine = triton.loop, ours.loop
    if mine.total / unit[1] > MUCH_MORE * theirs.total / unit[0]:
        found.append("more")
    stays = "in its iteration" in ours.line.get("plan", "")
    if (
        stays
        and theirs.count("async")
        and mine.loaded_bytes("LDG") / unit[1] > theirs.loaded_bytes("LDG") / unit[0] + 8
    ):
        found.append("sync")
    if mean_width(mine) < mean_width(theirs) / MUCH_MORE / MUCH_MORE:
        found.append("narrow")
    return found


def mean_width(loop: Loop) -> float:
    """Mean bits of a load or copy."""
    all_widths = loop.widths("LDG") + loop.widths("LDGSTS")
    count = sum(all_widths.values())
    return sum(bits * n for bits, n in all_widths.items()) / count if count else 1e9


def units(triton: Loop, ours: Loop) -> tuple[float, float]:
    """What the passes of both loops are divided by, so that they do the same work."""
    theirs, mine = triton.work, ours.work
    if theirs[0] != mine[0] or theirs[1] == mine[1]:
        return 1, 1
    return (1, mine[1] / theirs[1]) if theirs[0] == mine[0] else (1, 1)


def static(options: argparse.Namespace) -> int:
    folder = options.keep or tempfile.mkdtemp()
    Path(folder).mkdir(exist_ok=True, parents=True)
    pythons = {"triton": options.triton_python, "blockscope": sys.executable}
    nvdisasm = tool("nvdisasm", options.nvdisasm, options.triton_python)
    cuobjdump = tool("cuobjdump", options.cuobjdump, options.triton_python)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for side in SIDES:
        for line in lines_of("static", side, pythons[side], options.cases, options.names, folder):
            found.setdefault((line["case"], line.get("number", 0)), {})[side] = line
    header = " ".join(f"{kind:>6}" for kind in SHOWN)
    print(f"{'case':24} {'side':10} regs  stack  shared  total {header}  widths")
    flagged = failed = 0
    for (case, number), lines in found.items():
        kernels = {
            side: Kernel(line, nvdisasm, cuobjdump)
            for side, line in lines.items()
            if "cubin" in line
        }
        for side, line in lines.items():
            if "error" in line:
                print(f"{case:24} {side:10} {line['error'].splitlines()[0][:120]}")
        failed += any("error" in line for line in lines.values())
        if set(kernels) != set(SIDES):
            flagged += "triton" in kernels
            continue
        theirs, mine = (kernels[side].loop for side in SIDES)
        unit = units(theirs, mine) if theirs and mine else (1, 1)
        found_marks = marks(kernels["triton"], kernels["blockscope"])
        flagged += bool(found_marks)
        for side, per in zip(SIDES, unit, strict=True):
            name = f"{case}.{number}" if side == "triton" else " ".join(found_marks)
            print(f"{name:24} {side:10} {kernels[side].row(per)}")
    print(f"{flagged} of {len(found)} flagged" + (f", {failed} failed" if failed else ""))
    return int(failed > 0 or not found)


def parts_of(cases: str, names: str) -> list[tuple[str, str]]:
    """CASES and names of them; or of the practice cases every module, in parts of a few, or what
    names like MODULE/NAME choose."""
    if not cases.endswith(":"):
        return [(cases, names)]
    if names:
        return [
            part
            for module, of_it in modules_of(names.split(","), cases)
            for part in ([(module, of_it)] if of_it else few_of(module))
        ]
    return [
        part
        for path in sorted(PRACTICE_CASES.glob("[a-z]*.py"))
        for part in few_of(cases + path.stem)
    ]


def few_of(module: str) -> list[tuple[str, str]]:
    """All cases of CLONES:MODULE, a few for each process."""
    file = PRACTICE_CASES / f"{module.rpartition(':')[2]}.py"
    parts = -(-file.read_text().count("repository.case(") // FEW_CASES)
    return [(f"{module}:{part}:{parts}", "") for part in range(parts)]


def modules_of(names: Iterable[str], cases: str) -> list[tuple[str, str]]:
    """CLONES:MODULE and the names in it, of names like MODULE/NAME, or MODULE for all of it. Of a
    file: it, and the names."""
    if not cases.endswith(":"):
        return [(cases, ",".join(names))]
    found: dict[str, list[str]] = {}
    for module, _, name in (text.partition("/") for text in names):
        found.setdefault(cases + module, []).append(name)
    return [(module, ",".join(of_it)) for module, of_it in found.items()]


def lines_of_all(
    mode: str, options: argparse.Namespace, folder: str
) -> list[tuple[str, dict[str, Any]]]:
    """Side and line of each case or kernel. ``timed``: each side twice in turn, or as many
    processes as asked for."""
    parts = parts_of(options.cases, options.names)
    jobs = [(*part, side) for part in parts for side in SIDES]
    if options.processes == 1 and mode == "timed":
        jobs += reversed(jobs)
    return lines_of_jobs(mode, jobs, options, folder, options.processes)


def lines_of_jobs(
    mode: str,
    jobs: list[tuple[str, str, str]],
    options: argparse.Namespace,
    folder: str,
    processes: int,
) -> list[tuple[str, dict[str, Any]]]:
    """Side and line of what jobs (cases, names of them, side) say."""
    pythons = {"triton": options.triton_python, "blockscope": sys.executable}

    def run(job: tuple[str, str, str]) -> list[tuple[str, dict[str, Any]]]:
        cases, names, side = job
        lines = lines_of(mode, side, pythons[side], cases, names, folder)
        name = cases.split(":")[1] + "/" if ":" in cases else ""
        named = [(side, {**line, "case": name + line["case"]}) for line in lines]
        if options.keep:
            Path(options.keep).mkdir(exist_ok=True, parents=True)
            with Path(options.keep, "lines.json").open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in named)
        return named

    with ThreadPoolExecutor(processes) as pool:
        return [line for lines in pool.map(run, jobs) for line in lines]


def timed(options: argparse.Namespace) -> int:
    """The better of a side's times."""
    times: dict[str, dict[str, float]] = {}
    prints: dict[str, dict[str, list[dict[str, Any]]]] = {}
    launches: dict[str, dict[str, int]] = {}
    errors: dict[str, dict[str, str]] = {}

    def take(lines: list[tuple[str, dict[str, Any]]]) -> None:
        for side, line in lines:
            case = line["case"]
            if "error" in line:
                errors.setdefault(case, {})[side] = line["error"].splitlines()[0]
                continue
            known = times.setdefault(case, {})
            known[side] = min(line["microseconds"], known.get(side, math.inf))
            prints.setdefault(case, {})[side] = line["fingerprint"]
            launches.setdefault(case, {})[side] = line["launches"]

    with tempfile.TemporaryDirectory() as folder:
        take(lines_of_all("timed", options, folder))
        if options.processes > 1:
            jobs = far_apart(times, options.cases)
            take(lines_of_jobs("timed", jobs, options, folder, FEW_PROCESSES))
    ratios = {}
    print(f"{'case':40} {'triton us':>10} {'ours us':>10} {'ratio':>6}  results")
    for case in {**times, **errors}:
        known = times.get(case, {})
        shown = [f"{known[side]:10.1f}" if side in known else f"{'-':>10}" for side in SIDES]
        counts = launches.get(case, {})
        is_same = len(set(counts.values())) == 1  # else it times by itself which kernels to launch
        if len(known) == len(SIDES) and is_same:
            ratios[case] = known["triton"] / known["blockscope"]
        ratio = f"{ratios[case]:6.2f}" if case in ratios else f"{'-':>6}"
        print(f"{case:40} {' '.join(shown)} {ratio}  {verdict(prints.get(case, {}))}")
        if len(known) == len(SIDES) and not is_same:
            print("    launches: " + ", ".join(f"{side} {counts[side]}" for side in SIDES))
        for side, error in errors.get(case, {}).items():
            print(f"    {side}: {error[:150]}")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        print(
            f"geometric mean {mean:.3f} of {len(ratios)}; lowest: "
            + ", ".join(
                f"{case} {ratios[case]:.2f}" for case in sorted(ratios, key=ratios.__getitem__)[:10]
            )
        )
    return 0


def far_apart(times: dict[str, dict[str, float]], cases: str) -> list[tuple[str, str, str]]:
    """The jobs that time again what is far from equal: other processes may have used the GPU."""
    names = [
        case
        for case, known in times.items()
        if len(known) == len(SIDES) and not FAR <= known["triton"] / known["blockscope"] <= 1 / FAR
    ]
    return [(*part, side) for part in modules_of(names, cases) for side in SIDES]


def profile(options: argparse.Namespace) -> int:
    worker = str(HERE / "foreign_worker.py")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for side, python in zip(SIDES, (options.triton_python, sys.executable), strict=True):
            words = [python, worker, "profile", side, options.cases, folder, options.names]
            found[side] = foreign_profile.counted(words, options.ncu, MARK)
    print(foreign_profile.report(*(found[side] for side in SIDES)))
    return 0 if all(found.values()) else 1


def compile_time(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        print(compile_times.report(lines_of_all("compile", options, folder)))
    return 0


def verdict(prints: dict[str, list[dict[str, Any]]]) -> str:
    if len(prints) != len(SIDES):
        return ""
    a, b = (prints[side] for side in SIDES)
    if a == b:
        return "equal"
    worst = max(map(difference, a, b))
    return f"differ by {worst:.1e}" + (" WRONG" if worst > TOLERANCE else "")


def difference(a: dict[str, Any], b: dict[str, Any]) -> float:
    """How far two fingerprints are apart: of the mean size and of the samples' norm, relatively."""
    if a["not_finite"] != b["not_finite"]:
        return math.inf
    size = max(math.hypot(*a["samples"]), math.hypot(*b["samples"]))
    samples = math.dist(a["samples"], b["samples"]) / max(size, 1e-30)
    mean = abs(a["mean"] - b["mean"]) / max(a["mean"], b["mean"], 1e-30)
    return max(samples, mean)


def check(options: argparse.Namespace) -> None:
    """End with one line where the cases, Triton or a GPU are missing."""
    path, *words = options.cases.split(":")
    if not words:
        if not os.path.isfile(path):
            requirements.stop(f"there is no file '{path}'")
    elif not os.path.isdir(path):
        requirements.stop(f"there is no folder '{path}' of clones")
    elif not words[0] and (options.static or options.profile):
        requirements.stop(f"'{path}:' is for --timed and --compile-time; name a module behind it")
    chosen = [words[0]] if words and words[0] else []
    if words and not words[0]:
        chosen = [name.partition("/")[0] for name in options.names.split(",") if name]
    known = {file.stem for file in PRACTICE_CASES.glob("*.py")}
    for module in chosen:
        if module not in known:
            requirements.stop(f"tests/practice has no module '{module}'")
    if options.timed or options.profile:
        requirements.need_gpu()
    requirements.need_module(options.triton_python, "triton", "--triton-python")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--static", action="store_true")
    mode.add_argument("--timed", action="store_true")
    mode.add_argument("--profile", action="store_true")
    mode.add_argument("--compile-time", action="store_true")
    parser.add_argument(
        "cases",
        help="a file, CLONES:MODULE of tests/practice, or CLONES: for all of them (not static, not "
        "profile)",
    )
    parser.add_argument(
        "names", nargs="?", default="", help="NAME,...; for all modules MODULE/NAME,..."
    )
    parser.add_argument("--triton-python", default=os.environ.get("TRITON_PYTHON", sys.executable))
    parser.add_argument("--nvdisasm")
    parser.add_argument("--cuobjdump")
    parser.add_argument("--ncu", default="ncu", help="the profiler of --profile")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help="so many at once, timing one at a time: each side once instead of twice",
    )
    parser.add_argument(
        "--configs",
        type=int,
        default=1,
        help="timed: so many configurations of an autotuned kernel to choose from (default: its "
        "first one)",
    )
    parser.add_argument(
        "--keep", help="the folder that cubins, PTX, plans and times are written to"
    )
    options = parser.parse_args()
    clones, *words = options.cases.split(":")
    options.cases = ":".join([os.path.abspath(clones), *words])
    python = options.triton_python
    options.triton_python = os.path.abspath(shutil.which(python) or python)
    options.keep = options.keep and os.path.abspath(options.keep)
    os.environ["FOREIGN_CONFIGS"] = str(options.configs)  # for foreign_worker.py
    check(options)
    if options.compile_time:
        return compile_time(options)
    if options.profile:
        return profile(options)
    return static(options) if options.static else timed(options)


if __name__ == "__main__":
    sys.exit(main())
