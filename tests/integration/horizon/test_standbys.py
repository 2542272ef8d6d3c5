"""Standbys that tell the primary what their sessions still have to see, with a slot, without, and gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.cli.inspection.inspector import Inspector
from pgq_ops.cli.reap_report import reap_tables
from pgq_ops.probes.database_memory import DatabaseMemory
from pgq_ops.probes.horizon import Horizon
from tests.support.agent import wait_until
from tests.support.collecting import PATIENT
from tests.support.database import unique
from tests.support.inspection import as_json, as_text, loaded
from tests.support.jobs import FIELD, create_field_table
from tests.support.standby import caught_up

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.stats.horizon import Holder
    from tests.integration.horizon.conftest import Pair


def held(pair: Pair, kind: str, changes: int) -> Holder:
    """The holder, once the standby has told of its session; nobody else holds by then."""
    pair.ground.change(changes)

    def told() -> bool:
        return [(one.kind, one.xid_age) for one in pair.ground.holders()] == [(kind, changes)]

    wait_until(told, 20, "the standby told")
    [holder] = pair.ground.holders()
    return holder


def let_go(pair: Pair) -> None:
    """Wait until the standby keeps nothing that died."""
    wait_until(lambda: pair.ground.look().age_xids == 0, 20, "the standby let go")
    pair.ground.agree(kept=0)


@pytest.mark.case("V6")
def test_a_standby_without_a_slot_is_named_and_its_session_found_by_the_remedy(pair: Pair) -> None:
    pair.follow()
    reader = pair.read()
    holder = held(pair, "standby", 5)
    assert (holder.name, holder.user, holder.state) == ("walreceiver", "postgres", "streaming")
    sender = "SELECT pid FROM pg_stat_replication"
    assert holder.pid == pair.ground.database.value(sender)
    pair.ground.agree(kept=5)
    which, _, _ = holder.remedy.partition("-- or for good")
    [row] = pair.on_the_standby(which)
    assert row[:3] == (reader.info.backend_pid, "postgres", "reader")
    pair.on_the_standby(f"SELECT pg_terminate_backend({row[0]})")
    let_go(pair)


@pytest.mark.case("V6")
def test_a_standby_that_is_told_to_give_no_feedback_holds_nothing_more(pair: Pair) -> None:
    pair.follow()
    reader = pair.read()
    holder = held(pair, "standby", 5)
    _, _, for_good = holder.remedy.partition("-- or for good")
    pair.on_the_standby(f"--{for_good}")
    let_go(pair)
    reader.close()


@pytest.mark.case("V6")
def test_a_slot_is_named_and_holds_on_when_its_standby_is_gone_until_it_is_dropped(pair: Pair) -> None:
    slot = unique("slot")
    pair.ground.database.execute("SELECT pg_create_physical_replication_slot(%s)", [slot])
    pair.follow(slot)
    reader = pair.read()
    holder = held(pair, "slot", 5)
    assert (holder.name, holder.state, holder.seconds) == (slot, "active", None)
    assert holder.pid == pair.ground.database.value("SELECT pid FROM pg_stat_replication")
    assert pair.on_the_standby(holder.remedy.partition("-- or")[0])[0][0] == reader.info.backend_pid
    pair.ground.agree(kept=5)

    reader.close()
    pair.standby.kill()
    pair.ground.change(5)
    wait_until(lambda: pair.ground.holders()[0].state == "inactive", 20, "the primary noticed")
    [holder] = pair.ground.holders()
    assert (holder.kind, holder.name, holder.pid) == ("slot", slot, None)
    since_17 = pair.primary.binaries.major >= 17
    assert (holder.seconds is not None) is since_17, "when it was used last is not known before 17"
    assert holder.xid_age == 10
    pair.ground.agree(kept=10)
    pair.ground.database.execute(holder.remedy)
    assert pair.ground.holders() == []
    pair.ground.agree(kept=0)


@pytest.mark.case("V6")
def test_on_the_standby_itself_nobody_holds_anything_and_nothing_can_be_reaped(pair: Pair, tmp_path: Path) -> None:
    pair.follow()
    create_field_table(pair.ground.database)
    pair.ground.database.execute(
        "INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 1)"
    )
    reader = pair.read()
    pair.ground.change(5)
    caught_up(pair.primary, pair.standby)
    config = loaded(tmp_path, FIELD, pair.standby.dsn(pair.ground.database.name))
    with Inspector(config, (), limits=PATIENT) as inspector:
        seen = inspector.look()
    found = seen.shared.horizon
    assert found is not None
    assert (found.standby, found.holders, found.age_xids) == (True, (), 0)
    [document] = as_json(seen)
    assert (document["horizon"]["age_xids"], document["horizon"]["holders"]) == (None, [])
    text = as_text(seen, None)
    assert text.count("this server is a standby") == 3
    assert "held back by" not in text
    with psycopg.connect(pair.standby.dsn(pair.ground.database.name), autocommit=True) as connection:
        exported = {sample.family.name for sample in Horizon().collect(connection, DatabaseMemory("app"))}
    assert exported == {"session_visibility"}
    report = reap_tables(config, (), include_stale=False, dry_run=True)
    assert "this server is a standby" in str(report.failure())
    assert report.changed == 0
    reader.close()
