"""What the statement that writes does by itself: ask again, lock no more than it needs, log only what stayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.metrics import REGISTRY
from pgq_ops.schema.versions import install
from pgq_ops.tasks.reap_statement import ReapStatement
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from pgq_ops.tasks.reap_page import Page
    from tests.support.database import Database

MOVING = FIELD + 'dead_letter_table = "dead_jobs"\nmax_attempts = 3\n'
STRANDED = """
INSERT INTO jobs (status, lease_until, attempts, queue)
SELECT 'running', now() + %(lease)s * interval '1 minute', n %% 6, %(queue)s FROM generate_series(1, 12) AS n
"""


@pytest.mark.parametrize("toml", [FIELD, MOVING], ids=["in place", "with a dead-letter table"])
@pytest.mark.parametrize(("lease", "queue"), [(5, None), (-5, "off")], ids=["live", "another policy's"])
def test_a_row_that_the_look_took_by_mistake_is_let_alone_by_the_write(
    database: Database, monkeypatch: pytest.MonkeyPatch, toml: str, lease: int, queue: str | None
) -> None:
    """The look is made to lock every row; the condition that the write repeats is all that is left."""

    def take_all(self: ReapStatement, page: Page) -> composing.Composed:
        everything = {"page": page.condition, "is_reapable": composing.SQL("true"), "in_policy": composing.SQL("true")}
        return sql.statement("reap/take_expired", self._fragments() | everything)

    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL)")
    database.execute(STRANDED, {"lease": lease, "queue": queue})
    monkeypatch.setattr(ReapStatement, "_take", take_all)
    reap(database, toml + "[job_tables.jobs.queues.off]\nreaper = { enabled = false }\n")
    assert statuses(database) == {"running": 12}
    assert statuses(database, "dead_jobs") == {}


def test_a_job_that_a_child_row_refers_to_is_requeued_at_once(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 minute')")
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs)")
    with database.connect(autocommit=False) as child:
        child.execute("INSERT INTO notes SELECT id FROM jobs")
        assert reap(database).requeued == 1


def test_the_log_names_only_jobs_whose_change_stayed(database: Database) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '1 minute' FROM generate_series(1, 9)"
    )
    database.execute("""
        CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id % 3 = 0 THEN RETURN NULL; END IF; RETURN new; END $$;
        CREATE TRIGGER swallow BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION swallow();
    """)
    result = reap(database)
    assert (result.requeued, result.swallowed) == (6, 3)
    logged = database.rows("SELECT job::bigint FROM pgq_ops.reap_log ORDER BY 1")
    assert logged == database.rows("SELECT id FROM jobs WHERE status = 'pending' ORDER BY 1")
    assert len(logged) == 6


def test_each_job_is_counted_by_what_became_of_it(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE UNIQUE INDEX ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'twin')")
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts, dedup_key)"
        " SELECT 'running', now() - interval '1 minute', a, d FROM (VALUES (1, 'x'), (2, 'y'), (3, NULL), (9, NULL), (8, NULL),"
        " (1, 'twin')) AS v(a, d)"
    )
    result = reap(database)
    assert (result.requeued, result.dead_lettered, result.conflicts) == (3, 2, 1)
    labels = {"database": database.name, "job_table": "jobs", "queue": "(null)"}
    for outcome, jobs in {"requeued": 3, "dead_lettered": 2, "conflict": 1}.items():
        assert REGISTRY.get_sample_value("pgqops_reaped_total", {**labels, "outcome": outcome}) == jobs


def test_jobs_that_were_stranded_together_do_not_come_back_together(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '1 minute' FROM generate_series(1, 100)"
    )
    assert reap(database).requeued == 100
    spread = "SELECT extract(epoch FROM max(run_at) - min(run_at))::float8, count(DISTINCT run_at) FROM jobs"
    [(seconds, moments)] = database.rows(spread)
    assert 0.5 < seconds <= 1  # of the second that jitter takes from a base of ten; with 100 jobs nearly all of it
    assert moments > 90


def test_no_transaction_takes_more_than_a_batch(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '1 minute' FROM generate_series(1, 95)"
    )
    assert reap(database, FIELD + "batch_size = 10\n").requeued == 95
    sizes = database.rows("SELECT count(*) FROM jobs GROUP BY xmin::text ORDER BY 1")
    assert max(sizes) == (10,)
    assert len(sizes) == 10
