"""Functions and operators that somebody creates on the search path, each a better match than PostgreSQL's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema.versions import install
from tests.support.agent import wait_until
from tests.support.inside import run_inside

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

PACKAGE = Path(__file__).parents[3] / "pgq_ops"
TABLE = """
    CREATE TABLE jobs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb DEFAULT '{}', status text NOT NULL,
        available_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz, claimed_by text,
        claim_version bigint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz, error text, queue text
    ) PARTITION BY RANGE (id);
    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (1000);
    INSERT INTO jobs (status, attempts, lease_until, claimed_by, queue, error, finished_at) VALUES
        ('running', 1, now() - interval '1 minute', 'gone', 'a', NULL, NULL), ('pending', 0, NULL, NULL, 'b', NULL, NULL),
        ('running', 9, now() - interval '1 minute', 'gone', 'a', 'oh', NULL), ('failed', 5, NULL, 'w', 'a', 'no', now())
"""
TOML = """
[job_tables.emails]
table = "jobs"
preset = "lease"
[job_tables.emails.columns]
payload = "payload"
finished_at = "finished_at"
error = "error"
queue = "queue"
"""
# As PostgreSQL's own are, and for constants as they are written: a text, a number with a point, a small integer.
WRITTEN = {"name": "text", "regclass": "text", "double precision": "numeric", "bigint": "integer", "oid": "integer"}
OWN = """
    SELECT p.proname, ARRAY(SELECT format_type(t.type, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS t(type, place)
                            ORDER BY t.place),
           format_type(p.prorettype, NULL), p.proargnames
    FROM pg_proc AS p
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND NOT p.proretset AND p.provariadic = 0
      AND p.proname = ANY (%s)
"""
TRAP = "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
# Each operator for each pair of types for which PostgreSQL has none, and would look for the next best.
OPERATORS = """
DO $traps$
DECLARE
    a text; b text; name text; answer text;
    kinds text[] := '{oid,smallint,integer,bigint,numeric,double precision,text,name,varchar,regclass,timestamptz,interval,xid,'
        'jsonb}';
BEGIN
    FOREACH a IN ARRAY kinds LOOP FOREACH b IN ARRAY kinds LOOP
        FOREACH answer IN ARRAY '{boolean,numeric,interval,text}'::text[] LOOP
            EXECUTE format('CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', 'for_' || answer, a, b,
                           answer, 'BEGIN RETURN NULL; END');
        END LOOP;
        FOREACH name IN ARRAY '{=,<>,<,>,<=,>=,~~,+,-,*,/,||,->>,#>>}'::text[] LOOP
            CONTINUE WHEN EXISTS (SELECT FROM pg_operator WHERE oprname = name AND oprleft = a::regtype AND oprright = b::regtype);
            answer := CASE WHEN name !~ '^([-+*/]|\\|\\||->|->>|#>>)$' THEN 'boolean' WHEN name !~ '^[-+*/]$' THEN 'text'
                           WHEN a || b ~ 'time|interval' THEN 'interval' ELSE 'numeric' END;
            EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)', name, a, b,
                           'for_' || answer);
        END LOOP;
    END LOOP; END LOOP;
END $traps$
"""
COMMANDS = [
    "config check",
    "inspect",
    "inspect --json",
    "doctor",
    "why 1",
    "why 4 --json",
    "metrics",
    "findings",
    "reap --dry-run",
    "reap --yes",
    "dead list",
    "dead show 4",
    "dead export --whole-row --output dead.jsonl",
    "dead retry --id 4 --dry-run",
    "dead retry --id 4 --yes",
    "dead purge --older-than 1d --dry-run",
    "transactions list",
    "transactions end --dry-run 1@1.0",
    "grants {role} --sql",
    "grants {role} --yes",
]


def names_in_use() -> list[str]:
    """The functions that the package calls anywhere."""
    texts = (path.read_text(encoding="utf-8") for pattern in ("*.sql", "*.py") for path in PACKAGE.rglob(pattern))
    return sorted({name for text in texts for name in re.findall(r"\b([a-z_]\w*)\(", text)})


def set_traps(database: Database) -> None:
    """Each function that the package calls, in schema public, with its own types and with those of constants."""
    made: set[str] = set()
    for name, types, answer, given in database.rows(OWN, [names_in_use()]):
        for kinds in (types, [WRITTEN.get(kind, kind) for kind in types]):
            places = ", ".join(f'"{part}" {kind}' for part, kind in zip(given or "abcdefgh", kinds, strict=False))
            signature = f"{name}({', '.join(kinds)})"
            if signature not in made and not re.search(r"\bany|cstring|internal|void", f"{signature} {answer}"):
                made.add(signature)
                database.execute(f'CREATE FUNCTION public."{name}"({places}) RETURNS {answer} {TRAP}')
    database.execute(f"CREATE FUNCTION public.make_interval(secs numeric) RETURNS interval {TRAP}")
    database.execute(f"CREATE FUNCTION public.trap() RETURNS text {TRAP}")


@pytest.fixture(params=["public", "public, pg_catalog"])
def trapped(
    request: pytest.FixtureRequest, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Database:
    """A database full of traps, that calls of functions are counted in, and the configuration for it."""
    database.execute(TABLE)
    install(database.connect())
    set_traps(database)
    if request.param == "public":
        database.execute(OPERATORS)
    database.execute(f'ALTER DATABASE "{database.name}" SET search_path = {request.param}')
    database.execute(f"ALTER DATABASE \"{database.name}\" SET track_functions = 'all'")
    (tmp_path / "pgq-ops.toml").write_text(TOML, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DSN", database.dsn)
    return database


def test_no_command_of_a_superuser_calls_a_function_or_operator_of_somebody_elses(
    trapped: Database, make_role: Roles, capfd: pytest.CaptureFixture[str]
) -> None:
    role = make_role("agent")
    codes = {command: run_inside(command.format(role=role).split()) for command in COMMANDS}
    said = capfd.readouterr()
    # What has been called is counted by the time that a later call is.
    canary = trapped.connect()
    canary.execute("SELECT public.trap()")
    canary.close()
    wait_until(lambda: "trap()" in called(trapped), what="calls are counted")
    assert called(trapped) == {"trap()"}
    assert set(codes.values()) <= {0, 1}, (codes, said.err)


def called(database: Database) -> set[str]:
    """The traps that somebody has stepped into."""
    counted = database.rows(
        "SELECT pg_catalog.pg_stat_clear_snapshot() IS NULL, funcid, calls FROM pg_stat_user_functions"
    )
    named = "SELECT oid, proname, pg_catalog.pg_get_function_identity_arguments(oid) FROM pg_catalog.pg_proc"
    names = {oid: f"{name}({arguments})" for oid, name, arguments in database.rows(named)}
    return {names[oid] for _, oid, calls in counted if calls}
