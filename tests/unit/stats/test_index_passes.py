"""Whether vacuums go through the indexes: what is sure, and what nobody can know."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pgq_ops.stats.index_passes import IndexPasses
from pgq_ops.stats.vacuum_progress import VacuumProgress
from tests.unit.stats.test_vacuum_watch import LEAF

# The indexes hold 2,000 entries, as they were counted when there were 1,000 rows.
COUNTED = replace(LEAF, index_entries=2_000.0)


class Watched:
    """One leaf, looked at again and again; a vacuum ends between two looks where `vacuums` has grown."""

    def __init__(self, *, known: bool = True) -> None:
        self.passes = IndexPasses()
        self.leaf = replace(COUNTED, index_entries=1_990.0) if known else COUNTED
        self.look()

    def look(self, **changes: Any) -> bool | None:
        before, self.leaf = self.leaf, replace(COUNTED, **changes)
        self.passes.look(before, self.leaf, removed=self.leaf.vacuums > before.vacuums)
        return self.passes.skipped


def at_work(passes: int, relation: int = 1) -> dict[str, Any]:
    return {"vacuum_running": True, "progress": VacuumProgress(7, "vacuuming heap", 1.0, passes, relation)}


def test_if_the_entries_are_counted_anew_it_went_through() -> None:
    assert Watched().look(vacuums=2, index_entries=2_100.0) is False


def test_if_they_are_not_although_rows_came_it_passed_them_by() -> None:
    assert Watched().look(vacuums=2, inserted=1_100) is True


def test_if_rows_went_it_is_the_same() -> None:
    assert Watched().look(vacuums=2, deleted=1_100) is True


def test_if_as_many_came_as_went_nobody_knows() -> None:
    assert Watched().look(vacuums=2, inserted=1_100, deleted=1_100) is None


def test_if_rows_were_only_updated_nobody_knows() -> None:
    assert Watched().look(vacuums=2, updated=9_000) is None


def test_while_the_entries_were_not_seen_to_be_counted_nobody_knows_of_which_rows_they_are() -> None:
    assert Watched(known=False).look(vacuums=2, inserted=1_100) is None


def test_an_analyze_counts_entries_too_and_then_nobody_knows_who_counted() -> None:
    assert Watched().look(vacuums=2, index_entries=2_100.0, last_analyze=200.0) is None
    assert Watched().look(vacuums=2, inserted=1_100, last_analyze=200.0) is True


def test_one_that_was_seen_past_the_indexes_has_gone_through_whatever_is_counted() -> None:
    watched = Watched()
    watched.look(**at_work(passes=1))
    assert watched.look(vacuums=2, inserted=1_100) is False


def test_one_that_is_still_before_them_is_not_known_to_have() -> None:
    watched = Watched()
    watched.look(**at_work(passes=0))
    assert watched.look(vacuums=2, inserted=1_100) is True


def test_that_of_the_toast_table_says_nothing_of_the_table_s() -> None:
    watched = Watched()
    watched.look(**at_work(passes=1, relation=2))
    assert watched.look(vacuums=2, inserted=1_100) is True


def test_what_was_seen_of_one_says_nothing_of_the_next() -> None:
    watched = Watched()
    watched.look(**at_work(passes=1))
    watched.look(vacuums=2, inserted=1_100)
    assert watched.look(vacuums=3, inserted=1_100) is True


def test_the_answer_stands_until_the_next_that_removes_rows() -> None:
    watched = Watched()
    watched.look(vacuums=2, inserted=1_100)
    assert watched.look(vacuums=2, inserted=1_300, updated=5_000) is True
    assert watched.look(vacuums=3, inserted=1_300, index_entries=2_300.0) is False


def test_in_a_large_index_a_few_rows_do_not_show() -> None:
    before, large = replace(COUNTED, index_entries=3.9e8), replace(COUNTED, index_entries=4.0e8)
    passes = IndexPasses()
    passes.look(before, large, removed=False)
    passes.look(large, replace(large, inserted=1_300), removed=True)
    assert passes.skipped is None
    passes.look(large, replace(large, inserted=1_500), removed=True)
    assert passes.skipped is True
