"""When a leaf needs a VACUUM of ours, by what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.stats.churn import Churn
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.observed import Observed
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.vacuum_settings import ServerAutovacuum
from pgq_ops.tasks.upkeep import held, needs
from pgq_ops.tasks.upkeep import pulse as pulses
from pgq_ops.tasks.upkeep.ending import VacuumEnd, VacuumFate
from pgq_ops.tasks.upkeep.leaf_track import LeafTrack
from pgq_ops.tasks.upkeep.need import Need, Why
from pgq_ops.tasks.upkeep.order import Order
from pgq_ops.tasks.upkeep.table_track import TableTrack
from tests.support.leaf_health import QUIET

BUDGET = 5_000
BEFORE = Horizon(0)
LEAF = replace(QUIET, vacuum_threshold=4_000)


@dataclass
class Story:
    """Looks at one leaf, so many seconds apart."""

    now: float = 100.0
    at: float = 5_000.0
    leaf: LeafHealth = LEAF
    track: LeafTrack = field(init=False)
    naptime: float = 60.0
    standby: bool = False

    def __post_init__(self) -> None:
        self.track = LeafTrack(self.leaf, pulses.of(self.leaf, self.at), self.now)

    def later(self, seconds: float = 5.0, died: int = 0, **changes: Any) -> Story:
        """Another look: `died` rows died meanwhile."""
        self.now, self.at = self.now + seconds, self.at + seconds
        dead = None if self.leaf.dead_rows is None else self.leaf.dead_rows + died
        self.leaf = replace(self.leaf, **{"dead_rows": dead, "updated": self.leaf.updated + died, **changes})
        self.track.look(self.leaf, self.at, self.now)
        return self

    def ended(self, fate: VacuumFate, seconds: float = 1.0, left: int | None = None) -> None:
        end = VacuumEnd(Order(self.leaf.relation), fate, seconds, 0, left, self.at)
        self.track.ended(end, BEFORE, self.now)

    @property
    def need(self) -> Need | None:
        server = ServerAutovacuum(naptime_seconds=self.naptime, standby=self.standby)
        return needs.of_leaf(self.track, BUDGET, server, self.now)

    def why(self) -> Why | None:
        return None if self.need is None else self.need.why


@pytest.mark.parametrize(
    ("died", "naptime", "expected"),
    [
        (2_499, 60, None),  # below half of the budget
        (2_500, 60, Why.FAST),  # 500 a second: 10 s for the budget
        (2_500, 10, None),  # autovacuum comes as soon
        (2_500, 10.1, Why.FAST),
    ],
)
def test_where_rows_die_faster_than_autovacuum_can_come_half_of_the_budget_is_enough(
    died: int, naptime: float, expected: Why | None
) -> None:
    assert Story(naptime=naptime).later(died=died).why() is expected


def test_what_died_since_the_last_look_is_reckoned_with() -> None:
    story = Story().later(died=1_500)
    assert story.why() is None
    assert story.track.seconds_until(2_500, story.now) == pytest.approx(1_000 / 300)
    story.now += 3.3
    assert story.why() is None
    story.now += 0.1
    assert story.why() is Why.FAST


def test_the_reason_is_in_numbers() -> None:
    need = Story().later(died=2_500).need
    assert need is not None
    assert str(need) == (
        "VACUUM public.jobs: 500 rows die there each second, so 5,000 dead rows, which a claim can bear, in 10s;"
        " autovacuum comes each 1m (autovacuum_naptime)"
    )


def test_row_versions_that_their_page_gives_back_are_not_among_them() -> None:
    story = Story().later(died=2_500, hot_updated=2_500, dead_rows=2_500)
    assert story.track.dying == 0
    assert story.why() is None


@pytest.mark.parametrize(("dead", "expected"), [(4_999, None), (5_000, Why.UNSET)])
def test_a_threshold_beyond_the_budget_is_unset(dead: int, expected: Why | None) -> None:
    assert Story(leaf=replace(LEAF, dead_rows=dead, vacuum_threshold=5_001)).why() is expected
    assert Story(leaf=replace(LEAF, dead_rows=dead, vacuum_threshold=5_000)).why() is None


def test_an_autovacuum_that_is_due_is_given_a_visit_and_a_half() -> None:
    story = Story(leaf=replace(LEAF, dead_rows=6_000))
    assert story.later(89.9).why() is None
    assert story.later(0.1).why() is Why.OVERDUE
    story.later(1, vacuum_running=True)
    assert story.why() is None, "it is at work"
    story.now += 3
    assert story.why() is None, "nobody has been overdue since"
    assert story.later(1, vacuum_running=False).why() is None, "and counts anew from there"
    assert story.later(90).why() is Why.OVERDUE
    assert story.later(1, vacuums=1).why() is None, "it has been there"


def test_with_a_short_naptime_it_is_given_ten_seconds() -> None:
    story = Story(leaf=replace(LEAF, dead_rows=6_000), naptime=1)
    assert story.later(9.9).why() is None
    assert story.later(0.2).why() is Why.OVERDUE


def test_where_autovacuum_is_off_nobody_is_waited_for() -> None:
    story = Story(leaf=replace(LEAF, dead_rows=5_000, autovacuum_enabled=False))
    assert story.why() is Why.OVERDUE
    assert "autovacuum is off" in str(story.need)


def test_few_dead_rows_are_never_worth_it_however_small_the_budget() -> None:
    story = Story().later(died=499)
    server = ServerAutovacuum()
    assert needs.of_leaf(story.track, 1, server, story.now) is None
    story.later(died=1)
    assert needs.of_leaf(story.track, 1, server, story.now) is not None


def test_lost_statistics_are_mended_once() -> None:
    story = Story(leaf=replace(LEAF, dead_rows=None, live_rows=None, lost=True))
    assert story.why() is Why.LOST
    assert story.need is not None
    assert story.need.order.analyze
    story.track.lost_done = True
    assert story.why() is None
    assert story.later().why() is None, "the look that tells that they are there again may take a while"
    story.later(lost=False, dead_rows=0)
    story.later(lost=True, dead_rows=None)
    assert story.why() is Why.LOST


def test_nothing_is_vacuumed_where_the_numbers_are_unknown_or_on_a_standby() -> None:
    assert Story(leaf=replace(LEAF, dead_rows=None, live_rows=None)).why() is None
    assert Story(leaf=replace(LEAF, dead_rows=None, lost=True), standby=True).why() is None
    assert Story(standby=True).later(died=2_500).why() is None


def test_counters_that_begin_anew_make_no_rate() -> None:
    story = Story(leaf=replace(LEAF, updated=1_000_000)).later(died=500)
    assert story.track.dying == 100
    story.later(updated=10, dead_rows=10)
    assert story.track.dying == 100
    story.later(died=1_000)
    assert story.track.dying == 200


def test_one_that_takes_long_is_run_a_quarter_of_the_time() -> None:
    story = Story().later(died=2_500)
    story.ended(VacuumFate.OK, seconds=4.0, left=100)
    assert story.track.not_before == story.now + 12
    assert story.track.dead_rows(story.now) == 100


def test_one_that_was_in_the_way_waits_longer_each_time_and_a_refused_one_a_minute() -> None:
    story = Story()
    waits = []
    for _ in range(7):
        story.ended(VacuumFate.CANCELLED, seconds=0.1)
        waits.append(story.track.not_before - story.now)
    assert waits == pytest.approx([2, 4, 8, 16, 32, 60, 60])
    story.ended(VacuumFate.OK, left=0)
    story.ended(VacuumFate.BUSY)
    assert story.track.not_before == pytest.approx(story.now + 3)
    story.ended(VacuumFate.OK, left=0)
    story.ended(VacuumFate.NOT_PERMITTED, seconds=0)
    assert story.track.not_before == story.now + 60


def test_one_that_was_not_done_in_time_gets_twice_as_long_within_an_hour() -> None:
    story = Story()
    given = []
    for _ in range(8):
        given.append(story.track.seconds)
        story.ended(VacuumFate.UNFINISHED, seconds=story.track.seconds)
    assert given == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]
    story.ended(VacuumFate.OK, seconds=500, left=0)
    assert story.track.seconds == 1_000


REPORT = Holder("backend", 7, "report", "bi", "idle in transaction", 3.0, 100, "", started="1.5")


def held_of(story: Story, *holders: Holder) -> held.Held:
    return held.of_leaf(story.track, Horizon(1, holders), story.now)


def test_what_died_before_somebody_began_can_be_removed() -> None:
    story = Story().later(died=2_500)
    assert held_of(story).removable == 2_500
    assert held_of(story, REPORT).removable == 2_500 - 3 * 500
    assert held_of(story, replace(REPORT, seconds=60)).removable == 0
    assert held_of(story, replace(REPORT, seconds=None)).removable == 2_500, "it is tried"


@pytest.mark.parametrize(("seconds", "worth"), [(3.9, True), (4.1, False)])
def test_few_of_them_are_not_worth_it(seconds: float, worth: bool) -> None:  # noqa: FBT001
    story = Story().later(died=2_500)
    assert held.is_worth_it(held_of(story, replace(REPORT, seconds=seconds)), 2_500, 500) is worth


def test_after_one_in_vain_the_next_waits_until_whoever_kept_the_rows_has_let_go() -> None:
    slot = replace(REPORT, kind="slot", seconds=None)
    story = Story().later(died=2_500)
    story.ended(VacuumFate.USELESS, left=2_400)
    story.track.look_at_keeper(BEFORE, story.now)
    assert held_of(story).removable == 0, "nobody has looked since"
    story.later(died=10_000)
    story.track.look_at_keeper(Horizon(1, (slot, REPORT)), story.now)
    assert held_of(story, REPORT) == held.Held(0.0, slot)
    story.track.look_at_keeper(Horizon(1, (REPORT, slot)), story.now)
    assert held_of(story).removable == 0, "it is still there"
    story.track.look_at_keeper(Horizon(1, (REPORT,)), story.now)
    assert held_of(story).removable > 12_000


def test_who_came_after_the_vacuum_did_not_keep_the_rows_from_it() -> None:
    story = Story().later(died=2_500)
    story.ended(VacuumFate.USELESS, left=2_400)
    story.later(10)
    story.track.look_at_keeper(Horizon(1, (replace(REPORT, seconds=9.0),)), story.now)
    assert story.track.kept is None
    story.ended(VacuumFate.USELESS, left=2_400)
    story.later(10)
    story.track.look_at_keeper(Horizon(1, (replace(REPORT, seconds=10.0),)), story.now)
    assert story.track.kept is not None


def test_who_keeps_them_is_named() -> None:
    assert str(held_of(Story(), REPORT)) == "session 7 (report, user bi) keeps dead rows"
    slot = replace(REPORT, kind="slot", pid=None, name="copy", user="")
    assert str(held_of(Story(), slot)) == "a replication slot (copy) keeps dead rows"
    assert str(held_of(Story())) == "somebody keeps dead rows"


def test_what_goes_on_for_minutes_is_told_apart_from_a_burst() -> None:
    story = Story()
    observed: Any = Observed(TableHealth((LEAF,), server=ServerAutovacuum(naptime_seconds=60)))
    table = TableTrack({1: story.track})
    for _ in range(4):
        story.later(5, died=1_000)
    assert table.outpaced({1: BUDGET}, observed) == ()
    for _ in range(60):
        story.later(5, died=1_000)
    [reach] = table.outpaced({1: BUDGET}, observed)
    assert 120 < reach.dying < 200
    for _ in range(60):
        story.later(5)
    assert table.outpaced({1: BUDGET}, observed) == ()


def test_the_next_look_comes_when_a_vacuum_will_be_due() -> None:
    story = Story().later(died=2_000)
    observed: Any = Observed(TableHealth((LEAF,), server=ServerAutovacuum(naptime_seconds=60)))
    table = TableTrack({1: story.track})
    assert table.again_seconds({1: BUDGET}, observed, story.now) == pytest.approx(500 / 400)
    story.track.not_before = story.now + 1.6
    assert table.again_seconds({1: BUDGET}, observed, story.now) == pytest.approx(1.6)
    story.track.not_before = story.now + 3
    assert table.again_seconds({1: BUDGET}, observed, story.now) is None, "the usual time is sooner"
    story.track.not_before = 0
    assert table.again_seconds({1: BUDGET}, observed, story.now + 2) is None, (
        "it is due already, and waits for something"
    )


@pytest.mark.parametrize(("tables", "quiet"), [(1, 5), (10, 5), (20, 10), (100, 15)])
def test_the_busy_are_asked_for_their_counters_more_often_than_the_quiet(tables: int, quiet: float) -> None:
    story = Story()
    table = TableTrack({1: story.track})
    story.now += 60
    story.later(1)
    assert table.pulse_due_at(story.now, tables) == story.now + quiet
    story.later(1, died=1)
    assert table.pulse_due_at(story.now, tables) == story.now + 2


def test_a_leaf_has_its_part_of_the_budget_by_its_share_of_what_dies_and_a_quiet_one_all() -> None:
    leaves = [replace(LEAF, oid=oid) for oid in (1, 2, 3)]
    tracks = {leaf.oid: LeafTrack(leaf, pulses.of(leaf, 0), 0) for leaf in leaves}
    churn = {1: Churn(600, 0, 75, 0), 2: Churn(600, 0, 25, 0), 3: Churn(600, 0, 0, 0)}
    observed = Observed(TableHealth(tuple(leaves)), churn)
    table = TableTrack(tracks)
    assert table.budgets(Autovacuum(), observed, 0) == {1: 3_750, 2: 1_250, 3: 5_000}
    assert table.budgets(Autovacuum(dead_tuple_budget=1_000), observed, 1) == {1: 750, 2: 500, 3: 1_000}
