"""One forgotten transaction beside several job tables: one warning on the screen, in JSON one for each table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import opened, transaction_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

TOML = (
    '[transactions]\nwarn_after = "1ms"\n[job_tables.emails]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
    '[job_tables.others]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
)


@pytest.mark.parametrize("command", ["inspect", "doctor"])
def test_a_session_is_told_once_on_the_screen_and_per_table_in_json(
    database: Database, make_role: Roles, tmp_path: Path, command: str
) -> None:
    database.execute(LEASE_TABLE)
    create_field_table(database)
    (tmp_path / "pgq-ops.toml").write_text(TOML + FIELD)
    report = opened(database, "report-job", "SELECT txid_current()", user=make_role("bi"))
    ending = f"pgq-ops transactions end --yes {transaction_of(database, report).session}"
    variables = {"PGQ_OPS_DSN": database.dsn}
    shown = run(command, cwd=tmp_path, variables=variables).stdout
    assert shown.count(ending) == 1, shown
    assert shown.count("idle-in-transaction: as told of emails") == 2
    found = json.loads(run(command, "--json", cwd=tmp_path, variables=variables).stdout)["job_tables"]
    remedies = [one["remedy"] for table in found for one in table["findings"] if one["id"] == "idle-in-transaction"]
    assert remedies == [ending] * 3
