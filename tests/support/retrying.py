"""Dead jobs in the table of the field cases, and a retry or a purge of them as a person's command makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.tasks.dead_purge import PurgeResult
    from pgq_ops.tasks.dead_retry_result import RetryResult
    from pgq_ops.tasks.task import Guard
    from tests.support.database import Database

MOVED = FIELD + 'dead_letter_table = "dead_jobs"\n'

DEAD = """
INSERT INTO jobs (queue, status, attempts, locked_by, lease_until, run_at, last_error, finished_at)
SELECT 'mail', 'dead', 5, 'worker-' || n, now() - interval '1 hour', now() - interval '2 hours', 'boom',
       now() - n * interval '1 s'
FROM generate_series(1, %(n)s) AS n
"""


def count_batches(database: Database, event: str = "UPDATE") -> None:
    """From now on the table `batches` has the number of rows of each UPDATE (or DELETE) of jobs."""
    image = "OLD" if event == "DELETE" else "NEW"
    database.execute(f"""
        CREATE TABLE batches (number int);
        CREATE FUNCTION count_batch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO batches SELECT count(*) FROM changed; RETURN NULL; END $$;
        CREATE TRIGGER count_batch AFTER {event} ON jobs REFERENCING {image} TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION count_batch();
    """)  # noqa: S608  # a test's own table


def always() -> bool:
    return True


def retry(
    database: Database, toml: str = FIELD, *, role: str | None = None, guard: Guard = always, **options: Any
) -> RetryResult:
    """`pgq-ops dead retry`; options are those of DeadRetry."""
    bound = bind_toml(database, toml, role=role)
    return DeadRetry(**options).run(bound.connection, bound.table, guard)


def purge(
    database: Database,
    toml: str = FIELD,
    *,
    file: Path | None = None,
    role: str | None = None,
    guard: Guard = always,
    **options: Any,
) -> PurgeResult:
    """`pgq-ops dead purge`, into `file` (None: without an export); other options are those of DeadPurge."""
    bound = bind_toml(database, toml, role=role)
    export = None if file is None else {bound.table.name: file}
    return DeadPurge(export=export, **options).run(bound.connection, bound.table, guard)
