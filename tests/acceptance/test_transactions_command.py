"""`pgq-ops transactions` as it is run: what it lists, what it asks, what it ends, and how it ends itself."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import PROGRAM, environment, run
from tests.support.sessions import is_there, opened, pid, transaction_of, waiting
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    import psycopg

    from tests.support.database import Database
    from tests.support.roles import Roles

STATEMENT = "UPDATE t SET id = id /* a\n  secret */"


class Ground:
    """A table that a report holds a row of, on which a worker waits."""

    def __init__(self, database: Database, role: str, folder: Path) -> None:
        self.database, self.role, self.folder = database, role, folder
        database.execute("CREATE TABLE t (id int PRIMARY KEY)")
        database.execute("INSERT INTO t VALUES (1)")
        database.execute(f'GRANT ALL ON t TO "{role}"')
        self.report = opened(database, "report-job", STATEMENT, user=role)
        self.worker = waiting(database, "worker-1", STATEMENT, user=role)
        self.session = transaction_of(database, self.report).session

    def run(self, *arguments: str, role: str | None = None) -> subprocess.CompletedProcess[str]:
        dsn = self.database.dsn if role is None else self.database.dsn_as(role)
        return run("transactions", *arguments, cwd=self.folder, variables={"PGQ_OPS_DSN": dsn})

    def terminal(self, *arguments: str) -> Terminal:
        command = [PROGRAM, "transactions", *arguments]
        return Terminal(command, self.folder, environment(PGQ_OPS_DSN=self.database.dsn))

    def there(self, session: psycopg.Connection[Any]) -> bool:
        return is_there(self.database, pid(session))


@pytest.fixture
def ground(database: Database, make_role: Roles, tmp_path: Path) -> Ground:
    return Ground(database, make_role("bi"), tmp_path)


def ended(result: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    return [(one["session"], one["outcome"]) for one in json.loads(result.stdout)["sessions"]]


def test_the_list_says_who_since_when_what_is_held_and_who_is_blocked(ground: Ground) -> None:
    result = ground.run("list")
    assert (result.returncode, result.stderr) == (0, "")
    assert "secret" not in result.stdout
    first, _, head, one, whose, blocks, other, others, waits = result.stdout.rstrip("\n").split("\n")
    assert re.fullmatch(rf"2 transactions are open in {ground.database.name}, the longest for \d+s", first)
    assert head.split() == ["session", "open", "idle", "vacuum", "blocks", "state"]
    assert re.fullmatch(rf"{re.escape(ground.session)} +\d+s +\d+s  held +1  idle in transaction", one)
    assert re.fullmatch(rf"  report-job, user {ground.role}(, from \S+)?", whose)
    assert blocks == f"  blocks {pid(ground.worker)} (worker-1)"
    assert re.fullmatch(rf"{pid(ground.worker)}@\S+ +\d+s +-  held +-  active", other)
    assert others.startswith("  worker-1, user ")
    behind = rf"  waits \d+s for a row of public\.t \(ShareLock\) behind {pid(ground.report)} \(report-job\)"
    assert re.fullmatch(behind, waits)
    assert all(len(line) <= 80 for line in (head, one, other))


def test_statements_are_shown_only_where_they_are_asked_for(ground: Ground) -> None:
    shown = ground.run("list", "--queries").stdout
    assert "\n  UPDATE t SET id = id /* a secret */\n" in shown
    assert json.loads(ground.run("list", "--json", "--queries").stdout)["transactions"][0]["query"] == STATEMENT


def test_the_document_has_the_same_as_plain_values(ground: Ground) -> None:
    printed = ground.run("list", "--json").stdout
    assert "secret" not in printed
    document = json.loads(printed)
    assert (document["database"], document["visible"]) == (ground.database.name, True)
    report, worker = document["transactions"]
    assert (report["session"], report["pid"]) == (ground.session, pid(ground.report))
    assert (report["user"], report["application_name"]) == (ground.role, "report-job")
    assert (report["state"], report["holds_vacuum"], report["superuser"]) == ("idle in transaction", True, False)
    assert (report["blocks"], worker["blocks"]) == ([pid(ground.worker)], [])
    waits = worker["waits"]
    assert (report["waits"], waits["for"], waits["mode"]) == (None, "a row of public.t", "ShareLock")
    assert (waits["behind"], waits["seconds"] >= 0, document["prepared"]) == ([pid(ground.report)], True, [])
    assert report["seconds"] >= report["idle_seconds"] >= 0
    assert worker["idle_seconds"] is None
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", report["started_at"])
    assert report["remedy"] == f"pgq-ops transactions end --yes {ground.session}"


def test_a_prepared_transaction_is_listed_with_whom_it_blocks_and_how_it_ends(ground: Ground) -> None:
    if not int(ground.database.value("SHOW max_prepared_transactions")):
        pytest.skip("this server takes no prepared transactions")
    ground.report.execute("ROLLBACK")
    ground.worker.close()
    opened(ground.database, "coordinator", STATEMENT, user=ground.role).execute("PREPARE TRANSACTION 'transfer-17'")
    waiting(ground.database, "worker-2", STATEMENT, user=ground.role)
    document = json.loads(ground.run("list", "--json").stdout)
    [worker], [prepared] = document["transactions"], document["prepared"]
    assert (worker["waits"]["behind"], prepared["blocks"]) == ([0], [worker["pid"]])
    assert (prepared["gid"], prepared["user"], prepared["xid_age"] >= 0) == ("transfer-17", ground.role, True)
    shown = ground.run("list").stdout
    assert re.search(r"\n  waits \d+s for a row of public\.t \(ShareLock\) behind a prepared transaction\n", shown)
    told = shown[shown.index("1 prepared transaction, of no session, holds vacuum back") :].splitlines()
    assert re.fullmatch(rf'"transfer-17" of user {ground.role}, prepared \d+s ago', told[1])
    assert told[2:] == [
        f"  blocks {worker['pid']} (worker-2)",
        "  -- in its database; COMMIT PREPARED instead where its transaction manager has decided so",
        "  ROLLBACK PREPARED 'transfer-17';",
    ]
    ground.database.execute(told[-1].strip())
    assert json.loads(ground.run("list", "--json").stdout)["prepared"] == []


def test_where_nothing_is_open_the_list_says_so(database: Database, tmp_path: Path) -> None:
    result = run("transactions", "list", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stdout) == (0, f"no transaction of a client is open in {database.name}\n")


@pytest.mark.case("V8")
def test_a_role_that_sees_only_its_own_says_so_with_the_grant(ground: Ground, make_role: Roles) -> None:
    role = make_role("blind")
    result = ground.run("list", role=role)
    assert result.returncode == 0
    grant = f'GRANT pg_monitor TO "{role}";'
    assert result.stdout == f"role {role} sees its own sessions only; to see the others:\n{grant}\n\n"


@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_question_names_the_session_and_a_no_is_no_error(ground: Ground, answer: str) -> None:
    with ground.terminal("end", ground.session) as terminal:
        asked = terminal.until("[y/N] ")
        terminal.press(f"{answer}\n")
        code, told = terminal.ended()
    assert f"End session {ground.session} (report-job, user {ground.role}), idle in transaction" in asked
    assert "Its work is rolled back." in asked
    assert code == 0
    assert (f"ended session {ground.session}" if answer == "y" else "nothing was changed") in told
    assert ground.there(ground.report) == (answer == "n")


def test_without_a_terminal_and_yes_nothing_is_ended(ground: Ground) -> None:
    result = ground.run("end", ground.session)
    assert (result.returncode, result.stdout) == (2, "")
    assert "add --yes to act, or --dry-run" in result.stderr
    assert ground.there(ground.report)


def test_a_dry_run_has_the_same_shape_and_ends_nobody(ground: Ground) -> None:
    planned = ground.run("end", "--dry-run", "--json", ground.session)
    assert (planned.returncode, ended(planned)) == (0, [(ground.session, "ended")])
    assert json.loads(planned.stdout)["dry_run"] is True
    assert ground.there(ground.report)
    done = ground.run("end", "--yes", "--json", ground.session)
    assert (done.returncode, done.stderr, ended(done)) == (0, "", [(ground.session, "ended")])
    assert json.loads(done.stdout).keys() | {"dry_run"} == json.loads(planned.stdout).keys()
    assert not ground.there(ground.report)


def test_one_whose_transaction_is_over_is_left_alone_and_no_failure(ground: Ground) -> None:
    ground.report.commit()
    ground.report.execute("SELECT 1")
    with ground.terminal("end", ground.session) as terminal:  # and there is nothing to ask
        code, told = terminal.ended()
    assert (code, told.strip()) == (0, f"{ground.session}: that transaction is over; nothing was ended")
    assert ground.there(ground.report)


def test_several_are_ended_at_once_each_once(ground: Ground) -> None:
    web = opened(ground.database, "web", "SELECT FROM t", user=ground.role)
    other = transaction_of(ground.database, web).session
    result = ground.run("end", "--yes", "--json", ground.session, "1@1.5", other, other)
    assert result.returncode == 0
    assert ended(result) == [(ground.session, "ended"), ("1@1.5", "gone"), (other, "ended")]
    assert not ground.there(ground.report)
    assert not ground.there(web)


def test_a_superuser_s_session_is_refused_and_the_others_are_ended(ground: Ground) -> None:
    protected = opened(ground.database, "dba", "SELECT 1")
    session = transaction_of(ground.database, protected).session
    result = ground.run("end", "--yes", "--json", session, ground.session)
    assert result.returncode == 2
    assert ended(result) == [(session, "refused"), (ground.session, "ended")]
    assert "was not ended: its role is a superuser, whose sessions pgq-ops never ends" in result.stderr
    assert ground.there(protected)


def test_what_the_role_may_not_do_is_told_with_the_grant(ground: Ground, make_role: Roles) -> None:
    role = make_role("ops", member_of=("pg_monitor",))
    result = ground.run("end", "--yes", ground.session, role=role)
    assert (result.returncode, result.stdout) == (3, "")
    assert (
        f'was not ended: role {role} may not end other roles\' sessions\n  GRANT pg_signal_backend TO "{role}";'
        in result.stderr
    )
    assert ground.there(ground.report)


def test_what_is_no_session_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    result = run("transactions", "end", "4242", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert '"4242" is no PID@START, such as 4242@1764518400.123456' in result.stderr


def test_a_database_that_cannot_be_reached_is_told_with_exit_code_3(tmp_path: Path) -> None:
    nowhere = {"PGQ_OPS_DSN": "host=127.0.0.1 port=1 connect_timeout=2"}
    result = run("transactions", "end", "--yes", "1@1.5", cwd=tmp_path, variables=nowhere)
    assert (result.returncode, result.stdout) == (3, "")
    assert "Traceback" not in result.stderr
