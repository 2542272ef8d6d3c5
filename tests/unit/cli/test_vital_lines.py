"""What inspect says of vacuum: what is known, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pgq_ops.cli.inspection.vital_lines import _last, _sizes
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_settings import DEFAULT_SERVER
from pgq_ops.stats.vacuum_watch import VacuumOutcome

LEAF = LeafHealth(1, "jobs", 100, 20, 50.0, True, None, 993.0, False, 8_192, 16_384, 7)  # noqa: FBT003
NEVER = replace(LEAF, last_autovacuum=None)


def health(*leaves: LeafHealth) -> TableHealth:
    return TableHealth(leaves, any(leaf.lost for leaf in leaves), 1_000.0)


def test_sizes_are_those_of_the_last_vacuum_or_analyze() -> None:
    assert _sizes(health(LEAF)) == "8.2 kB and 16.4 kB of indexes as of the last vacuum or analyze"


def test_that_nothing_was_ever_vacuumed_is_not_said_where_it_is_only_not_on_record() -> None:
    assert _last(health(NEVER)) == "no vacuum is on record"


@pytest.mark.parametrize(
    "found",
    [
        health(replace(NEVER, lost=True)),
        replace(health(NEVER), server=replace(DEFAULT_SERVER, counting=False)),
        replace(health(NEVER), server=replace(DEFAULT_SERVER, standby=True)),
    ],
)
def test_where_the_statistics_are_lost_or_not_kept_the_last_vacuum_is_not_known(found: TableHealth) -> None:
    assert _last(found) == "when it was last vacuumed is not known"


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ([None], ""),
        ([VacuumOutcome(20_000, 0)], ""),
        ([VacuumOutcome(20_000, 1)], " (at least 1 dead row left)"),
        ([VacuumOutcome(0, 20_000)], " (nothing seems removed, and at least 20,000 dead rows left)"),
        ([VacuumOutcome(0, 20_000), VacuumOutcome(10, 5)], " (at least 20,005 dead rows left)"),
        ([VacuumOutcome(0, 20_000), None], " (nothing seems removed, and at least 20,000 dead rows left)"),
    ],
)
def test_what_the_last_vacuum_could_not_remove_is_told_where_it_is_known(
    outcomes: list[VacuumOutcome | None], says: str
) -> None:
    leaves = [replace(LEAF, oid=number, outcome=one) for number, one in enumerate(outcomes)]
    assert _last(health(*leaves)) == f"vacuumed 7s ago{says}"
