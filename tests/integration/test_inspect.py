"""What `inspect` says of a job table, compared with what is in it."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.schema import history, versions
from pgq_ops.schema.findings import FindingLog
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.inspection import as_json, as_text, looked
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.support.database import Database
    from tests.support.roles import Roles

# The keys that design.md §3 promises, whatever else there is.
TABLE_KEYS = {"name", "table", "collected_at", "queues", "leases", "claim", "relation", "partitions", "horizon"}
QUEUE_KEYS = {"queue", "scheduled", "ready", "running", "done", "dead", "exact", "oldest_ready_seconds"}
LEASE_KEYS = {"live", "expired", "stale", "missing", "overlong", "oldest_expired_seconds"}
CLAIM_KEYS = {"buffers", "seconds", "plan"}
RELATION_KEYS = {
    *("live_tuples", "dead_tuples", "vacuum_threshold", "table_bytes", "index_bytes", "last_vacuum", "xid_age")
}
HOLDER_KEYS = {"kind", "pid", "name", "user", "state", "seconds", "xid_age", "remedy"}
FINDING_KEYS = {"id", "severity", "summary", "evidence", "remedy"}

ROWS = """
INSERT INTO jobs (queue, status, run_at, lease_until, locked_by, attempts, finished_at) VALUES
    ('mail', 'pending', now() - interval '10 min', NULL, NULL, 0, NULL),
    ('mail', 'pending', now() - interval '1 min', NULL, NULL, 0, NULL),
    ('mail', 'pending', now() + interval '1 h', NULL, NULL, 0, NULL),
    ('mail', 'running', now(), now() + interval '5 min', 'w1', 1, NULL),
    ('mail', 'running', now(), now() - interval '10 min', 'w2', 2, NULL),
    ('film', 'running', now(), now() - interval '3 days', 'w3', 1, NULL),
    ('film', 'running', now(), NULL, 'w4', 1, NULL),
    ('film', 'running', now(), now() + interval '30 days', 'w5', 1, NULL),
    ('film', 'done', now(), NULL, NULL, 1, now()),
    ('film', 'dead', now(), NULL, NULL, 5, now()),
    (NULL, 'paused', now(), NULL, NULL, 0, NULL)
