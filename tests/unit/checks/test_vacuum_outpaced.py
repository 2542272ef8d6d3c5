"""When it is told that autovacuum cannot come often enough, and what is advised."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.checks import vacuum_outpaced
from pgq_ops.checks.look import Look, UpkeepNews
from pgq_ops.job_table.table import JobTable, Relation
from pgq_ops.stats.vacuum_reach import Reach
from tests.unit.checks.test_dead_rows import LEAF

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding

TABLE: Any = JobTable.__new__(JobTable)
object.__setattr__(TABLE, "relation", Relation(1, "public", "jobs"))
object.__setattr__(TABLE, "name", "my jobs")
HOT = Reach(LEAF, dying=250.0, budget_rows=5_000, naptime_seconds=60.0)


def found(*outpaced: Reach, acts: bool = False, refused: str = "") -> Finding | None:
    news = UpkeepNews(outpaced, acts, refused)
    return next(iter(vacuum_outpaced.check(Look(TABLE, upkeep=news))), None)


def test_it_is_told_with_its_numbers_and_both_ways_out() -> None:
    finding = found(HOT, replace(HOT, dying=100.0))
    assert finding is not None
    assert finding.summary == (
        "250 rows of public.jobs die each second, so that 5,000, which claims can bear, are dead after 20s; autovacuum"
        " comes each 1m at most, which no setting of the table changes; 1 other partition likewise"
    )
    assert finding.evidence["budget_rows"] == 5_000
    assert finding.remedy.splitlines() == [
        "# the agent runs VACUUM itself, with this in pgq-ops.toml:",
        '[job_tables."my jobs".autovacuum]',
        'vacuum = "when-needed"',
        "-- or, in psql, autovacuum comes by more often, in all databases:",
        "ALTER SYSTEM SET autovacuum_naptime = '20s';",
        "SELECT pg_reload_conf();",
    ]


def test_an_agent_that_does_it_itself_has_nothing_to_tell_unless_it_may_not() -> None:
    assert found(HOT, acts=True) is None
    finding = found(HOT, acts=True, refused="VACUUM public.jobs: role x may not\n  GRANT MAINTAIN ON TABLE t TO x;")
    assert finding is not None
    assert finding.summary.endswith("the agent may not run VACUUM there")
    assert finding.remedy == "GRANT MAINTAIN ON TABLE t TO x;"
    assert found() is None


@pytest.mark.parametrize(
    ("dying", "naptime", "in_reach", "wanted"),
    [
        (0.0, 60, True, None),
        (83.3, 60, True, None),
        (83.4, 60, False, 59),
        (5_000.0, 60, False, 5),
        (5_000.0, 5, False, None),
    ],
)
def test_no_naptime_below_five_seconds_is_advised(
    dying: float,
    naptime: float,
    in_reach: bool,  # noqa: FBT001
    wanted: int | None,
) -> None:
    reach = Reach(LEAF, dying, 5_000, naptime)
    assert reach.in_reach is in_reach
    if not in_reach:
        assert reach.naptime_wanted == wanted
