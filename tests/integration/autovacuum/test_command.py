"""What `pgq-ops autovacuum` does and says, in this process: `tests/acceptance` runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli import autovacuum_lines, autovacuum_revert_lines
from pgq_ops.cli.autovacuum_report import Report, apply_tables, look
from pgq_ops.cli.autovacuum_reverting import Only, revert_tables
from pgq_ops.errors import ActionFailed, NotInstalled, NotPermitted, UsageError
from pgq_ops.schema.versions import install
from tests.support.binding import loaded_of
from tests.support.jobs import FIELD, create_field_table
from tests.support.storage import options

if TYPE_CHECKING:
    from pgq_ops.cli.autovacuum_reverting import Report as RevertReport
    from pgq_ops.config.load import LoadedConfig
    from tests.support.database import Database
    from tests.support.roles import Roles

BOTH = FIELD + FIELD.replace("job_tables.jobs", "job_tables.others").replace('table = "jobs"', 'table = "others"')


class Ground:
    """The tables `jobs` and `others`, described by a file without any `autovacuum` section."""

    def __init__(self, database: Database, *, schema: bool = True) -> None:
        self.database = database
        create_field_table(database)
        database.execute("CREATE TABLE others (LIKE jobs INCLUDING ALL)")
        if schema:
            install(database.connect())

    def loaded(self, role: str | None = None) -> LoadedConfig:
        return loaded_of(BOTH, self.database.dsn if role is None else self.database.dsn_as(role))

    def plan(self, *names: str, role: str | None = None, acting: bool = False) -> Report:
        return look(self.loaded(role), names, seconds=0, acting=acting)

    def apply(self, *names: str, role: str | None = None) -> Report:
        return apply_tables(self.loaded(role), names, self.plan(*names, role=role))

    def revert(self, only: Only | None = None, *, dry_run: bool = False) -> RevertReport:
        return revert_tables(self.loaded(), (), only or Only(), dry_run=dry_run)

    def own(self, table: str = "jobs") -> set[str]:
        return set(options(self.database, table)[0] or [])


def said(report: Report) -> list[str]:
    return list(autovacuum_lines.lines(report))


def reverted(report: RevertReport) -> list[str]:
    return list(autovacuum_revert_lines.lines(report))


def test_what_is_kept_and_advised_is_told(database: Database) -> None:
    ground = Ground(database)
    database.execute(
        "ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0,"
        " toast.autovacuum_enabled = off)"
    )
    report = ground.plan("jobs")
    told = said(report)
    assert "    autovacuum_vacuum_threshold stays 100, not 500: the table's own is stricter: 100" in told
    at = next(
        number for number, line in enumerate(told) if line.startswith("    advice: autovacuum is off for the TOAST")
    )
    assert told[at + 1] == '      ALTER TABLE "public"."jobs" RESET (toast.autovacuum_enabled);'
    [leaf] = report.as_json()["job_tables"][0]["leaves"]
    kept = {"parameter": "autovacuum_vacuum_threshold", "value": "100", "wanted": "500"}
    assert leaf["kept"] == [kept | {"reason": "the table's own is stricter: 100"}]
    assert leaf["advice"][0]["statement"] == 'ALTER TABLE "public"."jobs" RESET (toast.autovacuum_enabled);'


def test_leaves_of_which_the_same_is_to_be_said_are_named_together(database: Database) -> None:
    ground = Ground(database)
    database.execute("DROP TABLE jobs; CREATE TABLE jobs (LIKE others) PARTITION BY RANGE (id)")
    for n in range(3):
        database.execute(f"CREATE TABLE jobs_{n} PARTITION OF jobs FOR VALUES FROM ({n}) TO ({n + 1})")
    database.execute("ALTER TABLE jobs_1 SET (autovacuum_enabled = off)")
    told = said(ground.plan("jobs"))
    assert [line for line in told if line.endswith("to set")] == [
        "  public.jobs_0, public.jobs_1, public.jobs_2: 7 parameters to set"
    ]
    assert [line for line in told if "RESET" in line] == [
        '      ALTER TABLE "public"."jobs_1" RESET (autovacuum_enabled);'
    ]


def test_what_is_to_be_applied_needs_the_schema_before_anything_is_measured(database: Database) -> None:
    ground = Ground(database, schema=False)
    with pytest.raises(NotInstalled, match="autovacuum apply needs version"):
        ground.plan(acting=True)
    with pytest.raises(NotInstalled, match="autovacuum revert needs version"):
        ground.revert(dry_run=True)
    dry = ground.plan("jobs").as_json()["job_tables"][0]
    assert (dry["changed"], dry["dry_run"], ground.own()) == (1, True, set())


def test_once_applied_there_is_nothing_to_do(database: Database) -> None:
    ground = Ground(database)
    first = ground.apply()
    assert said(first)[1] == "  public.jobs: 7 parameters set"
    assert (first.parameters, first.failure()) == (14, None)
    document = first.as_json()["job_tables"]
    assert [(one["changed"], one["error"], "dry_run" in one) for one in document] == [(1, None, False)] * 2
    again = ground.apply()
    assert (again.parameters, again.failure()) == (0, None)
    assert [line for line in said(again) if "nothing to change" in line] == [
        "  public.jobs: nothing to change",
        "  public.others: nothing to change",
    ]


def test_revert_puts_back_one_parameter_one_table_or_all(database: Database) -> None:
    ground = Ground(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 9000)")
    ground.apply()
    applied = ground.own("others")
    dry = ground.revert(dry_run=True)
    assert autovacuum_revert_lines.question(dry) == (
        "Put 14 storage parameters of jobs (public.jobs), others (public.others) back?"
    )
    assert [(one["changed"], one["dry_run"]) for one in dry.as_json()["job_tables"]] == [(1, True)] * 2
    assert ground.own("others") == applied
    one = ground.revert(Only.of(["autovacuum_vacuum_threshold"], ["jobs"]))
    assert reverted(one) == [
        "jobs:",
        "  public.jobs: 1 parameter put back",
        "    autovacuum_vacuum_threshold = 9000 (500 before)",
        "others: nothing that pgq-ops set",
    ]
    assert ground.own("jobs") == applied - {"autovacuum_vacuum_threshold=500"} | {"autovacuum_vacuum_threshold=9000"}
    assert ground.own("others") == applied
    ground.revert(Only.of([], ["public.others"]))
    assert (len(ground.own("jobs")), ground.own("others")) == (7, set())
    database.execute("ALTER TABLE jobs SET (vacuum_truncate = on)")
    left = "    vacuum_truncate stays as somebody else set it: on (pgq-ops had set off)"
    assert left in reverted(ground.revert())
    assert ground.own("jobs") == {"autovacuum_vacuum_threshold=9000", "vacuum_truncate=on"}
    nothing = ground.revert(Only.of([], ["jbos"]))
    assert reverted(nothing)[-1] == "jbos: nothing that pgq-ops set"
    assert nothing.failure() is None


@pytest.mark.parametrize(
    ("agent", "section", "again"),
    [
        ("manage", 'mode = "apply"', True),
        ("observe", 'mode = "apply"', False),
        ("manage", 'mode = "plan"', False),
        ("manage", 'mode = "apply"\nenabled = false', False),
        ("manage", None, False),
    ],
)
def test_what_the_agent_would_set_again_is_told(
    database: Database,
    agent: str,
    section: str | None,
    again: bool,  # noqa: FBT001
) -> None:
    ground = Ground(database)
    ground.apply("jobs")
    toml = FIELD + f'[agent]\nmode = "{agent}"\n'
    toml += "" if section is None else f"[job_tables.jobs.autovacuum]\n{section}\n"
    report = revert_tables(loaded_of(toml, database.dsn), (), Only(), dry_run=True)
    told = '  an agent with this configuration sets them again: mode = "plan" in [job_tables.jobs.autovacuum] keeps it from that'
    assert (told in reverted(report)) is again
    assert report.as_json()["job_tables"][0]["set_again"] is again


def test_a_parameter_that_pgq_ops_never_sets_is_mistyped(database: Database) -> None:
    del database
    for typed, hint in (
        ("fillfactor", "revert --dry-run` lists those that were set"),
        ("vacuum_truncat", 'did you mean "vacuum_truncate"?'),
    ):
        with pytest.raises(UsageError, match="no storage parameter that pgq-ops sets") as raised:
            Only.of([typed], [])
        assert hint in str(raised.value)


def test_what_the_role_may_not_change_is_told_with_what_would_permit_it(database: Database, make_role: Roles) -> None:
    ground = Ground(database)
    role, owner = make_role("tuner"), make_role("owner", "NOLOGIN")
    database.execute(f'GRANT SELECT ON jobs, others TO "{role}"')
    database.execute(f'GRANT USAGE ON SCHEMA pgq_ops TO "{role}"')
    database.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA pgq_ops TO "{role}"')
    database.execute(f'ALTER TABLE jobs OWNER TO "{owner}"')
    report = ground.apply("jobs", role=role)
    failure = report.failure()
    assert isinstance(failure, NotPermitted)
    assert f"jobs: public.jobs was not changed: role {role} may not change it: its owner is {owner}" in str(failure)
    assert f'GRANT "{owner}" TO "{role}"' in str(failure)
    assert "not permitted" in said(report)[1]
    database.execute(f'ALTER TABLE others OWNER TO "{role}"')
    part = ground.apply(role=role)
    assert [one.result.parameters for one in part.tables if one.result is not None] == [0, 7]
    assert isinstance(part.failure(), NotPermitted)


def test_a_change_that_the_server_refuses_is_a_failed_action(database: Database) -> None:
    ground = Ground(database)
    database.execute("""
        CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no change today'; END $$;
        CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse()
    """)
    report = ground.apply("jobs")
    assert "refused by the server: no change today" in said(report)[1]
    assert isinstance(report.failure(), ActionFailed)
    assert "ALTER TABLE ONLY" in str(report.failure())


def test_a_table_that_is_locked_is_busy_and_no_failure(database: Database) -> None:
    ground = Ground(database)
    other = database.connect(autocommit=False)
    other.execute("LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE")
    report = ground.apply()
    assert report.failure() is None
    assert said(report)[1].startswith("  public.jobs: busy, for another time: ")
    assert [one["busy"] for one in report.as_json()["job_tables"]] == [1, 0]
    assert (ground.own("jobs"), len(ground.own("others"))) == (set(), 7)
