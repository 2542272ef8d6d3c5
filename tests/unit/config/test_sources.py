from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.columns import Column
from pgq_ops.config.states import StateValues

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused

SLO = "job_tables.emails.slo.oldest_ready"


def test_each_source_goes_over_the_one_before(load_text: Load) -> None:
    variable = {"PGQ_OPS_AGENT__COLLECT_EVERY": "3s"}
    text = '[agent]\ncollect_every = "2s"'
    assert load_text(text, variable, agent__collect_every="4s").config.agent.collect_every == timedelta(seconds=4)
    assert load_text(text, variable).config.agent.collect_every == timedelta(seconds=3)
    assert load_text(text, agent__collect_every=None).config.agent.collect_every == timedelta(seconds=2)


def test_job_tables_stand_in_the_order_of_the_file_whichever_of_them_have_a_preset(load_text: Load) -> None:
    mapped = 'columns.state = "s"\nstates.pending = ["p"]\nstates.running = ["r"]\nstates.dead = ["d"]\n'
    tables = {"zeta": 'preset = "lease"\n', "mine": mapped, "alpha": 'preset = "started-at"\n', "other": mapped}
    text = "".join(f'[job_tables.{name}]\ntable = "{name}"\n{section}' for name, section in tables.items())
    assert list(load_text(text).config.job_tables) == list(tables)


def test_a_longest_runtime_that_counts_from_nothing_is_noted(load_text: Load, emails: str) -> None:
    longest = 'max_runtime = "4h"\n'
    lease = f"[job_tables.emails.lease]\n{longest}"
    queue = f"[job_tables.emails.queues.video]\nlease.{longest}"
    mapped = emails + 'columns.queue = "q"\n'
    for text, keys in (
        (mapped + lease, ["job_tables.emails.lease.max_runtime"]),
        (mapped + queue, ["job_tables.emails.queues.video.lease.max_runtime"]),
        (mapped + lease + queue, ["job_tables.emails.lease.max_runtime"]),
        (mapped + 'columns.leased_at = "c"\n' + lease + 'timeout = "5m"\n', []),
    ):
        assert [note.split(" finds no job")[0] for note in load_text(text).notes] == keys


def test_the_origin_of_each_value_is_known(load_text: Load, emails: str) -> None:
    text = emails + 'columns.owner = "worker"\n[agent]\nlisten = ":1"\nmode = "observe"\nlog_format = "json"'
    origins = load_text(text, {"PGQ_OPS_AGENT__LISTEN": ":2", "PGQ_OPS_DSN": "x"}, agent__log_format="text").origins
    assert origins["agent.collect_every"] == "default"
    assert origins["agent.mode"] == "file pgq-ops.toml"
    assert origins["agent.listen"] == "environment PGQ_OPS_AGENT__LISTEN"
    assert origins["agent.log_format"] == "flag --log-format"
    assert origins["database.dsn"] == "environment PGQ_OPS_DSN"
    assert origins["job_tables.emails.columns.version"] == 'preset "lease"'
    assert origins["job_tables.emails.columns.owner"] == "file pgq-ops.toml"
    assert origins["job_tables.emails.columns.queue"] == "default"
    assert origins["job_tables.emails.states.dead"] == 'preset "lease"'


def test_the_file_overrides_its_preset_key_by_key(load_text: Load, emails: str) -> None:
    text = f'{emails}columns.attempts = {{ sql = "tries + 0" }}\nstates.dead = ["dead", "lost"]'
    table = load_text(text).config.job_tables["emails"]
    assert table.columns.attempts == Column(sql="tries + 0")
    assert table.columns.version == Column(name="claim_version")
    assert table.states.dead == StateValues(values=("dead", "lost"))
    assert table.states.done == StateValues(values=("done",))


