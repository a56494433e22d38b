"""Runs kernels of public repositories, from a folder of their clones, and compares with torch.

FOLDER has a clone or a bare mirror of each repository, as OWNER+NAME. A repository that is not
there is left out. The last line is `N passed, N failed`; the status is 1 when any has failed, or
none was run.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODES = ("cpu", "interpreter", "check", "gpu-compile")


class Workers:
    """Processes that run cases, one after another; a case that hangs or crashes costs itself."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.commits: dict[str, str] = {}

    def run(self, repository: str, mode: str, cases: list[str]) -> dict[str, dict[str, Any]]:
        """The result of each case: status, why, seconds."""
        results: dict[str, dict[str, Any]] = {}
        while left := [case for case in cases if case not in results]:
            self._run(repository, mode, left, results)
        return results

    def _run(
        self, repository: str, mode: str, cases: list[str], results: dict[str, dict[str, Any]]
    ) -> None:
        # What the files write beside themselves, such as tuned configurations, goes with the folder
        # that they run in: no run finds what another one has left.
        with tempfile.TemporaryDirectory(prefix="practice-") as here:
            self._run_in(here, repository, mode, cases, results)

    def _run_in(
        self,
        here: str,
        repository: str,
        mode: str,
        cases: list[str],
        results: dict[str, dict[str, Any]],
    ) -> None:
        options = self._options
        size = options.size or ("production" if mode == "gpu-compile" else "small")
        command = [
            options.python, "-m", "practice.worker", options.folder, options.cache, repository,
            mode, size, options.triton, *cases,
        ]  # fmt: skip
        environment = with_cases()
        environment.pop("TRITON_INTERPRET", None)
        if mode == "interpreter":
            environment["TRITON_INTERPRET"] = "1"
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=environment, cwd=here, start_new_session=True,
        )  # fmt: skip
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(child.stdout, lines), daemon=True).start()
        current, output, before = None, [], len(results)
        try:
            while True:
                line = lines.get(timeout=options.limit)
                if line is None:
                    break
                if not line.startswith("PRACTICE "):
                    output.append(line)
                    if options.verbose:
                        print("   |", line, end="", flush=True)
                    continue
                row = json.loads(line[len("PRACTICE ") :])
                if "commit" in row:
                    self.commits[repository] = row["commit"]
                elif "begin" in row:
                    current = row["begin"]
                    output.clear()
                else:
                    results[row.pop("end")] = row
                    current = None
            why = f"the process ended with status {child.wait()}: {''.join(output[-5:]).strip()}"
        except queue.Empty:
            why = f"not done in {options.limit} s"
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if current is not None:
            results[current] = {"status": "failed", "why": why, "seconds": float(options.limit)}
        elif len(results) == before:  # nothing was begun: none of them can be
            results.update({c: {"status": "failed", "why": why, "seconds": 0.0} for c in cases})


def with_cases() -> dict[str, str]:
    """The environment of a process that knows the cases; the build that it uses is the caller's."""
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    return dict(os.environ, PYTHONPATH=path)


def _read(stream: Any, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def cases_of(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All cases that are asked for, as data: read in a process, since the files import torch."""
    command = [options.python, "-m", "practice.listed", options.triton]
    text = subprocess.run(command, env=with_cases(), stdout=subprocess.PIPE, text=True, check=True)
    rows = json.loads(text.stdout)
    return [row for row in rows if options.filter in f"{row['repository']}/{row['name']}"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev practice", description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the folder with the clones, each called OWNER+NAME")
    parser.add_argument(
        "--modes",
        default=",".join(MODES),
        help="of cpu, interpreter, check, all-checks, gpu-compile, ptx, gpu, verify "
        "(default: all but all-checks, ptx, gpu and verify)",
    )
    parser.add_argument("--filter", default="", help="only cases with this in OWNER/NAME/CASE")
    parser.add_argument(
        "--size",
        choices=("small", "production"),
        help="of the inputs (default: small, and production where nothing is run)",
    )
    parser.add_argument("--limit", type=float, default=300, help="seconds for one case")
    parser.add_argument(
        "--python", default=sys.executable, help="a Python with torch and Blockscope"
    )
    parser.add_argument(
        "--triton",
        choices=("blockscope", "installed"),
        default="blockscope",
        help="what 'triton' means",
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / "build/practice/results.json",
        help="where results are kept; those of other cases stay",
    )
    parser.add_argument(
        "--page",
        type=Path,
        help="write the table of all results there, such as docs/compatibility.md",
    )
    parser.add_argument("--verbose", action="store_true", help="print what the cases print")
    options = parser.parse_args()  # fmt: skip
    options.cache, options.folder = str(ROOT / "build/practice"), os.path.abspath(options.folder)
    options.python = os.path.abspath(shutil.which(options.python) or options.python)
    Path(options.cache).mkdir(parents=True, exist_ok=True)
    counts = run_all(options)
    if options.page:
        sys.path.insert(0, str(HERE))
        from practice import page

        options.filter = ""
        results = json.loads(options.json.read_text())
        options.page.write_text(page.text(cases_of(options), results))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    if not any(counts.values()):
        print(
            f"nothing was run: no case has '{options.filter}' in its name, or {options.folder} has "
            "no clone of its repository, OWNER+NAME",
            file=sys.stderr,
        )
        return 1
    return int(counts["failed"] > 0)


def keep(file: Path, mode: str, results: dict[str, dict[str, Any]]) -> None:
    """Put results into the file: case -> mode -> result. Other runs may write it too."""
    with file.open("a+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        kept = json.loads(stream.read() or "{}")
        for case, result in results.items():
            kept.setdefault(case, {})[mode] = result
        stream.truncate(0)
        stream.write(json.dumps(kept, indent=1))


def run_all(options: argparse.Namespace) -> dict[str, int]:
    """Run what is asked for, and count."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    workers = Workers(options)
    rows = cases_of(options)
    for module in dict.fromkeys(row["module"] for row in rows):
        mine = [row for row in rows if row["module"] == module]
        name = mine[0]["repository"]
        if not any(Path(options.folder).glob(name.replace("/", "+") + "*")):
            print(f"{name}: not in {options.folder}")
            continue
        for mode in filter(None, options.modes.split(",")):
            done = workers.run(module, mode, [row["name"] for row in mine])
            for case, result in done.items():
                counts[result["status"]] += 1
                result["commit"] = workers.commits.get(module, "")
                if result["status"] == "failed":
                    why = result["why"] if options.verbose else result["why"].split("\n")[0][:300]
                    print(f"{mode}: {name}/{case}: {why}")
            passed = sum(result["status"] == "passed" for result in done.values())
            seconds = sum(result["seconds"] for result in done.values())
            print(f"{name}: {mode}: {passed} of {len(done)} passed, {seconds:.0f} s", flush=True)
            keep(options.json, mode, {f"{name}/{case}": done[case] for case in done})
    return counts


if __name__ == "__main__":
    sys.exit(main())