"""


@pytest.fixture
def busy(database: Database) -> Database:
    create_field_table(database)
    database.execute(ROWS)
    return database


def queues_of(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {queue["queue"]: queue for queue in table["queues"]}


def test_the_document_has_the_promised_keys_and_null_for_what_is_not_read_yet(busy: Database, tmp_path: Path) -> None:
    [table] = as_json(looked(tmp_path, FIELD, busy.dsn))
    assert set(table) >= TABLE_KEYS | {"findings"}
    assert all(set(queue) >= QUEUE_KEYS for queue in table["queues"])
    assert set(table["leases"]) >= LEASE_KEYS
    assert table["findings"]
    assert all(set(finding) == FINDING_KEYS for finding in table["findings"])
    assert set(table["claim"]) >= CLAIM_KEYS
    assert table["claim"]["buffers"] > 0
    assert table["claim"]["plan"]
    assert set(table["relation"]) >= RELATION_KEYS
    assert table["partitions"] is None
    json.dumps(table, allow_nan=False)


def test_leases_are_told_by_queue_the_one_with_the_oldest_trouble_first(busy: Database, tmp_path: Path) -> None:
    seen = looked(tmp_path, FIELD, busy.dsn)
    [table] = as_json(seen)
    film, mail = table["leases"]["queues"]
    assert (film["queue"], film["stale"], film["missing"], film["future"]) == ("film", 1, 1, 1)
    assert (mail["queue"], mail["live"], mail["expired"], mail["stale"]) == ("mail", 1, 1, 0)
    assert 600 <= mail["oldest_expired_seconds"] < 660
    lines = as_text(seen).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("leases"))
    assert [line.split()[0] for line in lines[first + 2 : first + 4]] == ["film", "mail"]


def test_who_holds_the_horizon_is_named_with_what_ends_it(busy: Database, tmp_path: Path) -> None:
    with psycopg.connect(busy.dsn, application_name="report-job") as report:
        report.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        report.execute("SELECT count(*) FROM jobs")
        seen = looked(tmp_path, FIELD, busy.dsn)
        [table] = as_json(seen)
        pid = report.info.backend_pid
    [holder] = [one for one in table["horizon"]["holders"] if one["pid"] == pid]
    assert set(holder) == HOLDER_KEYS
    assert (holder["kind"], holder["name"], holder["state"]) == ("backend", "report-job", "idle in transaction")
    assert f"pid = {pid} AND" in holder["remedy"]  # the session of a superuser, whom the command does not end
    assert table["sessions"]["idle_in_transaction"] >= 1
    assert "report-job" in as_text(seen)


def test_the_numbers_are_those_of_the_table(busy: Database, tmp_path: Path) -> None:
    [table] = as_json(looked(tmp_path, FIELD, busy.dsn))
    queues = queues_of(table)
    counts = {
        name: [queue[state] for state in ("scheduled", "ready", "running", "done", "dead")]
        for name, queue in queues.items()
    }
    assert counts == {"mail": [1, 2, 2, 0, 0], "film": [0, 0, 3, 1, 1], "(null)": [0, 0, 0, 0, 0]}
    assert queues["(null)"]["unknown"] == 1
    assert all(all(queue["exact"].values()) for queue in queues.values())
    assert 600 <= queues["mail"]["oldest_ready_seconds"] < 660
    assert queues["film"]["oldest_ready_seconds"] == 0
    leases = table["leases"]
    assert [leases[key] for key in ("live", "expired", "stale", "missing", "overlong", "future")] == [2, 1, 1, 1, 0, 1]
    assert 600 <= leases["oldest_expired_seconds"] < 660
    assert datetime.fromisoformat(table["collected_at"]).utcoffset() is not None


def test_what_is_wrong_is_told_worst_first_with_the_remedy_whole_and_on_lines_of_its_own(
    busy: Database, tmp_path: Path
) -> None:
    seen = looked(tmp_path, FIELD, busy.dsn)
    findings = seen.tables[0].findings
    assert [finding.severity for finding in findings] == sorted(
        (finding.severity for finding in findings), key=list(Severity).index
    )
    assert {"expired-leases", "stale-leases", "oldest-ready-slo"} <= {finding.id for finding in findings}
    lines = [line.strip() for line in as_text(seen).splitlines()]
    for finding in findings:
        assert finding.remedy
        assert set(finding.remedy.splitlines()) <= set(lines)


@pytest.mark.parametrize("width", [80, 120])
def test_everything_but_names_and_remedies_fits_the_width(busy: Database, tmp_path: Path, width: int) -> None:
    seen = looked(tmp_path, FIELD, busy.dsn)
    remedies = {line for finding in seen.tables[0].findings for line in finding.remedy.splitlines()}
    lines = [line for line in as_text(seen, width).splitlines() if line.strip() not in remedies]
    assert max(map(len, lines)) <= width
    for name in ("jobs", "mail", "film", "(null)", "w1", "w2", "w5"):
        assert any(re.search(rf"(^|\s){re.escape(name)}(\s|$)", line) for line in lines), name


def test_the_worst_queues_are_shown_and_the_others_counted_while_the_document_has_all(
    database: Database, tmp_path: Path
) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, run_at) SELECT 'q' || q, now() - interval '1 h' * q"
        " FROM generate_series(1, 60) AS q, generate_series(1, 3)"
    )
    seen = looked(tmp_path, FIELD, database.dsn)
    [table] = as_json(seen)
    assert {f"q{number}" for number in range(1, 61)} <= set(queues_of(table))
    text = as_text(seen)
    shown = re.findall(r"^(q\d+) ", text, re.MULTILINE)
    assert shown == [f"q{number}" for number in range(60, 45, -1)]
    assert "and 45 more queues with 135 ready, 0 running; --json has them all" in text


def test_the_next_expiries_are_those_leases_that_end_first(busy: Database, tmp_path: Path) -> None:
    [table] = as_json(looked(tmp_path, FIELD, busy.dsn))
    owners = [expiry["owner"] for expiry in table["next_expiries"]]
    assert owners.index("w2") < owners.index("w1") < owners.index("w5")
    left = {expiry["owner"]: expiry["left_seconds"] for expiry in table["next_expiries"]}
    assert 240 < left["w1"] <= 300
    assert -660 < left["w2"] <= -600


def record_reaper(database: Database, outcome: str, message: str = "") -> None:
    bound = bind_toml(database, FIELD)
    versions.install(bound.connection)
    run = history.TaskRun("reaper", outcome, timedelta(seconds=1.5), message)
    history.record_run(bound.connection, bound.table, run)


def test_task_runs_are_shown_once_they_are_recorded(busy: Database, tmp_path: Path) -> None:
    assert "pgq-ops install" in as_text(looked(tmp_path, FIELD, busy.dsn))
    record_reaper(busy, "ok", "3 requeued")
    seen = looked(tmp_path, FIELD, busy.dsn)
    [table] = as_json(seen)
    [run] = table["task_runs"]
    assert (run["task"], run["outcome"], run["message"], run["duration_seconds"]) == ("reaper", "ok", "3 requeued", 1.5)
    assert 0 <= run["ago_seconds"] < 60
    assert datetime.fromisoformat(run["at"]).utcoffset() is not None
    assert re.search(r"^reaper ok +\d+s ago by .*3 requeued", as_text(seen, None), re.MULTILINE)


def test_that_an_agent_looks_is_told_where_it_runs_no_task(busy: Database, tmp_path: Path) -> None:
    def tasks() -> str:
        lines = as_text(looked(tmp_path, FIELD, busy.dsn), None).splitlines()
        return next(line for line in lines if line.startswith("tasks: "))

    bound = bind_toml(busy, FIELD)
    versions.install(bound.connection)
    assert tasks() == "tasks: no run of one on this table is recorded, nor that an agent looked"
    FindingLog(bound.connection, bound.table, "observe").watched()
    assert "is recorded; an agent looks (observe), " in tasks()
    [one] = as_json(looked(tmp_path, FIELD, busy.dsn))[0]["agents"]
    assert (one["mode"], one["pid"]) == ("observe", os.getpid())
    assert 0 <= one["looked_ago_seconds"] < 60
    busy.execute("UPDATE pgq_ops.watch SET last_at = last_at - interval '181 s', began_at = began_at - interval '1 h'")
    assert "; an agent last looked 3m" in tasks()
    assert tasks().endswith("ago (observe)")
    FindingLog(bound.connection, bound.table, "manage").watched()
    assert "; an agent looks (manage), " in tasks()


@pytest.mark.parametrize("granted", ["", "USAGE ON SCHEMA pgq_ops"])
def test_runs_that_are_recorded_and_may_not_be_read_are_told_with_the_grants(
    busy: Database, tmp_path: Path, make_role: Roles, granted: str
) -> None:
    role = make_role("reader %")
    busy.execute(f'GRANT SELECT ON jobs TO "{role}"')
    record_reaper(busy, "ok", "3 requeued")
    if granted:
        busy.execute(f'GRANT {granted} TO "{role}"')
    seen = looked(tmp_path, FIELD, busy.dsn_as(role))
    assert seen.failure() is None
    text = as_text(seen, 60)
    assert "pgq-ops install" not in text
    assert f"tasks: not read: role {role} may not read" in " ".join(text.split())
    assert as_json(seen)[0]["task_runs"] is None
    for line in text.splitlines():
        if line.startswith("  GRANT"):
            busy.execute(line)
    [run] = as_json(looked(tmp_path, FIELD, busy.dsn_as(role)))[0]["task_runs"]
    assert run["message"] == "3 requeued"


def test_whether_an_agent_reaps_is_told_by_its_last_run(busy: Database, tmp_path: Path) -> None:
    def reaping() -> bool | None:
        look = looked(tmp_path, FIELD, busy.dsn).tables[0].look
        assert look is not None
        return look.reaping

    assert reaping() is None
    record_reaper(busy, "nothing")
    assert reaping() is True
    # An idle agent notes a run at most once a minute, and runs each 10 s: late is later than 90 s.
    busy.execute("UPDATE pgq_ops.task SET last_run_at = now() - interval '85 s'")
    assert reaping() is True
    busy.execute("UPDATE pgq_ops.task SET last_run_at = now() - interval '91 s'")
    assert reaping() is False
    record_reaper(busy, "failed", "permission denied")
    assert reaping() is False


def test_select_on_the_mapped_columns_is_enough_and_nothing_can_be_written(
    busy: Database, tmp_path: Path, make_role: Roles
) -> None:
    reader = make_role("reader")
    busy.execute(f'GRANT SELECT ON jobs TO "{reader}"')
    busy.execute("ALTER DATABASE " + f'"{busy.name}"' + " SET default_transaction_read_only = on")
    [table] = as_json(looked(tmp_path, FIELD, busy.dsn_as(reader)))
    assert queues_of(table)["mail"]["ready"] == 2
    assert table["leases"]["expired"] == 1
    assert table["task_runs"] is None
    assert table["claim"]["buffers"] > 0
    # What a role does not see is told, and is no 0.
    assert table["not_read"] == {"blocking": "this role does not see other sessions"}
    assert table["sessions"] is None


def insert_done_jobs(database: Database, columns: str, values: str) -> None:
    """More rows than are read whole, and what the statistics say of them.

    A session counts what it wrote into the statistics when it ends at the latest: after an ANALYZE of its own, twice.
    """
    with database.connect() as writer:
        writer.execute(f"INSERT INTO jobs ({columns}) SELECT {values} FROM generate_series(1, 210000)".encode())
        pid = writer.info.backend_pid
    wait_until(lambda: not database.rows("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]))
    database.execute("ANALYZE jobs")


def test_what_is_estimated_for_all_queues_has_a_row_of_its_own(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX jobs_pending ON jobs (run_at) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (queue) VALUES ('mail'), ('film')")
    insert_done_jobs(database, "queue, status", "'mail', 'done'")
    seen = looked(tmp_path, FIELD, database.dsn)
    [table] = as_json(seen)
    queues = queues_of(table)
    assert [queues[name]["ready"] for name in ("mail", "film")] == [1, 1]
    assert queues["mail"]["exact"]["ready"] is True
    assert (queues["mail"]["done"], queues["mail"]["exact"]["done"]) == (None, False)
    assert 200_000 < queues["(all)"]["done"] < 220_000
    assert queues["(all)"]["exact"]["done"] is False
    assert re.search(r"^\(all\) .* ~2[01]\d,\d{3} ", as_text(seen), re.MULTILINE)


def test_a_table_without_queues_has_all_numbers_in_its_one_row(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX jobs_pending ON jobs (run_at) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs DEFAULT VALUES")
    insert_done_jobs(database, "status", "'done'")
    [table] = as_json(looked(tmp_path, FIELD.replace('queue = "queue"\n', ""), database.dsn))
    [queue] = table["queues"]
    assert (queue["queue"], queue["ready"], queue["exact"]["ready"]) == ("default", 1, True)
    assert 200_000 < queue["done"] < 220_000
    assert queue["exact"]["done"] is False
