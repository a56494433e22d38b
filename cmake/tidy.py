"""Runs clang-tidy over our files, each again only when it or a header it includes has changed."""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


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
    parser.add_argument("--verbose", action="store_true", help="print the time of each file")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="only these (default: all)")
    options = parser.parse_args()
    build = options.build.resolve()
    wanted = {path.resolve() for path in options.files}
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    config = (ROOT / ".clang-tidy").read_bytes()
    headers = our_headers(build)

    work: dict[pathlib.Path, pathlib.Path] = {}  # source -> stamp; one command for each source
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

    def tidy(source: pathlib.Path) -> bool:
        result = subprocess.run(
            ["clang-tidy-22", "-p", str(build), "--quiet", str(source)],
            capture_output=True,
            text=True,
        )
        if result.returncode == 0:
            work[source].touch()
        else:
            print(result.stdout + (result.stderr if not result.stdout else ""), flush=True)
        return result.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bad = list(pool.map(tidy, work)).count(False)
    print(f"clang-tidy: {len(work)} files checked, {bad} with warnings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
