from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.columns import Column
from pgq_ops.config.states import StateValues

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused


def test_the_dsn_has_a_variable_of_its_own(load_text: Load) -> None:
    database = load_text('[database]\ndsn = "a"', {"PGQ_OPS_DSN": "b=c # 'd"}).config.database
    assert database.dsn
    assert database.dsn.get_secret_value() == "b=c # 'd"


@pytest.mark.parametrize("name", ["PGQ_OPS_AGENT__LISTEN", "pgq_ops_agent__listen", "Pgq_Ops_Agent__Listen"])
def test_a_variable_names_the_path_in_any_case(load_text: Load, name: str) -> None:
    assert load_text('[agent]\nlisten = ":1"', {name: ":2"}).config.agent.listen == ":2"


def test_an_empty_variable_counts_as_not_set(load_text: Load) -> None:
    config = load_text('[agent]\nlisten = ":1"', {"PGQ_OPS_AGENT__LISTEN": "", "PGQ_OPS_DSN": ""}).config
    assert config.agent.listen == ":1"
    assert config.database.dsn is None


@pytest.mark.parametrize(
    "name", ["PGQ_OPS_SERVICE_HOST", "PGQ_OPS_PORT_9788_TCP_ADDR", "PGQ_OPS_PG_BIN", "PGQ_OPS_TEST_DSN", "PGQ_OPS_X"]
)
def test_names_of_one_part_are_left_alone(load_text: Load, name: str) -> None:
    load_text("", {name: "10.0.0.1"})


def test_values_are_read_as_toml_where_the_setting_is_no_text(load_text: Load, emails: str) -> None:
    prefix = "PGQ_OPS_JOB_TABLES__EMAILS__"
    environment = {
        f"{prefix}REAPER__BATCH_SIZE": "7",
        f"{prefix}REAPER__ENABLED": "false",
        f"{prefix}REAPER__EVERY": "3s",
        f"{prefix}REAPER__BACKOFF__FACTOR": "3",
        f"{prefix}REAPER__MASS_EXPIRY": "{ minimum = 5 }",
        f"{prefix}STATES__DEAD": '["dead", "buried"]',
        f"{prefix}COLUMNS__KIND": "type",
        f"{prefix}COLUMNS__QUEUE": '{ sql = "lower(q)" }',
        f"{prefix}COLUMNS__ERROR": "{}",
        f"{prefix}AUTOVACUUM__DEAD_TUPLE_BUDGET": "9",
        f"{prefix}RETENTION__ARCHIVE": "none",
        f"{prefix}CLAIM__ORDER": '["id desc"]',
        "PGQ_OPS_DATABASE__OWNER_ROLE": "123",
        "PGQ_OPS_TRANSACTIONS__END_ONLY": '[{ user = "bi" }]',
    }
    config = load_text(emails, environment).config
    table = config.job_tables["emails"]
    assert (table.reaper.batch_size, table.reaper.enabled) == (7, False)
    assert (table.reaper.every, table.reaper.backoff.factor) == (timedelta(seconds=3), 3.0)
    assert table.reaper.mass_expiry.minimum == 5
    assert table.reaper.mass_expiry.fraction == 0.5
    assert table.states.dead == StateValues(values=("dead", "buried"))
    assert (table.columns.kind, table.columns.queue) == (Column(name="type"), Column(sql="lower(q)"))
    assert table.autovacuum
    assert table.autovacuum.dead_tuple_budget == 9
    assert table.claim.order[0].descending
    assert config.database.owner_role == "123"
    assert config.transactions.end_only[0].user == "bi"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("AGENT__LISTN", "x", "agent.listn: there is no such setting (did you mean PGQ_OPS_AGENT__LISTEN?)"),
        ("AGNT__LISTEN", "x", "agnt.listen: there is no such setting (did you mean PGQ_OPS_AGENT__LISTEN?)"),
        ("JOB_TABLES__EMALS__SLO__OLDEST_READY", "1m", "did you mean PGQ_OPS_JOB_TABLES__EMAILS__SLO__OLDEST_READY?"),
        ("JOB_TABLES__EMAILS__QUEUES__VIDEO__LEASE__GRACE", "1m", "there is no such setting"),
        ("JOB_TABLES__EMAILS__REQUESTED_TASKS", "[]", "there is no such setting"),
        ("JOB_TABLES__EMAILS__COLUMNS__ID__SQL", "x", "is one value"),
        ("AGENT__LISTEN__PORT", "1", "is one value, and has no keys of its own"),
        ("AGENT__", "x", "there is no such setting"),
        ("AGENT__COLLECT_EVERY", "5", 'did you mean "5s"?'),
        ("TRANSACTIONS__ENABLED", "yes", "must be true or false"),
        ("TRANSACTIONS__ENABLED", "true\nx = 1", "must be true or false"),
        ("JOB_TABLES__EMAILS__STATES__DEAD", "dead", 'must be a list (write ["dead"])'),
        ("JOB_TABLES__EMAILS__REAPER", "on", "must be a table of keys"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(
    refused: Refused, emails: str, name: str, value: str, message: str
) -> None:
    told = refused(emails, {f"PGQ_OPS_{name}": value})
    assert told.startswith(f"PGQ_OPS_{name}: ")
    assert message in told


def test_names_of_tables_and_queues_are_found_without_regard_to_case_and_signs(load_text: Load) -> None:
    text = """
    [job_tables."Mail-Out"]
    table = "a"
    preset = "lease"
    columns.queue = "q"
    queues."High.Prio".lease.grace = "1s"
    """
    environment = {"PGQ_OPS_JOB_TABLES__MAIL_OUT__QUEUES__HIGH_PRIO__LEASE__GRACE": "2s"}
    loaded = load_text(text, environment)
    assert loaded.config.job_tables["Mail-Out"].policies()[1].lease.grace == timedelta(seconds=2)
    assert loaded.origins['job_tables.Mail-Out.queues."High.Prio".lease.grace'].startswith("environment ")


def test_two_tables_whose_names_differ_by_a_sign_only_cannot_be_told_apart(refused: Refused) -> None:
    text = '[job_tables]\na-b = { table = "a", preset = "lease" }\na_b = { table = "b", preset = "lease" }'
    assert 'a_b could be "a-b" and "a_b"' in refused(text, {"PGQ_OPS_JOB_TABLES__A_B__TABLE": "c"})


def test_the_environment_alone_can_describe_a_job_table(load_text: Load) -> None:
    prefix = "PGQ_OPS_JOB_TABLES__JOBS__"
    environment = {f"{prefix}TABLE": "public.jobs", f"{prefix}PRESET": "lease", f"{prefix}REAPER__EVERY": "1s"}
    table = load_text("", environment).config.job_tables["jobs"]
    assert table.table == "public.jobs"
    assert table.requested_tasks == {"reaper"}
