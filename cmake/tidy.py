"""Runs clang-tidy over our files, each again only when it or a header it includes has changed.

Reading the precompiled headers takes most of the time of a file, so files of one folder are checked
together, as one that includes them all. Where two of them do not go together (both have a function
of one name in an unnamed namespace), the halves are tried.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH = 8  # files


def our_headers(build: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """Maps each object file to the headers under ROOT that ninja saw it include."""
    text = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    headers: dict[str, list[pathlib.Path]] = {}
    target = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            target = line.split(":")[0]
        elif line.strip():
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT) and ".venv" not in path.parts:
                headers.setdefault(target, []).append(path)
    return headers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="only these (default: all)")
    options = parser.parse_args()
    build = options.build.resolve()
    wanted = {path.resolve() for path in options.files}
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    config = (ROOT / ".clang-tidy").read_bytes()
    headers = our_headers(build)

    work: dict[pathlib.Path, pathlib.Path] = {}  # source -> stamp; one command for each source
    alike: dict[tuple[str, pathlib.Path], list[pathlib.Path]] = {}  # by flags and folder
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source in work or not source.is_relative_to(ROOT) or source.is_relative_to(build):
            continue
        if wanted and source not in wanted:
            continue
        key = hashlib.sha256(config + entry["command"].encode())
        for path in sorted({source, *headers.get(entry.get("output", ""), [])}):
            if path.exists():
                key.update(str(path).encode() + path.read_bytes())
        stamp = stamps / key.hexdigest()
        if not stamp.exists():
            work[source] = stamp
            flags = entry["command"].partition(" -o ")[0]
            alike.setdefault((flags, source.parent), []).append(source)

    def run(flags: str, sources: list[pathlib.Path]) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(dir=stamps) as name:
            file = sources[0]
            if len(sources) > 1:
                file = pathlib.Path(name, "batch.cpp")
                file.write_text("".join(f'#include "{source}"\n' for source in sources))
            command = {"directory": str(build), "file": str(file), "command": f"{flags} -c {file}"}
            pathlib.Path(name, "compile_commands.json").write_text(json.dumps([command]))
            return subprocess.run(
                ["clang-tidy-22", "-p", name, "--quiet", str(file)],
                capture_output=True,
                text=True,
            )

    def tidy(flags: str, sources: list[pathlib.Path]) -> int:
        """The number of batches, of these files, that have warnings."""
        result = run(flags, sources)
        if result.returncode == 0:
            for source in sources:
                work[source].touch()
            return 0
        if len(sources) > 1 and "clang-diagnostic-error" in result.stdout + result.stderr:
            half = len(sources) // 2
            return tidy(flags, sources[:half]) + tidy(flags, sources[half:])
        print(result.stdout + (result.stderr if not result.stdout else ""), flush=True)
        return 1

    batches = [
        (flags, sources[i : i + BATCH])
        for (flags, _), sources in alike.items()
        for i in range(0, len(sources), BATCH)
    ]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bad = sum(pool.map(lambda batch: tidy(*batch), batches))
    print(f"clang-tidy: {len(work)} files checked, warnings in {bad} batches of them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
