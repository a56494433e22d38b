"""Folders that no other user can change: what is loaded from them runs with this user's rights.

A path is private when no other user can change what it means or holds: it and every folder on the
way to it, links followed, belong to this user or to root, and nobody else may write them. A folder
like /tmp, in which users can remove only what is theirs, is fine on the way. A group may write when
it is this user's own, as many systems give one to each user.
"""

from __future__ import annotations

import contextlib
import functools
import grp
import os
import pwd
import stat
from pathlib import Path

from blockscope import user_warnings

_warned: set[str] = set()


class NotPrivate(PermissionError):
    """Other users can change a file or folder."""


def why_not_private(path: str | os.PathLike[str]) -> str | None:
    """What is wrong with a file, a folder, or a folder above it; None when the path is private.

    One that does not exist is private when it would be made in a private folder.
    """
    real = Path(os.path.realpath(path))
    for part in (*reversed(real.parents), real):
        try:
            status = part.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"'{part}' cannot be looked at: {error.strerror}"
        if part != real and not stat.S_ISDIR(status.st_mode):
            return None  # nothing can be below it
        if reason := _why_not_ours(part, status, is_on_the_way=part != real):
            return reason
    return None


def make(folder: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it, for this user alone.

    Errors: NotPrivate, also when the folder exists; OSError when it cannot be made.
    """
    real = Path(os.path.realpath(folder))
    if reason := why_not_private(real):
        raise NotPrivate(reason)
    for part in (*reversed(real.parents), real):
        with contextlib.suppress(FileExistsError):
            if not part.exists():
                part.mkdir(mode=0o700)
    if reason := why_not_private(real):  # another user may have been first in a folder like /tmp
        raise NotPrivate(reason)


def read(path: Path) -> bytes:
    """Errors: NotPrivate; OSError when there is no such file, or it cannot be read."""
    if reason := why_not_private(path):
        raise NotPrivate(reason)
    return path.read_bytes()


def warn_once(what: str, reason: object) -> None:
    """Say why something on disk is not used, and the way out; once for each reason."""
    if str(reason) in _warned:
        return
    _warned.add(str(reason))
    if isinstance(reason, OSError) and not isinstance(reason, NotPrivate):
        place = reason.filename2 or reason.filename
        why = (reason.strerror or str(reason)).lower() + (f": '{place}'" if place else "")
        text = f"{what}: {why}; name a folder that can be written in TRITON_CACHE_DIR"
    else:
        text = (
            f"{what}: {reason}, and what is loaded from there runs with your rights; name a folder "
            "of your own in TRITON_CACHE_DIR, or take the rights of others away"
        )
    user_warnings.warn(text)


def _why_not_ours(path: Path, status: os.stat_result, is_on_the_way: bool) -> str | None:
    owners = {0, os.geteuid()}
    if is_on_the_way:  # in a container, what belongs to users outside of it: / and what is mounted
        owners.add(_unnamed_owner())
    if status.st_uid not in owners:
        return f"'{path}' belongs to {_name_of(status.st_uid)}"
    # In a sticky folder others cannot move or remove what is this user's.
    if is_on_the_way and status.st_mode & stat.S_ISVTX:
        return None
    by_others = bool(status.st_mode & stat.S_IWOTH)
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(path, status.st_gid)
    if by_others or by_group:
        return f"others may write '{path}' (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


@functools.cache
def _unnamed_owner() -> int:
    """The number that the kernel shows for owners that this container has no number for."""
    try:
        return int(Path("/proc/sys/fs/overflowuid").read_text())
    except (OSError, ValueError):
        return 65534


def _is_own_group(path: Path, group: int) -> bool:
    """Whether a group has this user alone, and its rights are not those of a longer list."""
    try:
        user, named = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    if named.gr_name != user.pw_name or user.pw_gid != group or {*named.gr_mem} - {user.pw_name}:
        return False
    try:
        os.getxattr(path, "system.posix_acl_access")
    except OSError:
        return True
    return False


def _name_of(owner: int) -> str:
    try:
        return f"user {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"a user with number {owner}"
