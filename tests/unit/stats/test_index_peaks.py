"""Which indexes are too large for the most that they held: after a day, and not before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pgq_ops.job_table.table import Relation
from pgq_ops.stats.index_bloat import LEAST_RATIO, IndexBloat
from pgq_ops.stats.index_need import pages
from pgq_ops.stats.index_peaks import WATCHED_SECONDS, IndexPeaks
from pgq_ops.stats.index_sizes import IndexSize
from pgq_ops.stats.table_health import TableHealth
from tests.unit.stats.test_vacuum_watch import LEAF

# A time and an id: 261 entries a page; 300,000 of them need 1,150 pages, and some above them.
SIZE = IndexSize(
    Relation(9, "public", "jobs_pending"),
    table=1,
    pages=13_000,
    entries=300_000,
    fill=0.9,
    page_bytes=8_192,
    entry_bytes=16.0,
    nullable=False,
)
NEEDED = SIZE.needed_bytes(300_000)
DAY = WATCHED_SECONDS


class Watched:
    """One index of one leaf, looked at again and again."""

    def __init__(self) -> None:
        self.peaks = IndexPeaks()

    def look(self, now: float, *, dead_rows: int | None = 0, **changes: Any) -> list[IndexBloat]:
        health = TableHealth((replace(LEAF, dead_rows=dead_rows),))
        return [bloat for _, bloat in self.peaks.bloated([replace(SIZE, **changes)], health, now)]


def after_a_day(**changes: Any) -> list[IndexBloat]:
    watched = Watched()
    assert watched.look(0, **changes) == []
    return watched.look(DAY, **changes)


def test_an_index_is_not_judged_before_a_day_is_over() -> None:
    watched = Watched()
    assert watched.look(0) == []
    assert watched.look(DAY - 1) == []
    [bloat] = watched.look(DAY)
    assert (bloat.relation, bloat.bytes, bloat.entries) == (SIZE.relation, 13_000 * 8_192, 300_000)
    assert bloat.needed_bytes == NEEDED
    assert bloat.ratio == pytest.approx(13_000 / 1_156, rel=0.01)


def test_it_is_judged_by_the_most_that_it_held() -> None:
    watched = Watched()
    watched.look(0)
    watched.look(3_600, entries=4_000_000)
    assert watched.look(DAY) == []
    assert watched.look(DAY, pages=50_000)[0].entries == 4_000_000


def test_dead_rows_are_entries_too() -> None:
    assert after_a_day(dead_rows=4_000_000) == []
    assert len(after_a_day(dead_rows=100_000)) == 1


def test_where_dead_rows_are_not_known_nothing_is_told() -> None:
    watched = Watched()
    watched.look(0)
    assert watched.look(DAY, dead_rows=None) == []
    assert len(watched.look(DAY + 1)) == 1


def test_three_times_too_large_is_the_least() -> None:
    assert NEEDED is not None
    least = round(LEAST_RATIO * NEEDED / 8_192)
    assert after_a_day(pages=least - 1) == []
    assert len(after_a_day(pages=least)) == 1


@pytest.mark.parametrize("unknown", [{"entry_bytes": None}, {"entries": -1.0}])
def test_where_it_cannot_be_reckoned_nothing_is_told(unknown: dict[str, Any]) -> None:
    assert after_a_day(**unknown) == []


def test_an_index_that_was_made_anew_under_its_name_is_the_same() -> None:
    watched = Watched()
    watched.look(0, entries=4_000_000)
    assert watched.look(DAY, relation=Relation(10, "public", "jobs_pending")) == []
    assert len(watched.look(DAY, relation=Relation(10, "other", "jobs_pending"))) == 0
    assert len(watched.look(2 * DAY, relation=Relation(10, "other", "jobs_pending"))) == 1


@pytest.mark.parametrize(
    ("entries", "entry_bytes", "nullable", "fill", "actual"),
    [
        # Indexes just made of a million rows: relpages on PostgreSQL 18.
        (1_000_000, 8.0, False, 0.9, 2_745),
        (1_000_000, 8.0, False, 0.7, 3_535),
        (1_000_000, 16.0, False, 0.9, 3_853),
    ],
)
def test_the_reckoning_is_right_to_a_hundredth(
    entries: int,
    entry_bytes: float,
    nullable: bool,  # noqa: FBT001
    fill: float,
    actual: int,
) -> None:
    assert pages(entries, entry_bytes, nullable=nullable, fill=fill, page_bytes=8_192) == pytest.approx(
        actual, rel=0.01
    )


def test_an_empty_index_needs_a_page() -> None:
    assert pages(0, 16, nullable=True, fill=0.9, page_bytes=8_192) == 1
