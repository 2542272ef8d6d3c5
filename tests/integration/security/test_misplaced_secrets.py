"""A password in the wrong place: a setting or variable that is something else, or that nobody can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import run_inside

TOML = """
[job_tables.jobs]
table = "public.jobs"
preset = "lease"
[job_tables.jobs.reaper]
"""
# The password is short and plain here, as those are that stand in the wrong place.
MISPLACED = "postgresql://u:hunter2@db/app"
WRONG = (
    f'dsn = "{MISPLACED}"\n{TOML}',
    f'database = "{MISPLACED}"\n{TOML}',
    f'{TOML}[database]\ndsn2 = "{MISPLACED}"',
    f'{TOML}[database]\ndsn = ["{MISPLACED}"]',
    f'{TOML}[database]\ndsn = {{ a = "{MISPLACED}" }}',
    f'{TOML}[database]\nowner_role = "{MISPLACED}"',
    f'{TOML}[database]\ntimezone = "{MISPLACED}"',
    f'{TOML}[database]\n"{MISPLACED}" = 1',
    f'{TOML}[database."{MISPLACED}"]\nx = 1',
    f'{TOML}[agent]\nlisten = "{MISPLACED}"',
    f'{TOML}[agent]\nmode = "{MISPLACED}"',
    f'{TOML}[agent]\ncollect_every = "{MISPLACED}"',
    f'{TOML}[job_tables.jobs.states]\ndead = "{MISPLACED}"',
    f'{TOML}[job_tables.jobs.states]\ndead = ["{MISPLACED}"]\ndone = ["{MISPLACED}"]',
    f'{TOML}[job_tables.jobs.columns]\nid = "{MISPLACED}"',
    f"{TOML}[job_tables.jobs.columns]\nkind = {{ sql = \"'{MISPLACED}'\" }}",
    f'{TOML}[job_tables.jobs.claim]\norder = ["{MISPLACED}"]',
    f'{TOML}max_attempts = "{MISPLACED}"',
    f'{TOML}dead_letter_table = "{MISPLACED}"',
    f'{TOML}[job_tables.jobs.retention]\narchive = "{MISPLACED}"',
    f'{TOML}[job_tables.jobs.retention]\narchive = {{ command = "PGPASSWORD=hunter2 psql" }}',
    f'{TOML}[job_tables.jobs.retention]\narchive = {{ command = "curl -u me:hunter2 -T - x" }}',
    f'{TOML}[transactions]\nend_only = ["{MISPLACED}"]',
    TOML.replace("public.jobs", MISPLACED),
    TOML.replace('"lease"', f'"{MISPLACED}"'),
)


@pytest.mark.case("C2")
@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_connection_string_in_the_wrong_place_is_not_repeated_either(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DEBUG", "1")
    monkeypatch.setenv("PGQ_OPS_DSN", "host=127.0.0.1 port=1")
    Path("pgq-ops.toml").write_text(text, encoding="utf-8")
    for command in (
        ["config", "check"],
        ["config", "check", "--json"],
        ["config", "show"],
        ["config", "show", "--json"],
    ):
        run_inside([*command, *(["--offline"] if command[1] == "check" else [])])
        output = "".join(capfd.readouterr())
        assert output
        assert "hunter2" not in output
        assert "Traceback" not in output


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    "variables",
    [
        {"PGQ_OPS_CONFIG": MISPLACED},
        {"PGQ_OPS_AGENT__LISTEN": MISPLACED},
        {"PGQ_OPS_DATABASE__DSN2": MISPLACED},
        {"PGQ_OPS_DATABASE__DSN__X": MISPLACED},
        {"PGQ_OPS_DATABASE__DSN": "host=db password='hunter2"},
        {"PGHOST": MISPLACED},
        {"PGSSLMODE": MISPLACED},
        {"PGQ_OPS_DSN": "host=db password=hunter2\udcff"},
        {"PGQ_OPS_DATABASE__OWNER_ROLE": "hunter2\udcff"},
        {"PGQ_OPS_DSN": "postgresql://u:hunter2%ff@db/app"},
        {"PGQ_OPS_DSN": "postgresql://u:hunter2%zz@db/app"},
        {"PGQ_OPS_DSN": "host=127.0.0.1 port=1", "PGPASSWORD": "hunter2\udcff"},
    ],
    ids=str,
)
def test_a_variable_that_is_wrong_is_told_without_its_value(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    variables: dict[str, str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGQ_OPS_DEBUG", "1")
    Path("pgq-ops.toml").write_text(TOML, encoding="utf-8")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for command in (["config", "check"], ["config", "check", "--json"], ["inspect"], ["inspect", "--json"]):
        assert run_inside(command) in (2, 3)
        output = "".join(capfd.readouterr())
        assert "hunter2" not in output
        assert "Traceback" not in output
        assert "internal error" not in output
