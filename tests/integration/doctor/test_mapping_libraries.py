"""`doctor` and `inspect` on the fresh schemas of well-known libraries: no crash, and no false alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.doctor_lines import lines
from pgq_ops.cli.doctor_report import examine
from tests.support.command import run
from tests.support.doctor_points import counted
from tests.support.inspection import loaded, looked
from tests.support.library_tables import GRAPHILE_WORKER, LIBRARIES, PGQUEUER, PROCRASTINATE

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.cli.doctor_report import Examined
    from tests.support.database import Database
    from tests.support.library_tables import Library
    from tests.support.roles import Roles

# What is true of each, and worth no more than a remark.
REMARKS = {
    PROCRASTINATE: {"no-version", "outgoing-foreign-keys", "delete-cascades"},
    PGQUEUER: {"no-version", "heartbeats-not-hot"},
    GRAPHILE_WORKER: {"no-version", "no-running-index"},
}
each_library = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)


# PostgreSQL 14 counts what was written up to half a second later.
ALL_COUNTED = "SELECT bool_and(n_tup_ins > 0 OR pg_relation_size(relid) = 0) FROM pg_stat_user_tables"


def examined(database: Database, folder: Path, library: Library) -> Examined:
    report = examine(loaded(folder, library.mapping, database.dsn), ())
    assert report.failure() is None
    assert lines(report, 80, everything=True)
    [table] = report.tables
    return table


@each_library
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_nothing_is_called_wrong_that_is_not(
    database: Database,
    tmp_path: Path,
    library: Library,
    used: bool,  # noqa: FBT001
) -> None:
    database.execute(library.schema)
    # A warning that is true of the tests' server.
    database.execute(f"ALTER DATABASE \"{database.name}\" SET idle_in_transaction_session_timeout = '1 min'")
    if used:
        counted(database, library.jobs, ALL_COUNTED)
    table = examined(database, tmp_path, library)
    # So the tests' server runs; and PostgreSQL 14 gets no more fixes.
    of_the_server = {"fsync-off", "server-version"}
    found = {one.id: str(one.severity) for one in table.findings if one.id not in of_the_server}
    assert set(found) == REMARKS[library]
    assert set(found.values()) == {"info"}
    [seen] = looked(tmp_path, library.mapping, database.dsn).tables
    assert {finding.id for finding in seen.findings} <= REMARKS[library]


@each_library
def test_whoever_may_only_look_gets_the_same_answers(
    database: Database, make_role: Roles, tmp_path: Path, library: Library
) -> None:
    database.execute(library.schema)
    counted(database, library.jobs, ALL_COUNTED)
    mine = examined(database, tmp_path, library)
    observer = make_role("observer", member_of=("pg_monitor",))
    statements = run("grants", observer, "--sql", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn}).stdout
    database.execute(statements)
    if library is PROCRASTINATE:  # what its mapping reads besides
        database.execute(f'GRANT SELECT ON procrastinate_workers TO "{observer}"')
    report = examine(loaded(tmp_path, library.mapping, database.dsn_as(observer)), ())
    if library is GRAPHILE_WORKER:  # its row-level security hides everything from everybody else
        assert "row-level security" in str(report.failure())
        return
    [theirs] = report.tables
    assert [one.verdict.outcome for one in theirs.judged] == [one.verdict.outcome for one in mine.judged]
