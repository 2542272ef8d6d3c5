"""The password, wherever libpq and pgq-ops take one from, in nothing that anybody gets to see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgq_ops.schema.versions import install
from tests.support.agent import EXPIRED, JOBS, Agent, wait_until
from tests.support.inside import run_inside

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

# Every character of case C2, and letters beyond ASCII; each piece can be told from all other output.
PIECES = [f"Zq{number}x\u00fc" for number in range(12)]
PASSWORD = "".join(piece + mark for piece, mark in zip(PIECES, "@:#%/?&'\\ =,", strict=True))
SEEN = [piece for name in PIECES for piece in (name[:-1], quote(name), name)]
QUOTED = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
ENCODED = quote(PASSWORD, safe="")
# Only what a URI cannot hold is encoded, in small letters, as some libraries do it.
PARTLY = "".join(f"%{ord(mark):02x}" if mark in "@:/?#% " else mark for mark in PASSWORD)
TOML = """
[job_tables.jobs]
table = "public.jobs"
preset = "lease"
[job_tables.jobs.reaper]
"""
COMMANDS = (
    *(["config", "check"], ["config", "check", "--json"], ["config", "show"], ["config", "show", "--json"]),
    *(["inspect"], ["inspect", "--json"], ["metrics"], ["reap", "--dry-run"], ["reap", "--yes", "--json"]),
    *(["install", "--yes"], ["grants", "nobody", "--sql"], ["grants", "nobody", "--dry-run", "--json"]),
)


def seen_in(text: str) -> list[str]:
    """The pieces of the password that the text holds, in any of the ways to write them."""
    return [piece for piece in SEEN if piece in text or ascii(piece)[1:-1] in text]


def places(where: str, folder: Path) -> list[tuple[str, dict[str, str]]]:
    """Each way to say a password for a server (`where`: host, port, user, as keywords) as file text and environment."""
    keywords = conninfo_to_dict(where)
    server = f"{keywords['host']}:{keywords['port']}"
    user, name = keywords["user"], keywords.get("dbname", "app")
    uri = f"postgresql://{user}:{ENCODED}@{server}/{name}"
    pairs = f"{where} password='{QUOTED}'"
    passfile, services = folder / "pgpass", folder / "services"
    passfile.write_text("*:*:*:*:" + PASSWORD.replace("\\", "\\\\").replace(":", "\\:") + "\n", encoding="utf-8")
    passfile.chmod(0o600)
    service = "\n".join(f"{key}={value}" for key, value in keywords.items())
    services.write_text(f"[app]\n{service}\npassword={PASSWORD}\n", encoding="utf-8")
    dsns = [
        uri,
        pairs,
        f"postgresql://{user}:{PARTLY}@{server}/{name}",
        f"postgresql://{server}/{name}?user={user}&password={ENCODED}",
        f"{where} password=" + "".join(f"\\{mark}" if mark in "'\\ " else mark for mark in PASSWORD),
        f"{pairs} sslpassword='{QUOTED}'",
    ]
    return [
        *((f"[database]\ndsn = {json.dumps(dsn)}\n", {}) for dsn in dsns[:2]),
        *(("", {"PGQ_OPS_DSN": dsn}) for dsn in dsns),
        ("", {"PGQ_OPS_DATABASE__DSN": uri}),
        ("", {"pgq_ops_database__direct_dsn": pairs, "PGQ_OPS_DSN": where}),
        ("", {"PGQ_OPS_DSN": where, "PGPASSWORD": PASSWORD}),
        ("", {"PGQ_OPS_DSN": where, "PGPASSFILE": str(passfile)}),
        (f"[database]\ndsn = {json.dumps(f'{where} passfile={passfile}')}\n", {}),
        ("", {"PGQ_OPS_DSN": "service=app", "PGSERVICEFILE": str(services)}),
        ("", {"PGSERVICE": "app", "PGSERVICEFILE": str(services)}),
    ]


def outputs(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path, where: str
) -> list[tuple[str, int, str]]:
    """Every command with every place: what was run, its exit code, its output."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PGQ_OPS_DEBUG", "1")
    found = []
    for database, variables in places(where, folder):
        Path("pgq-ops.toml").write_text(TOML + database, encoding="utf-8")
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            for command in COMMANDS:
                code = run_inside(command)
                found.append((f"{' '.join(command)}: {variables} {database}", code, "".join(capfd.readouterr())))
    return found


@pytest.mark.case("C2")
def test_no_command_shows_the_password_of_a_server_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for what, code, output in outputs(monkeypatch, capfd, tmp_path, "host=127.0.0.1 port=1 user=u"):
        assert code == (0 if what.startswith("config show") else 3), (what, output)
        assert seen_in(output) == [], what
        assert "Traceback" not in output, what


@pytest.mark.case("C2")
def test_the_password_is_in_nothing_that_a_running_agent_writes_exports_or_stores(
    database: Database, make_role: Roles, tmp_path: Path
) -> None:
    database.execute(JOBS.format(name="jobs"))
    role = make_role("odd")
    database.execute(f"ALTER ROLE {role} PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'")
    database.execute(f"ALTER TABLE jobs OWNER TO {role}")
    with database.connect() as admin:
        install(admin)
    database.execute(f"GRANT USAGE ON SCHEMA pgq_ops TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA pgq_ops TO {role}")
    database.execute(EXPIRED.format(name="jobs"))
    keywords = conninfo_to_dict(database.dsn)
    dsn = f"postgresql://{role}:{ENCODED}@{keywords['host']}:{keywords['port']}/{database.name}?application_name={ENCODED}"
    with Agent(tmp_path, dsn) as agent:
        wait_until(lambda: agent.value("pgqops_reaped_total", 'outcome="requeued"') == 1, what=agent.log.read_text())
        sessions = database.rows("SELECT application_name, query FROM pg_stat_activity WHERE usename = %s", [role])
        assert {name for name, _ in sessions} <= {"pgq-ops/leader", "pgq-ops/probes"}
        # A constraint that refuses the next one, then a password that is no longer right.
        database.execute("ALTER TABLE jobs ADD CHECK (status <> 'pending') NOT VALID")
        database.execute(EXPIRED.format(name="jobs"))
        wait_until(lambda: database.value("SELECT count(*) FROM pgq_ops.task WHERE message <> ''"))
        database.execute(f"ALTER ROLE {role} PASSWORD 'another'")
        database.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [role])
        wait_until(lambda: "password authentication failed" in agent.log.read_text(), what="refused")
        pages = "".join(agent.get(path)[1] for path in ("/metrics", "/livez", "/readyz", "/"))
        arguments = Path(f"/proc/{agent.pid}/cmdline").read_text()
        log = agent.log.read_text()
    stored = database.rows("SELECT task::text FROM pgq_ops.task UNION ALL SELECT reap_log::text FROM pgq_ops.reap_log")
    assert len(stored) >= 2
    for seen in (pages, arguments, log, str(stored), str(sessions)):
        assert seen_in(seen) == []
