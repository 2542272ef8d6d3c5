from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.load import load
from pgq_ops.config.show import document, rows

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load

TEXT = """
columns.kind = { column = "k", unit = "ms" }
columns.queue = { sql = "lower(q)" }
states.done = { where = "d", set = { d = "true" } }
claim.order = ["priority desc", '"Created At"', "id"]
queues.video.lease.grace = "1h30m15s"
retention.archive = { command = "gzip" }
[database]
dsn = "postgresql://u:hunter2@db/app"
[transactions]
warn_after = "1500ms"
end_only = [{ user = "bi" }]
"""


def test_rows_hold_each_value_as_the_file_would_with_its_origin(load_text: Load, emails: str) -> None:
    found = {row.key: (row.value, row.origin) for row in rows(load_text(emails + TEXT))}
    table, ours = "job_tables.emails", "file pgq-ops.toml"
    assert found[f"{table}.columns.id"] == ("id", 'preset "lease"')
    assert found[f"{table}.columns.kind"] == ({"column": "k", "unit": "ms"}, ours)
    assert found[f"{table}.columns.queue"] == ({"sql": "lower(q)"}, ours)
    assert found[f"{table}.columns.payload"] == (None, "default")
    assert found[f"{table}.states.done"] == ({"where": "d", "set": {"d": "true"}}, ours)
    assert found[f"{table}.states.pending"] == (["pending"], 'preset "lease"')
    assert found[f"{table}.claim.order"] == (["priority desc", '"Created At"', "id"], ours)
    assert found[f"{table}.retention.archive"] == ({"command": "gzip"}, ours)
    assert found[f"{table}.retention.runway"] == ("7d", "default")
    assert found[f"{table}.queues.video.lease.grace"] == ("1h30m15s", ours)
    assert f"{table}.queues.video.lease.timeout" not in found
    assert found["transactions.warn_after"] == ("1s500ms", ours)
    assert found["transactions.end_only"] == ([{"user": "bi"}], ours)


@pytest.mark.case("C2")
def test_secrets_are_masked(load_text: Load, emails: str) -> None:
    archive = "[job_tables.emails.retention]\narchive.command = 'curl -T - https://u:hunter2@files/'\n"
    loaded = load_text(emails + archive + "[database]\ndsn = 'password=hunter2'\ndirect_dsn = 'hunter2'")
    assert "hunter2" not in f"{rows(loaded)} {document(loaded)} {loaded.config.database!r}"
    assert document(loaded)["database"]["dsn"] == "password=***"


def test_the_document_is_json_in_the_shape_of_the_file(load_text: Load, emails: str) -> None:
    shown = json.loads(json.dumps(document(load_text(emails + TEXT))))
    assert shown["job_tables"]["emails"]["reaper"]["backoff"]["max"] == "1h"
    assert shown["job_tables"]["emails"]["queues"] == {"video": {"lease": {"grace": "1h30m15s"}}}
    assert shown["job_tables"]["emails"]["autovacuum"] is None


def test_what_is_shown_can_be_read_again(folder: Path) -> None:
    example = Path(__file__).parents[3] / "pgq-ops.example.toml"
    loaded = load(example, {}, {})
    for name, shown in document(loaded)["agent"].items():
        assert tomllib.loads(example.read_text())["agent"][name] == shown
    assert folder.exists()