def test_sections_are_merged_and_one_value_is_replaced(load_text: Load, emails: str) -> None:
    text = (
        emails + '[job_tables.emails.reaper]\nbackoff = { base = "1s" }\n[job_tables.emails.retention]\n'
        'archive = { command = "cat" }'
    )
    prefix = "PGQ_OPS_JOB_TABLES__EMAILS__"
    environment = {
        f"{prefix}REAPER__BACKOFF__MAX": "1m",
        f"{prefix}RETENTION__ARCHIVE": '{ directory = "/a" }',
    }
    table = load_text(text, environment).config.job_tables["emails"]
    assert (table.reaper.backoff.base, table.reaper.backoff.max) == (timedelta(seconds=1), timedelta(minutes=1))
    assert table.retention
    assert (table.retention.archive.directory, table.retention.archive.command) == ("/a", None)


def test_a_preset_may_be_named_by_the_environment(load_text: Load) -> None:
    text = '[job_tables.emails]\ntable = "jobs"'
    loaded = load_text(text, {"PGQ_OPS_JOB_TABLES__EMAILS__PRESET": "started-at"})
    assert loaded.config.job_tables["emails"].lease.timeout == timedelta(minutes=5)


def test_an_unknown_preset_is_the_only_problem(refused: Refused) -> None:
    told = refused('[job_tables.emails]\ntable = "jobs"\npreset = "leas"\ncolumns.queue = "q"')
    assert told == 'pgq-ops.toml: job_tables.emails.preset: there is no such preset (did you mean "lease"?)'


def test_a_wrong_flag_is_refused_by_its_name(load_text: Load) -> None:
    with pytest.raises(Exception, match=r"--listen: agent\.listen: is not an address"):
        load_text("", agent__listen="x")


@pytest.mark.parametrize(
    ("text", "environment", "requested"),
    [
        ("", {}, set()),
        ("[job_tables.emails.reaper]", {}, {"reaper"}),
        ("[job_tables.emails.reaper]\nenabled = false", {}, set()),
        ("[job_tables.emails.reaper]\nenabled = true", {"REAPER__ENABLED": "false"}, set()),
        ("", {"REAPER__EVERY": "1s"}, {"reaper"}),
        ("", {"REAPER": "{}"}, {"reaper"}),
        ("[job_tables.emails.retention]\n[job_tables.emails.autovacuum]", {}, {"retention", "autovacuum"}),
        ("[job_tables.emails.retention]\nenabled = false\n[job_tables.emails.autovacuum]", {}, {"autovacuum"}),
        ("[job_tables.emails.lease]", {}, set()),
    ],
)
def test_a_task_is_asked_for_by_its_section(
    load_text: Load, emails: str, text: str, environment: dict[str, str], requested: set[str]
) -> None:
    variables = {f"PGQ_OPS_JOB_TABLES__EMAILS__{name}": value for name, value in environment.items()}
    assert load_text(f"{emails}{text}", variables).config.job_tables["emails"].requested_tasks == requested


def test_what_no_version_carries_out_yet_is_noted(load_text: Load, emails: str) -> None:
    text = f'{emails}reaper.every = "1m"\nretention.done_after = "7d"\nautovacuum.mode = "apply"\n'
    notes = load_text(text).notes
    assert [note.split(" is not carried out")[0] for note in notes] == ["job_tables.emails.retention"]
    assert load_text(emails).notes == ()


def test_an_agent_that_may_end_sessions_but_is_told_of_none_is_noted(load_text: Load) -> None:
    terminate = '[transactions]\naction = "terminate"\n'
    assert load_text(terminate).notes == ("transactions.action ends no session: transactions.end_only names none",)
    loaded = load_text(f'{terminate}end_only = [{{ user = "bi" }}]')
    assert (loaded.notes, loaded.config.transactions.ends_sessions) == ((), True)
    for text in (
        '[transactions]\nend_only = [{ user = "bi" }]',
        f'{terminate}enabled = false\nend_only = [{{ user = "bi" }}]',
        terminate,
    ):
        assert not load_text(text).config.transactions.ends_sessions
