"""The same numbers from tables that keep states, times and rows in other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.stats.index_support import Question
from tests.support.collecting import collection_of

if TYPE_CHECKING:
    from tests.support.database import Database

HEAD = '[job_tables.jobs]\ntable = "jobs"\n'
STATES = '[job_tables.jobs.states]\npending = ["pending"]\nrunning = ["running"]\ndone = ["done"]\ndead = ["dead"]\n'
TIMES = 'available_at = "run_at"\nlease_expires_at = "lease_until"\nfinished_at = "finished_at"\n'
COLUMNS = f'[job_tables.jobs.columns]\nid = "id"\nstate = "status"\n{TIMES}'

# Two ready (one for a minute), one scheduled, a live lease, an expired one (two minutes), two dead (one for an hour).
ROWS = [
    ("pending", -60, None, None),
    ("pending", -10, None, None),
    ("pending", 600, None, None),
    ("running", -60, 60, None),
    ("running", -60, -120, None),
    ("dead", -60, None, -3600),
    ("dead", -60, None, -60),
    ("done", -60, None, -60),
]
EPOCH = "extract(epoch FROM clock_timestamp() + make_interval(secs => {}))"
MOMENTS = {
    "timestamptz": "now() + make_interval(secs => {})",
    "timestamp": "(now() + make_interval(secs => {})) AT TIME ZONE 'UTC'",
    "bigint seconds": f"{EPOCH}::bigint",
    "bigint milliseconds": f"({EPOCH} * 1000)::bigint",
}


def _insert(database: Database, states: dict[str, str], moment: str = MOMENTS["timestamptz"]) -> None:
    for state, *offsets in ROWS:
        times = ["NULL" if offset is None else moment.format(offset) for offset in offsets]
        columns = "status, run_at, lease_until, finished_at"
        database.execute(f"INSERT INTO jobs ({columns}) VALUES ({states[state]}, {', '.join(times)})")


def _same(database: Database, toml: str) -> None:
    seen = collection_of(database, toml).healthy()
    assert seen.jobs("default") == {"ready": 2, "scheduled": 1, "running": 2, "dead": 2, "done": 1}
    assert seen.leases("default") == {"live": 1, "expired": 1}
    assert seen.value("oldest_ready_age_seconds", "default") == pytest.approx(60, abs=30)
    assert seen.value("oldest_expired_lease_seconds", "default") == pytest.approx(120, abs=30)
    assert seen.value("oldest_dead_age_seconds", "default") == pytest.approx(3_600, abs=30)


PLAIN = {name: f"'{name}'" for name in ("pending", "running", "dead", "done")}


@pytest.mark.parametrize("kind", MOMENTS)
def test_times_of_every_kind_mean_the_same(database: Database, kind: str) -> None:
    base, _, precision = kind.partition(" ")
    database.execute(
        f"CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status text, run_at {base}, lease_until {base}, finished_at {base})"
    )
    _insert(database, PLAIN, MOMENTS[kind])
    columns = COLUMNS
    if base == "bigint":
        unit = {"seconds": "s", "milliseconds": "ms"}[precision]
        for name in ("run_at", "lease_until", "finished_at"):
            columns = columns.replace(f'"{name}"', f'{{ column = "{name}", unit = "{unit}" }}')
    _same(database, HEAD + columns + STATES)


@pytest.mark.case("R8")
def test_numbers_that_no_date_can_be_made_of_are_far_away_and_break_nothing(database: Database) -> None:
    database.execute("CREATE TABLE jobs (id int, status text, run_at bigint, lease_until bigint, finished_at bigint)")
    far = 2**63 - 1
    database.execute(
        "INSERT INTO jobs (status, run_at, lease_until, finished_at) VALUES ('pending', %(far)s, NULL, NULL),"
        " ('pending', -%(far)s, NULL, NULL), ('running', 0, %(far)s, NULL), ('running', 0, 0, NULL),"
        " ('dead', 0, NULL, %(far)s)",
        {"far": far},
    )
    columns = COLUMNS
    for name in ("run_at", "lease_until", "finished_at"):
        columns = columns.replace(f'"{name}"', f'{{ column = "{name}", unit = "ms" }}')
    seen = collection_of(database, HEAD + columns + STATES).healthy()
    assert seen.jobs("default") == {"ready": 1, "scheduled": 1, "running": 2, "dead": 1}
    assert seen.leases("default") == {"live": 1, "future": 1, "stale": 1}
    assert seen.value("oldest_dead_age_seconds", "default") == 0


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("job_state", PLAIN),
        ("smallint", {"pending": "0", "running": "1", "done": "2", "dead": "3"}),
        ("varchar(10)", PLAIN),
    ],
)
def test_states_may_be_an_enum_numbers_or_short_text(database: Database, column: str, values: dict[str, str]) -> None:
    database.execute("CREATE TYPE job_state AS ENUM ('pending', 'running', 'done', 'dead')")
    database.execute(f"""
        CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status {column}, run_at timestamptz,
            lease_until timestamptz, finished_at timestamptz);
        CREATE INDEX ON jobs (run_at) WHERE status = {values["pending"]};
        CREATE INDEX ON jobs (id) WHERE status = {values["running"]};
        CREATE INDEX ON jobs (status);
    """)
    _insert(database, values)
    states = STATES
    if column == "smallint":
        for name, value in values.items():
            states = states.replace(f'["{name}"]', f"[{value}]")
    _same(database, HEAD + COLUMNS + states)
    seen = collection_of(database, HEAD + COLUMNS + states).healthy()
    assert seen.last is not None
    assert seen.last.look.support is not None
    served = set(seen.last.look.support.serving)
    assert {Question.PENDING_IN_ORDER, Question.RUNNING, Question.DEAD} <= served


def test_states_may_be_predicates(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status text, run_at timestamptz,
            lease_until timestamptz, finished_at timestamptz);
        CREATE INDEX unfinished ON jobs (id) WHERE finished_at IS NULL;
    """)
    _insert(database, PLAIN)
    database.execute("UPDATE jobs SET status = 'failed 100%' WHERE status = 'dead'")
    states = """
        [job_tables.jobs.states]
        pending = { where = "finished_at IS NULL AND lease_until IS NULL -- waiting" }
        running = { where = "finished_at IS NULL AND lease_until IS NOT NULL" }
        done = { where = "finished_at IS NOT NULL AND status NOT LIKE 'failed%'" }
        dead = { where = "finished_at IS NOT NULL AND status LIKE 'failed%'" }
    """
    toml = HEAD + COLUMNS.replace('state = "status"\n', "") + states
    _same(database, toml)
    seen = collection_of(database, toml).healthy()
    assert seen.last is not None
    assert seen.last.look.support is not None
    # The index leads to both, and holds more than either, so it tells no number of its own.
    serving = seen.last.look.support.serving
    assert not serving[Question.PENDING].whole
    assert not serving[Question.RUNNING].whole
    assert Question.DEAD not in serving


