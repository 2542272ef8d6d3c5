"""The job tables that the proof is tried on, with the statements of the workers that use them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.support import article_tables
from tests.support.proof_clock import moment

CAP = 3
LEASE_SECONDS, GRACE_SECONDS, EVERY_SECONDS = 30, 5, 10
MAX_EXPIRED_AGE_SECONDS = 86_400
BACKOFF_BASE_SECONDS, BACKOFF_FACTOR, BACKOFF_MAX_SECONDS, BACKOFF_JITTER = 10, 2, 30, 0.5
BATCH_SIZE = 2
# A table that did not fit is looked at again after this long (agent/bindings.py).
RETRY_SECONDS = 30
FAILED_DELAY_SECONDS = 7

_TERMS = f"""
[job_tables.emails.lease]
grace = "{GRACE_SECONDS}s"
[job_tables.emails.reaper.backoff]
base = "{BACKOFF_BASE_SECONDS}s"
factor = {BACKOFF_FACTOR}.0
max = "{BACKOFF_MAX_SECONDS}s"
jitter = {BACKOFF_JITTER}
[job_tables.emails.reaper]
every = "{EVERY_SECONDS}s"
settle = "0s"
max_attempts = {CAP}
batch_size = {BATCH_SIZE}
max_expired_age = "{MAX_EXPIRED_AGE_SECONDS}s"
"""
_LEASE = '[job_tables.emails]\ntable = "public.demo_queue_jobs"\npreset = "lease"' + _TERMS
_STARTED_AT = '[job_tables.emails]\ntable = "public.jobs"\npreset = "started-at"' + _TERMS

_COLUMNS = """
    id bigint GENERATED ALWAYS AS IDENTITY,
    payload jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'failed')),
    available_at timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    claimed_by text,
    claim_version bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
"""
_INDEXES = """
CREATE INDEX ON demo_queue_jobs (available_at, id) WHERE status = 'pending';
CREATE INDEX ON demo_queue_jobs (id) WHERE status = 'running';
"""
# Three partitions in the time that a run takes, and an end that half of the runs come to.
RUNWAY_SECONDS = 600
_BY_TIME = f"""
CREATE TABLE demo_queue_jobs ({_COLUMNS}, PRIMARY KEY (id, available_at)) PARTITION BY RANGE (available_at);
CREATE TABLE jobs_1 PARTITION OF demo_queue_jobs FOR VALUES FROM (MINVALUE) TO ('{moment(60)}');
CREATE TABLE jobs_2 PARTITION OF demo_queue_jobs FOR VALUES FROM ('{moment(60)}') TO ('{moment(300)}');
CREATE TABLE jobs_3 PARTITION OF demo_queue_jobs FOR VALUES FROM ('{moment(300)}') TO ('{moment(RUNWAY_SECONDS)}');
{_INDEXES}"""
_BY_ID = f"""
CREATE TABLE demo_queue_jobs ({_COLUMNS}, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE jobs_1 PARTITION OF demo_queue_jobs FOR VALUES FROM (MINVALUE) TO (4);
CREATE TABLE jobs_2 PARTITION OF demo_queue_jobs FOR VALUES FROM (4) TO (7);
CREATE TABLE jobs_3 PARTITION OF demo_queue_jobs FOR VALUES FROM (7) TO (MAXVALUE);
{_INDEXES}"""
# In another order, with a column of its own.
_DEAD_JOBS = """
CREATE TABLE dead_jobs (
    buried_by text DEFAULT 'pgq-ops', created_at timestamptz, attempts bigint, claim_version bigint, claimed_by text,
    lease_until timestamptz, available_at timestamptz, status varchar, payload jsonb, id bigint
);
"""

_LEASE_FAIL = f"""
UPDATE demo_queue_jobs
SET status = CASE WHEN attempts + %(counted)s >= {CAP} THEN 'failed' ELSE 'pending' END,
    available_at = CASE WHEN attempts + %(counted)s >= {CAP} THEN available_at
                   ELSE %(beginning)s + make_interval(secs => %(retry_at)s) END,
    attempts = attempts + %(counted)s, lease_until = NULL, claimed_by = NULL
WHERE id = %(job)s AND claim_version = %(version)s AND status = 'running'
"""  # noqa: S608 (the only value is a number of this file)
# The article fences nothing: a worker that was given up can still end the job.
_STARTED_AT_FAIL = f"""
UPDATE jobs
SET status = CASE WHEN attempts >= {CAP} THEN 'dead' ELSE 'pending' END,
    run_after = CASE WHEN attempts >= {CAP} THEN run_after ELSE %(beginning)s + make_interval(secs => %(retry_at)s) END,
    started_at = NULL
WHERE id = %(job)s AND status = 'running'
"""  # noqa: S608 (the only value is a number of this file)


@dataclass(frozen=True, slots=True)
class Ground:
    """One job table: how it is made, configured and worked on.

    `lease` is the column the lease counts from, `lease_seconds` what is added to it there. `counted` is what the
    reaper itself adds to the attempts. `runway_seconds`: no row can become available later. `heartbeat` may be empty.
    """

    name: str
    table: str
    ddl: str
    toml: str
    claim: str
    heartbeat: str
    complete: str
    fail: str
    available: str = "available_at"
    lease: str = "lease_until"
    lease_seconds: int = 0
    dead: str = "failed"
    fenced: bool = True
    counted: int = 0
    dead_table: str = ""
    runway_seconds: int | None = None
    logged: bool = False


def _lease(
    name: str, ddl: str = article_tables.LEASE_TABLE + ";", *, dead_table: str = "", runway_seconds: int | None = None
) -> Ground:
    return Ground(
        name,
        "demo_queue_jobs",
        ddl + (_DEAD_JOBS if dead_table else ""),
        _LEASE + (f'dead_letter_table = "public.{dead_table}"\n' if dead_table else ""),
        article_tables.LEASE_CLAIM,
        article_tables.LEASE_HEARTBEAT,
        article_tables.LEASE_COMPLETE,
        _LEASE_FAIL,
        dead_table=dead_table,
        runway_seconds=runway_seconds,
    )


GROUNDS = (
    replace(_lease("lease"), logged=True),
    replace(
        _lease("lease-counted-at-the-reap"),
        toml=_LEASE + 'attempts_counted_at = "reap"\n',
        claim=article_tables.LEASE_CLAIM.replace("    attempts = attempts + 1,\n", ""),
        counted=1,
    ),
    Ground(
        "started-at",
        "jobs",
        article_tables.STARTED_AT_TABLE,
        _STARTED_AT,
        article_tables.STARTED_AT_CLAIM.replace(
            "started_at = now()", "started_at = now() + make_interval(secs => %(offset)s)"
        ),
        "",
        article_tables.STARTED_AT_COMPLETE,
        _STARTED_AT_FAIL,
        available="run_after",
        lease="started_at",
        lease_seconds=300,
        dead="dead",
        fenced=False,
        logged=True,
    ),
    replace(_lease("partitioned-by-time", _BY_TIME, runway_seconds=RUNWAY_SECONDS), logged=True),
    _lease("partitioned-by-id", _BY_ID),
    replace(_lease("dead-letter-table", dead_table="dead_jobs"), logged=True),
    replace(_lease("partitioned-by-id-with-dead-letter-table", _BY_ID, dead_table="dead_jobs"), logged=True),
    _lease(
        "partitioned-by-time-with-dead-letter-table", _BY_TIME, dead_table="dead_jobs", runway_seconds=RUNWAY_SECONDS
    ),
)
