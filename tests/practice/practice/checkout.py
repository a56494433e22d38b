"""The Python files of a repository, from a clone or a bare mirror in a folder of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from practice.case import Repository


class NotThere(Exception):
    """A repository, or a file of it, that the folder does not have."""


def git_folder(folder: Path, name: str) -> Path:
    """Where git's data of ``owner/name`` is: FOLDER/owner+name, a clone or bare, or in ``repo``."""
    place = folder / name.replace("/", "+")
    for candidate in (place / ".git", place, place / "repo" / ".git", place / "repo"):
        if (candidate / "HEAD").is_file() and (candidate / "objects").is_dir():
            return candidate
    raise NotThere(f"there is no clone of {name} at {place}")


def checkout(folder: Path, repository: Repository, cache: Path) -> tuple[Path, str]:
    """A folder with the repository's Python files, and their commit.

    The commit is the one of the cases; where the clone does not have it, the clone's newest one.
    What an earlier run has extracted, OWNER+NAME@COMMIT, serves in place of a clone.
    """
    for extracted in folder.glob(f"{repository.name.replace('/', '+')}@*"):
        return extracted, extracted.name.rpartition("@")[2]
    git = git_folder(folder, repository.name)
    commit = repository.commit
    if _git(git, "cat-file", "-e", commit + "^{commit}").returncode:
        commit = _git(git, "rev-parse", "HEAD").stdout.decode().strip()
    to = cache / f"{repository.name.replace('/', '+')}@{commit[:12]}"
    if not to.exists():
        partial = to.with_name(f"{to.name}.{os.getpid()}")
        _extract(git, commit, partial)
        try:
            partial.rename(to)
        except OSError:  # another process was faster
            if not to.exists():
                raise
    return to, commit


def _git(git: Path, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = ["git", f"--git-dir={git}", "-c", "safe.directory=*", *words]
    return subprocess.run(command, input=given, capture_output=True, check=False)


def _extract(git: Path, commit: str, to: Path) -> None:
    listed = _git(git, "ls-tree", "-r", "-z", commit)
    if listed.returncode:
        raise NotThere(f"git cannot list {commit} of {git}: {listed.stderr.decode().strip()}")
    blobs = []
    for row in listed.stdout.decode(errors="replace").split("\0"):
        head, _, path = row.partition("\t")
        if path.endswith((".py", ".json")) and head.startswith("100"):
            blobs.append((head.split()[2], path))
    data = _git(
        git, "cat-file", "--batch", given="".join(f"{b}\n" for b, _ in blobs).encode()
    ).stdout
    at = 0
    for _, path in blobs:
        end = data.index(b"\n", at)
        words = data[at:end].split()
        at = end + 1
        if words[1] != b"blob":  # not in the mirror
            continue
        size = int(words[2])
        file = to / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data[at : at + size])
        at += size + 1
