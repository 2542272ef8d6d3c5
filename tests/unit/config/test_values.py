from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.model import Agent, Config
from pgq_ops.config.policy import Reaper

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused

REAPER = "[job_tables.emails.reaper]\n"


def test_without_any_source_the_defaults_hold(load_text: Load) -> None:
    assert load_text().config == Config()
    assert load_text().path is None


def test_a_reaper_has_its_defaults_without_being_asked_for(load_text: Load, emails: str) -> None:
    assert load_text(emails).config.job_tables["emails"].reaper == Reaper()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("every = 5", 'is a number without a unit (did you mean "5s"?)'),
        ("every = 0.5", 'is a number without a unit (did you mean "0.5s"?)'),
        ('every = "5"', 'did you mean "5s"?'),
        ("every = true", "is not a duration"),
        ("every = 05:00:00", "is not a duration"),
        ('every = "99ms"', 'must be at least "0.1s"'),
        ('settle = "-1s"', "is not a duration"),
        ("batch_size = 0", "must be at least 1"),
        ("batch_size = 10001", "must be at most 10000"),
        ('batch_size = "5"', "must be a whole number"),
        ("batch_size = 5.0", "must be a whole number"),
        ("batch_size = true", "must be a whole number"),
        ("max_attempts = 0", "must be at least 1"),
        ("max_attempts = 2147483648", "must be at most 2147483647"),
        ("enabled = 1", "must be true or false"),
        ('backoff = { base = "0s" }', "must be more than zero"),
        ("backoff = { factor = 0.99 }", "must be at least 1"),
        ("backoff = { factor = nan }", "must be at"),
        ("backoff = { jitter = 1.01 }", "must be at most 1"),
        ("backoff = { jitter = -0.01 }", "must be at least 0"),
        ("backoff = 5", "must be a table of keys"),
        ('backoff = { base = "61m" }', '"1h1m" is more than backoff.max, which is "1h"'),
        ("mass_expiry = { fraction = 1.5 }", "must be at most 1"),
        ("mass_expiry = { minimum = 0 }", "must be at least 1"),
        ('attempts_counted_at = "claims"', 'must be "claim" or "reap" (did you mean "claim"?)'),
        ('dead_letter_table = ""', "is empty"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_what_would_be_right(
    refused: Refused, emails: str, line: str, message: str
) -> None:
    told = refused(emails + REAPER + line)
    assert told.startswith("pgq-ops.toml: job_tables.emails.reaper." + line.split(" ", 1)[0])
    assert message in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "line",
    [
        'every = "100ms"',
        'settle = "0s"',
        "batch_size = 1",
        "batch_size = 10000",
        "max_attempts = 1",
        "max_attempts = 2147483647",
        "backoff = { factor = 1 }",
        "backoff = { jitter = 0 }",
        "backoff = { jitter = 1 }",
        'backoff = { base = "1h" }',
        "mass_expiry = { fraction = 0, minimum = 1 }",
    ],
)
def test_a_value_on_its_limit_is_allowed(load_text: Load, emails: str, line: str) -> None:
    load_text(emails + REAPER + line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agnet]\n", 'pgq-ops.toml: agnet: there is no such setting (did you mean "agent"?)'),
        ('[agent]\nlisten_on = ":1"\n', 'agent.listen_on: there is no such setting (did you mean "listen"?)'),
        ("[agent]\nbatch_size = 1\n", "did you mean job_tables.<name>.reaper.batch_size"),
        ("agent = 5\n", "agent: must be a table of keys"),
        ("job_tables = []\n", "job_tables: must be a table of keys"),
        ("[job_tables]\nemails = 1\n", "job_tables.emails: must be a table of keys"),
        ('[agent]\nmode = "manged"\n', 'must be "observe" or "manage" (did you mean "manage"?)'),
        ('[database]\ntimezone = "Europe/Berln"\n', 'is not a known time zone (did you mean "Europe/Berlin"?)'),
        ('[database]\ntimezone = "../x"\n', "is not a known time zone"),
        ("[transactions]\nend_only = [{}]\n", "end_only[0]: would match every session"),
        ('[transactions]\nend_only = [{user = "a"}, {usr = "b"}]\n', "end_only[1].usr: there is no such setting (did"),
        ('[transactions]\nend_only = "bi"\n', "must be a list"),
    ],
)
def test_a_wrong_key_or_section_is_refused(refused: Refused, text: str, message: str) -> None:
    assert message in refused(text)


