"""The operating system account that the embedded server runs under.

PostgreSQL refuses to run as root, so root starts it as `nobody`, from programs that `nobody` can
read. A virtual environment below /root is closed to everybody else: such programs are copied once
into a folder in the temporary directory. That directory is shared, so the copy is trusted only
when root owns it and nobody else can write to it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TypedDict

from pgq_ops.demo.binaries import Binaries
from pgq_ops.errors import PgqOpsError

_USER = "nobody"
_COUNT_FILE = "copied-files"


class Account(TypedDict, total=False):
    """Keyword arguments for `subprocess.Popen` and `run`; empty where we stay who we are."""

    user: int
    group: int
    extra_groups: list[int]


def server_account() -> Account:
    """Who the server runs as: `nobody` when we are root, else ourselves."""
    if os.geteuid() != 0:
        return {}
    # Not on every platform, and not at all outside POSIX.
    import pwd  # noqa: PLC0415

    entry = pwd.getpwnam(_USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def hand_over(path: Path, account: Account) -> None:
    """Make `account` the owner of `path`; nothing to do where we stay who we are."""
    if account:
        os.chown(path, account["user"], account["group"])


def runnable_by(account: Account, binaries: Binaries) -> Binaries:
    """Return the same programs where `account` can read them: in place, or copied on first use."""
    if not account or _open_to_everybody(binaries.bin):
        return binaries
    install = binaries.bin.parent
    cache = Path(tempfile.gettempdir()) / f"pgq-ops-pg-{binaries.version}-{_fingerprint(binaries)}"
    copied = Binaries(cache / install.parent.name / install.name / binaries.bin.name, binaries.version)
    if cache.is_symlink() or cache.exists():
        _refuse_foreign(cache)
        if _is_complete(cache):
            return copied
        shutil.rmtree(cache)  # files that lie unused for days are cleaned away from temporary directories
    _copy(install, cache)
    return copied


def _open_to_everybody(folder: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder / "postgres", folder, *folder.parents))


def _fingerprint(binaries: Binaries) -> str:
    program = binaries.bin / "postgres"
    state = program.stat()
    return hashlib.sha256(f"{program}:{state.st_size}:{state.st_mtime_ns}".encode()).hexdigest()[:12]


def _refuse_foreign(cache: Path) -> None:
    state = cache.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise PgqOpsError(f"{cache} was not made by us: remove it, or set TMPDIR to another folder")


def _is_complete(cache: Path) -> bool:
    count = cache / _COUNT_FILE
    return count.exists() and count.read_text() == str(_file_count(cache))


def _file_count(cache: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(cache))


def _copy(install: Path, cache: Path) -> None:
    """Copy bin, lib and share; several processes may do so at once, the first to finish wins."""
    fresh = Path(tempfile.mkdtemp(prefix=f"{cache.name}-", dir=cache.parent))
    for part in ("bin", "lib", "share"):
        shutil.copytree(install / part, fresh / install.parent.name / install.name / part, symlinks=True)
    # Wheels keep the libraries they bring along in a sibling folder, found relative to the programs.
    libraries = install.parent.with_name(f"{install.parent.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
    for folder, _, files in os.walk(fresh):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
    (fresh / _COUNT_FILE).write_text(str(_file_count(fresh) + 1))
    try:
        fresh.rename(cache)
    except OSError:
        shutil.rmtree(fresh)
        _refuse_foreign(cache)
