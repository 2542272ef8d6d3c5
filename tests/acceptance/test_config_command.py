"""`pgq-ops config` and `pgq-ops metrics`, and that no secret reaches what any command says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict
from typer.main import get_command

from pgq_ops import logs
from pgq_ops.cli.app import app
from pgq_ops.cli.ending import exit_code
from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

EMAILS = '[job_tables.emails]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
NO_SERVER = "postgresql://u@127.0.0.1:1/app"


def write(folder: Path, text: str) -> None:
    (folder / "pgq-ops.toml").write_text(text, encoding="utf-8")


def test_a_good_configuration_is_told_table_by_table(database: Database, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    write(tmp_path, EMAILS)
    result = run("config", "check", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:2] == ["pgq-ops.toml: valid", "emails: public.demo_queue_jobs bound (preset lease)"]


def test_what_is_wrong_with_one_table_is_told_beside_the_good_one(database: Database, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    more = '[job_tables.videos]\ntable = "demo_queue_job"\npreset = "lease"\n'
    write(tmp_path, EMAILS + more)
    variables = {"PGQ_OPS_DSN": database.dsn}
    result = run("config", "check", cwd=tmp_path, variables=variables)
    assert result.returncode == 2
    assert result.stdout.startswith("pgq-ops.toml: read\nemails: public.demo_queue_jobs bound (preset lease)\n")
    assert "videos: demo_queue_job wrong (preset lease)\n" in result.stdout
    assert "job_tables.videos.table" in result.stderr
    assert "demo_queue_jobs" in result.stderr

    document = json.loads(run("config", "check", "--json", cwd=tmp_path, variables=variables).stdout)
    assert (document["valid"], document["database_checked"]) == (False, True)
    assert [(one["name"], len(one["problems"])) for one in document["job_tables"]] == [("emails", 0), ("videos", 1)]
    assert document["problems"][0]["key"] == "job_tables.videos.table"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agent]\nlistn = 1\n", 'pgq-ops.toml: agent.listn: there is no such setting (did you mean "listen"?)'),
        ('[agent]\nmode = "manage', "pgq-ops.toml: line 2"),
        ("", "is empty"),
        (f"{EMAILS}[job_tables.emails.reaper]\nevery = 10\n", "job_tables.emails.reaper.every"),
    ],
)
def test_a_broken_file_is_one_message_with_exit_code_2(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    for command in (["config", "show"], ["reap", "--yes"]):
        result = run(*command, cwd=tmp_path, variables={"PGQ_OPS_DSN": NO_SERVER})
        assert (result.returncode, result.stdout) == (2, "")
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    checked = run("config", "check", "--json", cwd=tmp_path)
    assert checked.returncode == 2
    assert json.loads(checked.stdout)["valid"] is False


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = run("config", "show", "--config", "missing.toml", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "missing.toml: there is no such file" in result.stderr


def test_an_unreachable_database_is_exit_code_3_and_offline_does_not_look(tmp_path: Path) -> None:
    write(tmp_path, EMAILS)
    variables = {"PGQ_OPS_DSN": NO_SERVER}
    for command in (
        ["config", "check"],
        ["metrics"],
        ["install", "--yes"],
        ["reap", "--yes"],
        ["grants", "x", "--sql"],
    ):
        result = run(*command, cwd=tmp_path, variables=variables)
        assert (result.returncode, result.stderr.startswith("Error: could not connect to the database:")) == (3, True)
    text = run("config", "check", cwd=tmp_path, variables=variables).stdout.splitlines()
    document = json.loads(run("config", "check", "--json", cwd=tmp_path, variables=variables).stdout)
    assert text == ["pgq-ops.toml: valid", "emails: demo_queue_jobs not looked at (preset lease)"]
    assert (document["valid"], document["database_checked"]) == (True, False)
    assert [one["name"] for one in document["job_tables"]] == ["emails"]
    [problem] = document["problems"]
    assert (problem["key"], problem["where"]) == ("database", "pgq-ops.toml")
    assert problem["what"].startswith("could not connect to the database:")
    assert "--offline" in problem["hint"]
    offline = run("config", "check", "--offline", cwd=tmp_path, variables=variables)
    assert (offline.returncode, offline.stderr) == (0, "")
    assert "emails: demo_queue_jobs not looked at (preset lease)" in offline.stdout


def test_a_port_that_is_no_number_may_be_a_slip_or_a_piece_of_the_password(tmp_path: Path) -> None:
    write(tmp_path, EMAILS)
    result = run("config", "check", cwd=tmp_path, variables={"PGQ_OPS_DSN": "host=db port=54x2 dbname=app"})
    assert result.returncode == 2
    assert "has a port that is no number: a slip of the pen, or a piece of the password" in result.stderr


def test_every_setting_is_shown_with_its_origin_and_its_secret_masked(tmp_path: Path) -> None:
    write(tmp_path, f'{EMAILS}[agent]\ncollect_every = "7s"\n')
    variables = {"PGQ_OPS_DSN": "postgresql://u:hunter2@db/app", "PGQ_OPS_AGENT__LISTEN": ":99"}
    shown = run("config", "show", cwd=tmp_path, variables=variables)
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    for line in (
        'database.dsn = "postgresql://u:***@db/app"  # environment PGQ_OPS_DSN',
        "database.direct_dsn = off  # default",
        'agent.listen = ":99"  # environment PGQ_OPS_AGENT__LISTEN',
        'agent.collect_every = "7s"  # file pgq-ops.toml',
        'job_tables.emails.columns.owner = "claimed_by"  # preset "lease"',
        'job_tables.emails.states.dead = ["failed"]  # preset "lease"',
    ):
        assert line in lines
    document = json.loads(run("config", "show", "--json", cwd=tmp_path, variables=variables).stdout)
    assert document["path"] == "pgq-ops.toml"
    assert document["config"]["database"]["dsn"] == "postgresql://u:***@db/app"
    assert document["origins"]["agent.collect_every"] == "file pgq-ops.toml"
    assert "hunter2" not in shown.stdout + json.dumps(document)


def test_metrics_are_printed_for_the_tables_asked_for(database: Database, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    database.execute("INSERT INTO demo_queue_jobs (payload) SELECT '{}' FROM generate_series(1, 3)")
    write(tmp_path, EMAILS + EMAILS.replace("emails", "mails"))
    variables = {"PGQ_OPS_DSN": database.dsn}
    result = run("metrics", "emails", cwd=tmp_path, variables=variables)
    assert (result.returncode, result.stderr) == (0, "")
    ready = f'pgqops_jobs{{database="{database.name}",job_table="emails",queue="default",state="ready"}} 3.0'
    assert ready in result.stdout.splitlines()
    assert 'job_table="mails"' not in result.stdout
    wrong = run("metrics", "email", cwd=tmp_path, variables=variables)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert 'did you mean "emails"?' in wrong.stderr


def test_what_a_role_may_not_read_is_told_with_the_grant(database: Database, make_role: Roles, tmp_path: Path) -> None:
    database.execute(LEASE_TABLE)
    write(tmp_path, EMAILS)
    role = make_role("stranger")
    for command in (["config", "check"], ["metrics"], ["reap", "--yes"]):
        result = run(*command, cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn_as(role)})
        assert result.returncode == 3
        assert "GRANT SELECT" in result.stderr
        assert "Traceback" not in result.stderr


# Every character of case C2; each piece can be told from all other output.
PIECES = [f"Zq{number}x" for number in range(10)]
PASSWORD = "".join(piece + mark for piece, mark in zip(PIECES, "@:#%/?&'\\ ", strict=True))
QUOTED = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
ENCODED = quote(PASSWORD, safe="")
COMMANDS = (["config", "check"], ["config", "show"], ["metrics"], ["reap", "--yes"], ["install", "--yes"])


def run_inside(arguments: list[str]) -> int:
    """Run the command in this process, as the installed one does: so many runs would take minutes otherwise."""
    try:
        return exit_code(lambda: get_command(app)(arguments, prog_name="pgq-ops"))
    finally:
        logs._secrets.clear()


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://u:{ENCODED}@127.0.0.1:1/app",
        f"host=127.0.0.1 port=1 user=u password='{QUOTED}'",
        f"postgresql://127.0.0.1:1/app?user=u&password={ENCODED}",
        f"postgresql://u:{PASSWORD}@127.0.0.1:1/app",
        f"host=127.0.0.1 port=1 user=u password={PASSWORD}",
        f"host=127.0.0.1 port=1 pasword='{QUOTED}'",
        f"postgresql://u:{ENCODED}@127.0.0.1:1/app?nonsense=1",
        PASSWORD,
    ],
)
@pytest.mark.parametrize("place", ["variable", "file", "direct"])
def test_a_secret_of_a_dsn_that_fails_is_in_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], dsn: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DEBUG", "1")
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", "1")
    if place == "variable":
        write(tmp_path, EMAILS)
        monkeypatch.setenv("PGQ_OPS_DSN", dsn)
    else:
        key = "dsn" if place == "file" else "direct_dsn"
        write(tmp_path, f"{EMAILS}[database]\n{key} = {json.dumps(dsn)}\n")
    for command in COMMANDS:
        code = run_inside(command)
        output = "".join(capfd.readouterr())
        assert code in ((0,) if command[-1] == "show" else (2, 3))
        assert [piece for piece in PIECES if piece in output] == []
        assert "Traceback" not in output


@pytest.mark.case("C2")
def test_a_wrong_or_odd_password_is_not_repeated_by_the_server_s_refusal_either(
    database: Database, make_role: Roles, tmp_path: Path
) -> None:
    write(tmp_path, EMAILS)
    server = conninfo_to_dict(database.dsn)
    role = make_role("odd")
    place = f"{server['host']}:{server['port']}/{database.name}"
    for variables in (
        {"PGQ_OPS_DSN": f"postgresql://{role}:{ENCODED}@{place}"},
        {"PGQ_OPS_DSN": f"postgresql://{role}@{place}", "PGPASSWORD": PASSWORD},
    ):
        for command in (["config", "check"], ["metrics"], ["install", "--yes"]):
            result = run(*command, cwd=tmp_path, variables=variables)
            assert result.returncode == 3
            assert "password authentication failed" in result.stderr
            assert [piece for piece in PIECES if piece in result.stdout + result.stderr] == []


@pytest.mark.case("C2")
def test_an_odd_password_that_is_right_works_in_each_form(database: Database, make_role: Roles, tmp_path: Path) -> None:
    server = conninfo_to_dict(database.dsn)
    role = make_role("odd")
    database.execute(f"ALTER ROLE {role} PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'")
    write(tmp_path, '[agent]\nmode = "observe"\n')
    place = f"{server['host']}:{server['port']}/{database.name}"
    for variables in (
        {"PGQ_OPS_DSN": f"postgresql://{role}:{ENCODED}@{place}"},
        {"PGQ_OPS_DSN": f"postgresql://{place}?user={role}&password={ENCODED}"},
        {"PGQ_OPS_DSN": f"postgresql://{role}@{place}", "PGPASSWORD": PASSWORD},
        {
            "PGQ_OPS_DSN": f"host={server['host']} port={server['port']} dbname={database.name} user={role}"
            f" password='{QUOTED}'"
        },
    ):
        result = run("config", "check", cwd=tmp_path, variables=variables)
        assert (result.returncode, result.stderr) == (0, "")


def test_a_reaper_that_may_not_write_is_told_with_the_grant_where_the_agent_would_reap(
    database: Database, make_role: Roles, tmp_path: Path
) -> None:
    database.execute(LEASE_TABLE)
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON demo_queue_jobs TO {role}")
    variables = {"PGQ_OPS_DSN": database.dsn_as(role)}
    managed = '[agent]\nmode = "manage"\n' + EMAILS + "[job_tables.emails.reaper]\n"
    write(tmp_path, managed)
    refused = run("config", "check", cwd=tmp_path, variables=variables)
    assert refused.returncode == 3
    assert 'GRANT UPDATE ("status", ' in refused.stderr
    assert "emails: public.demo_queue_jobs bound, but cannot be reaped" in refused.stdout
    document = json.loads(run("config", "check", "--json", cwd=tmp_path, variables=variables).stdout)
    assert "GRANT UPDATE" in document["job_tables"][0]["problems"][0]["hint"]

    for harmless in (
        EMAILS + "[job_tables.emails.reaper]\n",
        '[agent]\nmode = "manage"\n' + EMAILS,
        managed + "enabled = false\n",
    ):
        write(tmp_path, harmless)
        assert run("config", "check", cwd=tmp_path, variables=variables).returncode == 0
    write(tmp_path, managed)
    [grant] = [line.strip() for line in refused.stderr.splitlines() if line.strip().startswith("GRANT")]
    database.execute(grant)
    assert run("config", "check", cwd=tmp_path, variables=variables).returncode == 0
