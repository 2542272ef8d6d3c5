"""`why` of a job whose row somebody holds locked: who that is, whatever the job's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.jobs import create_field_table
from tests.support.why import both

if TYPE_CHECKING:
    from tests.support.database import Database


@pytest.mark.parametrize(
    ("status", "run_at", "state", "meaning"),
    [
        ("pending", "1 h", "scheduled", "it cannot be changed until that ends"),
        ("pending", "-1 h", "ready", "claims pass it over until that ends"),
        ("running", "-1 h", "running", "the reaper passes it over until that ends"),
        ("done", "-1 h", "done", "it cannot be changed until that ends"),
        ("dead", "-1 h", "dead", "a retry passes it over until that ends"),
        ("odd", "-1 h", "unknown", "it cannot be changed until that ends"),
    ],
)
def test_who_holds_its_row_locked_is_told_in_every_state(
    database: Database, status: str, run_at: str, state: str, meaning: str
) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, run_at) VALUES (%s, now() + %s::interval)", [status, run_at])
    assert both(database, 1)[0]["locked_by"] is None
    holder = database.connect(autocommit=False, application_name="night job")
    holder.execute("SELECT FROM jobs WHERE id = 1 FOR UPDATE")
    seen, text = both(database, 1)
    assert seen["state"] == state
    assert seen["locked_by"]["pid"] == holder.info.backend_pid
    assert f"Its row is locked by session {holder.info.backend_pid} (night job" in text
    assert meaning in text


def test_a_prepared_transaction_that_holds_it_comes_with_its_caution(database: Database) -> None:
    if not int(database.value("SHOW max_prepared_transactions")):
        pytest.skip("this server takes no prepared transactions")
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending')")
    with database.connect(autocommit=False) as forgotten:
        forgotten.execute("SELECT FROM jobs WHERE id = 1 FOR UPDATE")
        forgotten.execute("PREPARE TRANSACTION 'transfer-17'")
    seen, text = both(database, 1)
    assert seen["locked_by"]["remedy"].splitlines() == [
        "-- in its database; COMMIT PREPARED instead where its transaction manager has decided so",
        "ROLLBACK PREPARED 'transfer-17';",
    ]
    assert "COMMIT PREPARED instead" in text
    database.execute("ROLLBACK PREPARED 'transfer-17'")