def _partitioned(database: Database, index: str) -> None:
    database.execute(f"""
        CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY, status text, run_at timestamptz,
            lease_until timestamptz, finished_at timestamptz) PARTITION BY RANGE (id);
        CREATE TABLE jobs_low PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO (4);
        CREATE TABLE jobs_high PARTITION OF jobs FOR VALUES FROM (4) TO (MAXVALUE) PARTITION BY RANGE (id);
        CREATE TABLE jobs_high_1 PARTITION OF jobs_high FOR VALUES FROM (4) TO (MAXVALUE);
        {index}
    """)


def test_a_partitioned_table_is_one_table(database: Database) -> None:
    index = (
        "CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'; CREATE INDEX ON jobs (id) WHERE status = 'running'"
    )
    _partitioned(database, index)
    _insert(database, PLAIN)
    _same(database, HEAD + COLUMNS + STATES)
    seen = collection_of(database, HEAD + COLUMNS + STATES).healthy()
    assert seen.last is not None
    assert seen.last.look.support is not None
    serving = seen.last.look.support.serving
    assert len(serving[Question.PENDING_IN_ORDER].oids) == 2
    assert serving[Question.RUNNING].whole


def test_an_index_on_one_leaf_only_does_not_count(database: Database) -> None:
    _partitioned(database, "CREATE INDEX ON jobs_low (id) WHERE status = 'running'")
    _insert(database, PLAIN)
    seen = collection_of(database, HEAD + COLUMNS + STATES).healthy()
    assert seen.last is not None
    assert seen.last.look.support is not None
    assert Question.RUNNING not in seen.last.look.support.serving
    assert "no-running-index" in seen.finding_ids()
