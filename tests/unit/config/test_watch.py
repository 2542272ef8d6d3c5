from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.watch import FileWatch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pgq-ops.toml").write_text("a = 1")
    return tmp_path / "pgq-ops.toml"


def test_an_untouched_file_has_not_changed(file: Path) -> None:
    watch = FileWatch(file)
    assert not watch.changed()
    assert not watch.changed()


def test_a_file_that_was_written_has_changed_once(file: Path) -> None:
    watch = FileWatch(file)
    file.write_text("a = 10")
    assert watch.changed()
    assert not watch.changed()


def test_a_file_that_was_put_in_its_place_has_changed_though_size_and_time_are_the_same(file: Path) -> None:
    watch = FileWatch(file)
    other = file.with_suffix(".new")
    other.write_text("a = 2")
    times = file.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.rename(file)
    assert watch.changed()


def test_a_link_that_leads_elsewhere_has_changed(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "pgq-ops.toml").write_text(f"a = {version}")
    (tmp_path / "data").symlink_to("1")
    (tmp_path / "pgq-ops.toml").symlink_to("data/pgq-ops.toml")
    watch = FileWatch(tmp_path / "pgq-ops.toml")
    (tmp_path / "data.new").symlink_to("2")
    (tmp_path / "data.new").rename(tmp_path / "data")
    assert watch.changed()


def test_a_file_that_is_away_has_not_changed_until_it_is_back(file: Path) -> None:
    watch = FileWatch(file)
    content = file.read_text()
    file.unlink()
    assert not watch.changed()
    file.write_text(content * 2)
    assert watch.changed()
