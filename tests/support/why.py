"""`why` over a test's database, as the command calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.why_document import document
from pgq_ops.cli.why_lines import lines
from pgq_ops.cli.why_report import explain
from pgq_ops.schema import history
from pgq_ops.schema.versions import install
from tests.support.binding import bind_toml, loaded_of
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any

    from pgq_ops.cli.why_report import Report
    from tests.support.database import Database

_RUNNING = (
    "INSERT INTO jobs (id, queue, status, lease_until, locked_by, attempts, max_attempts, created_at)"
    " VALUES (%(id)s, %(queue)s, 'running', {end}, %(owner)s, %(attempts)s, %(cap)s, now() - interval '2 d')"
)
# With an agent that reaps; the tests' server may have started just now.
MANAGED = FIELD.replace("[job_tables.jobs]\n", '[agent]\nmode = "manage"\n[job_tables.jobs]\n', 1) + 'settle = "0s"\n'


def asked(database: Database, job: object, toml: str = FIELD, *names: str, role: str | None = None) -> Report:
    """What there is to say of a job."""
    dsn = database.dsn if role is None else database.dsn_as(role)
    return explain(loaded_of(toml, dsn), names, str(job))


def as_text(report: Report, width: int | None = None) -> str:
    """The lines without their colours."""
    return "\n".join(line.plain for line in lines(report, width))


def told(database: Database, job: object, toml: str = FIELD, *names: str, role: str | None = None) -> str:
    """The lines on a job that is there, with nothing going wrong."""
    report = asked(database, job, toml, *names, role=role)
    assert report.failure() is None
    assert report.known
    return as_text(report)


def as_json(database: Database, job: object, toml: str = FIELD, *, role: str | None = None) -> dict[str, Any]:
    """The one job of `--json`."""
    [found] = document(asked(database, job, toml, role=role))["jobs"]
    assert isinstance(found, dict)
    return found


def both(database: Database, job: object, toml: str = FIELD) -> tuple[dict[str, Any], str]:
    """The job of `--json` and the lines, of one look."""
    report = asked(database, job, toml)
    [found] = document(report)["jobs"]
    return found, as_text(report)


def note_pass(
    database: Database, took: timedelta, *, seconds_ago: float = 0.0, outcome: str = "ok", message: str = ""
) -> None:
    """Install the schema, and record a pass of the reaper in it as an agent does."""
    install(database.connect())
    bound = bind_toml(database, FIELD)
    history.record_run(bound.connection, bound.table, history.TaskRun("reaper", outcome, took, message))
    database.execute("UPDATE pgq_ops.task SET last_run_at = last_run_at - make_interval(secs => %s)", [seconds_ago])


def run(database: Database, end: str, job: int = 1, **values: object) -> None:
    """A running job whose lease ends `end` (SQL)."""
    row = {"queue": "mail", "owner": "worker-7", "attempts": 3, "cap": 5, **values}
    database.execute(_RUNNING.format(end=end), {"id": job, **row})
