"""Root's server runs from programs that `nobody` can read, copied once where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.demo.account import Account, runnable_by
from pgq_ops.demo.binaries import Binaries
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from pathlib import Path

SOMEBODY: Account = {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Binaries:
    """A wheel's folders, which their owner alone can enter; copies go to `tmp_path / "cache"`."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(cache))
    install = tmp_path / "site" / "package" / "pginstall"
    for name in ("bin/postgres", "lib/one.so", "share/deep/two.sql"):
        (install / name).parent.mkdir(parents=True, exist_ok=True)
        (install / name).write_text(name)
    (install / "bin" / "postgres").chmod(0o700)
    libraries = tmp_path / "site" / "package.libs"
    libraries.mkdir()
    (libraries / "libpq.so").touch()
    (tmp_path / "site").chmod(0o700)
    return Binaries(install / "bin", "18.6")


def test_ourselves_can_read_what_is_ours(closed: Binaries) -> None:
    assert runnable_by({}, closed) == closed


def test_programs_are_copied_with_their_libraries_and_opened(closed: Binaries) -> None:
    copied = runnable_by(SOMEBODY, closed)
    assert copied.bin.joinpath("postgres").stat().st_mode & 0o777 == 0o755
    assert copied.bin.parent.joinpath("share/deep").stat().st_mode & 0o777 == 0o755
    assert (copied.bin / "../../../package.libs/libpq.so").resolve().exists()


def test_a_copy_is_used_again_and_made_again_when_files_are_missing(closed: Binaries) -> None:
    copied = runnable_by(SOMEBODY, closed)
    first = (copied.bin / "postgres").stat().st_ino
    assert runnable_by(SOMEBODY, closed) == copied
    assert (copied.bin / "postgres").stat().st_ino == first
    (copied.bin.parent / "lib" / "one.so").unlink()
    runnable_by(SOMEBODY, closed)
    assert (copied.bin.parent / "lib" / "one.so").exists()


def test_a_copy_that_others_can_write_to_is_refused(closed: Binaries) -> None:
    copied = runnable_by(SOMEBODY, closed)
    cache = next(parent for parent in copied.bin.parents if parent.name.startswith("pgq-ops-pg-"))
    cache.chmod(0o777)
    with pytest.raises(PgqOpsError, match="not made by us"):
        runnable_by(SOMEBODY, closed)


def test_a_link_in_place_of_the_copy_is_refused(closed: Binaries) -> None:
    copied = runnable_by(SOMEBODY, closed)
    cache = next(parent for parent in copied.bin.parents if parent.name.startswith("pgq-ops-pg-"))
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to(cache.with_name("elsewhere"))
    with pytest.raises(PgqOpsError, match="not made by us"):
        runnable_by(SOMEBODY, closed)
