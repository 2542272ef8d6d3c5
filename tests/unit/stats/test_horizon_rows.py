"""Who holds back the horizon, by rows that are hard to come by with real sessions."""

from __future__ import annotations

import pytest

from pgq_ops.stats.horizon_rows import Row, Rows

OURS, OTHERS = "ours", "other"
NOTHING = Row("", *[None] * 12)
US = NOTHING._replace(what="session", pid=1, began="100", xid_age=0, database=OURS, visible=True)
SENDING = NOTHING._replace(what="session", pid=2, name="sending", backend_type="walsender", xid_age=7)


def kinds(*rows: Row) -> list[tuple[str, str | None]]:
    return [(kind, row.name) for kind, row, _ in Rows([*rows, US]).holding()]


def sender(state: str | None) -> Row:
    return NOTHING._replace(what="sender", pid=2, state=state)


def slot(what: str, *, xid_age: int | None = None, catalog_age: int | None = None) -> Row:
    return NOTHING._replace(what=what, pid=2, name="slot", xid_age=xid_age, catalog_age=catalog_age)


@pytest.mark.parametrize("state", ["streaming", "catchup", "backup", "stopping", None])
def test_a_walsender_that_streams_is_a_standby_also_where_its_state_is_not_visible(state: str | None) -> None:
    assert kinds(SENDING, sender(state)) == [("standby", "sending")]


@pytest.mark.parametrize(("database", "expected"), [(OURS, [("backend", "sending")]), (OTHERS, []), (None, [])])
def test_one_that_does_not_stream_yet_is_a_session_of_its_database(
    database: str | None, expected: list[tuple[str, str]]
) -> None:
    assert kinds(SENDING._replace(database=database), sender("startup")) == expected


@pytest.mark.parametrize(("state", "holds"), [("streaming", False), (None, False), ("startup", True)])
def test_one_that_decodes_shows_a_snapshot_and_holds_nothing(state: str | None, holds: bool) -> None:  # noqa: FBT001
    decoding = SENDING._replace(database=OURS)
    assert bool(kinds(decoding, sender(state), slot("logical", catalog_age=3))) is holds


def test_a_slot_holds_by_its_xmin_and_not_by_its_catalog_xmin() -> None:
    assert kinds(slot("physical", xid_age=3)) == [("slot", "slot")]
    assert kinds(slot("physical"), slot("logical", catalog_age=3)) == []
    assert Rows([slot("logical", catalog_age=3), slot("physical", catalog_age=9), US]).catalog_ages == [3, 9]


def test_a_snapshot_newer_than_the_look_is_of_age_nothing() -> None:
    late = SENDING._replace(database=OURS, xid_age=-2)
    assert [age for _, _, age in Rows([late, US]).holding()] == [0]


WRITING = NOTHING._replace(what="session", pid=3, name="writing", xid_age=7, own_age=7, database=OTHERS)


@pytest.mark.parametrize(
    ("reading_age", "own_age", "expected"), [(7, None, True), (6, None, False), (8, None, False), (7, 7, False)]
)
def test_who_writes_elsewhere_holds_through_a_snapshot_here_that_is_as_old(
    reading_age: int,
    own_age: int | None,
    expected: bool,  # noqa: FBT001
) -> None:
    here = NOTHING._replace(what="session", pid=4, name="here", xid_age=reading_age, own_age=own_age, database=OURS)
    assert (("backend", "writing") in kinds(WRITING, here)) is expected
    prepared = WRITING._replace(what="prepared", pid=None)
    assert (("prepared", "writing") in kinds(prepared, here)) is expected
    vacuum = NOTHING._replace(what="vacuum", pid=3)
    assert kinds(WRITING, here, vacuum) == [("backend", "here")]