def test_all_problems_are_told_at_once(refused: Refused, emails: str) -> None:
    told = refused(f'{emails}[job_tables.emails.reaper]\nevery = 1\nbatch_size = 0\n[agent]\nmode = "x"\nx = 1\n')
    assert len(told.splitlines()) == 4


def test_one_mistake_is_told_once(refused: Refused) -> None:
    told = refused(
        '[job_tables.a]\ntable = "a"\n[job_tables.a.column]\nstate = "s"\n[job_tables.a.states]\npending = "p"'
    )
    assert told.splitlines() == [
        'pgq-ops.toml: job_tables.a.states.pending: must be a list (write ["p"])',
        'pgq-ops.toml: job_tables.a.column: there is no such setting (did you mean "columns"?)',
    ]


def test_what_the_loader_works_out_is_no_key_of_the_file(refused: Refused, emails: str) -> None:
    told = refused(emails + 'requested_tasks = ["reaper"]')
    assert "job_tables.emails.requested_tasks: there is no such setting" in told


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("0.0.0.0:9788", ("0.0.0.0", 9788)),  # noqa: S104  # the documented default
        ("[::]:9788", ("::", 9788)),
        ("[::1]:0", ("::1", 0)),
        (":9788", ("", 9788)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_is_split_into_host_and_port(listen: str, address: tuple[str, int]) -> None:
    assert Agent(listen=listen).address == address


@pytest.mark.parametrize("listen", ["9788", "localhost", "::1:9788", "a:65536", "a:b", "http://a:1", "", "a b:1"])
def test_what_is_no_address_is_refused(refused: Refused, listen: str) -> None:
    assert "agent.listen: is not an address to listen on" in refused(f'[agent]\nlisten = "{listen}"')


@pytest.mark.parametrize(
    ("listen", "hint"), [("65535", 'did you mean ":65535"?'), ("65536", "up to 65535"), ("a:65536", "up to 65535")]
)
def test_no_port_is_proposed_that_cannot_be_one(refused: Refused, listen: str, hint: str) -> None:
    assert hint in refused(f'[agent]\nlisten = "{listen}"')


def test_durations_are_read_with_their_unit(load_text: Load) -> None:
    config = load_text('[transactions]\nwarn_after = "1h30m"').config
    assert config.transactions.warn_after == timedelta(minutes=90)


def test_a_configuration_cannot_be_changed(load_text: Load) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_text().config.agent.mode = "manage"


@pytest.mark.parametrize("budget", ['"auto"', "1", "5000"])
def test_a_budget_of_dead_tuples_is_auto_or_a_number(load_text: Load, emails: str, budget: str) -> None:
    load_text(f"{emails}[job_tables.emails.autovacuum]\ndead_tuple_budget = {budget}")


@pytest.mark.parametrize("budget", ['"many"', "0", "1.5", "true"])
def test_any_other_budget_is_refused(refused: Refused, emails: str, budget: str) -> None:
    told = refused(f"{emails}[job_tables.emails.autovacuum]\ndead_tuple_budget = {budget}")
    assert 'must be "auto" or a whole number' in told


@pytest.mark.parametrize("archive", ['"none"', '{ directory = "/a" }', '{ command = "cat" }'])
def test_an_archive_is_none_a_folder_or_a_command(load_text: Load, emails: str, archive: str) -> None:
    load_text(f"{emails}[job_tables.emails.retention]\narchive = {archive}")


@pytest.mark.parametrize("archive", ['"s3"', '{ directory = "/a", command = "cat" }', "5", '{ folder = "/a" }'])
def test_any_other_archive_is_refused(refused: Refused, emails: str, archive: str) -> None:
    assert "retention.archive" in refused(f"{emails}[job_tables.emails.retention]\narchive = {archive}")
