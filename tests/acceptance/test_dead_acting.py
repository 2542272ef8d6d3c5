"""`pgq-ops dead retry` and `dead purge` as they are run: what they ask, tell and leave, and how they end."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.agent import wait_until
from tests.support.command import PROGRAM, environment
from tests.support.inside import run_inside
from tests.support.jobs import FIELD, create_field_table, statuses
from tests.support.retrying import DEAD
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

    Dead = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Path:
    create_field_table(database)
    database.execute("CREATE TABLE others (LIKE jobs INCLUDING ALL)")
    database.execute(DEAD, {"n": 12})
    others = FIELD.replace("job_tables.jobs", "job_tables.others").replace('table = "jobs"', 'table = "others"')
    (tmp_path / "pgq-ops.toml").write_text(FIELD + others)
    return tmp_path


@pytest.fixture
def dead(database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Dead:
    """`dead("retry", "--all")` runs the command in the folder, as the database's owner or with another `dsn`."""
    monkeypatch.chdir(folder)

    def run(*words: str, dsn: str = database.dsn) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("PGQ_OPS_DSN", dsn)
        capfd.readouterr()
        code = run_inside(["dead", *words])
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    return run


def tables(result: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return json.loads(result.stdout)["job_tables"]  # type: ignore[no-any-return]


def exports(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("retry", "--yes"), "give a filter, or --all"),
        (("retry", "--all"), "add --yes to act, or --dry-run"),
        (("retry", "--all", "--yes", "--kind", "x"), "columns.kind: is not mapped, and --kind needs it"),
        (("retry", "--all", "--yes", "--rate", "inf"), "--rate"),
        (("retry", "--all", "--yes", "--rate", "0.0000001"), "12 jobs at --rate 1e-07 would come back over more than"),
        (("retry", "--all", "--yes", "--limit", "1" + 25 * "0"), "--limit"),
        (("purge", "--all", "--yes", "--limit", "1" + 25 * "0"), "--limit"),
        (("retry", "--yes", "--error", ""), "--error is empty"),
        (("retry", "--yes", "--kind", ""), "--kind is empty"),
        (("retry", "--yes", "--id", "3", "--id", ""), "--id is empty"),
        (
            ("retry", "--yes", "--queue", ""),
            "--queue is empty, which says nothing: leave it out, or fill it in (a queue",
        ),
        (("purge", "--all", "--yes", "--error", ""), "--error is empty"),
        (("retry", "--yes", "--queue", "mail", "--queue", "film"), "--queue is there 2 times"),
        (("purge", "--yes", "--older-than", "1s", "--older-than", "9d"), "--older-than is there 2 times"),
        (("purge", "--id", "7", "--yes"), "Give --older-than, or --all"),
        (("purge", "--all"), "add --yes to act, or --dry-run"),
        (("purge", "--all", "--yes", "--export", "here"), "--export names one file, and there are 2 job tables"),
        (("purge", "--all", "--yes", "--export", "-"), "--export needs a file"),
        (("purge", "--all", "--yes", "--export", "here", "--no-export"), "exclude each other"),
        (("purge", "jobs", "--all", "--yes", "--export", "pgq-ops.toml"), "is there already"),
    ],
)
def test_what_is_not_said_clearly_enough_ends_with_2_and_changes_nothing(
    dead: Dead, database: Database, folder: Path, words: tuple[str, ...], message: str
) -> None:
    result = dead(*words)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    assert message in result.stderr
    assert statuses(database) == {"dead": 12}
    assert exports(folder) == []


def test_a_retry_is_planned_and_done_in_the_same_shape_and_done_once(dead: Dead, database: Database) -> None:
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'a')")
    database.execute("UPDATE jobs SET dedup_key = 'a' WHERE id = 4")
    planned = dead("retry", "--all", "--dry-run", "--json")
    done = dead("retry", "--all", "--yes", "--json")
    again = dead("retry", "--all", "--yes", "--json")
    assert [result.returncode for result in (planned, done, again)] == [0, 0, 0]
    plan, other = tables(planned)
    assert (plan["name"], plan["retried"], plan["dry_run"], plan["conflicts"]) == ("jobs", 12, True, None)
    assert (other["name"], other["retried"]) == ("others", 0)
    report = tables(done)[0]
    assert plan.keys() == {*report.keys(), "dry_run"}
    assert (report["retried"], report["conflicts"], report["error"]) == (11, 1, None)
    [conflict] = report["conflict_jobs"]
    assert (conflict["id"], conflict["table"]) == ("4", "public.jobs")
    assert "one_pending" in conflict["reason"]
    assert (tables(again)[0]["retried"], tables(again)[0]["conflicts"]) == (0, 1)
    assert statuses(database) == {"pending": 12, "dead": 1}


def test_a_person_is_asked_with_numbers_and_the_spread_and_told_what_was_done(database: Database, folder: Path) -> None:
    command = [PROGRAM, "dead", "retry", "--all", "--rate", "2", "--extra-attempts", "1"]
    with Terminal(command, folder, environment(PGQ_OPS_DSN=database.dsn)) as terminal:
        asked = terminal.until("[y/N] ")
        terminal.press("n\n")
        assert terminal.ended()[0] == 0
    assert "Retry 12 dead jobs of jobs, 2 a second, the last in 6s?" in asked
    assert statuses(database) == {"dead": 12}
    with Terminal(command, folder, environment(PGQ_OPS_DSN=database.dsn), columns=200) as terminal:
        terminal.until("[y/N] ")
        terminal.press("y\n")
        code, told = terminal.ended()
    assert code == 0
    assert "jobs: 12 dead jobs were retried with 1 attempt left, 2 a second, the last in 5." in told
    assert "  jobs 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..." in told
    assert "others: no dead job to retry" in told
    assert statuses(database) == {"pending": 12}
    with Terminal(command, folder, environment(PGQ_OPS_DSN=database.dsn)) as terminal:
        code, told = terminal.ended()
    assert (code, told.replace("\r", "")) == (0, "jobs: no dead job to retry\nothers: no dead job to retry\n")


def test_a_purge_exports_to_a_file_of_its_own_by_default_and_an_export_can_be_left_out(
    dead: Dead, database: Database, folder: Path
) -> None:
    planned = dead("purge", "--all", "--dry-run", "--json")
    assert (planned.returncode, tables(planned)[0]["purged"], exports(folder)) == (0, 12, [])
    done = dead("purge", "--all", "--yes", "--json", "--limit", "5")
    report = tables(done)[0]
    assert (done.returncode, report["purged"], report["exported"], report["conflicts"]) == (0, 5, 5, 0)
    assert tables(planned)[0].keys() == {*report.keys(), "dry_run"}
    [file] = exports(folder)
    assert (report["export"], file.name.startswith("dead-jobs-")) == (str(file), True)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["table"], row["id"], row["row"]["status"]) for row in rows][:1] == [("public.jobs", "1", "dead")]
    told = dead("purge", "jobs", "--all", "--yes", "--no-export")
    assert told.stdout.splitlines()[0] == "jobs: 7 dead jobs were deleted, without an export"
    assert exports(folder) == [file]
    assert statuses(database) == {}


def test_one_table_with_which_something_is_wrong_does_not_keep_the_others(dead: Dead, database: Database) -> None:
    database.execute("DROP TABLE others")
    result = dead("retry", "--all", "--yes")
    assert result.returncode == 2
    assert "there is no table 'others'" in result.stderr
    assert "jobs: 12 dead jobs were retried" in result.stdout
    assert statuses(database) == {"pending": 12}


@pytest.mark.parametrize("verb", ["retry", "purge"])
def test_ctrl_c_ends_it_between_batches_with_a_true_report(database: Database, folder: Path, verb: str) -> None:
    database.execute(DEAD, {"n": 3_988})
    database.execute("""
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
        CREATE TRIGGER slowly AFTER UPDATE OR DELETE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION slowly();
    """)
    with subprocess.Popen(
        [PROGRAM, "dead", verb, "--all", "--yes", "--json"],
        cwd=folder,
        env=environment(PGQ_OPS_DSN=database.dsn),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        left = "SELECT count(*) FROM jobs WHERE status = 'dead'"
        wait_until(lambda: database.value(left) < 4_000, 30, "the first batch")
        process.send_signal(signal.SIGINT)
        output, told = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "stopped part way: interrupted" in told
    assert "others: not begun" in told
    one, other = json.loads(output)["job_tables"]
    changed = one["retried" if verb == "retry" else "purged"]
    assert 0 < changed < 4_000
    assert database.value(left) == 4_000 - changed
    assert other["conflicts"] is None
    if verb == "purge":
        assert len(exports(folder)[0].read_text().splitlines()) == changed


def test_a_purge_that_is_killed_leaves_every_job_that_it_deleted_in_its_file(database: Database, folder: Path) -> None:
    database.execute(DEAD, {"n": 3_988})
    database.execute("""
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END $$;
        CREATE TRIGGER slowly AFTER DELETE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION slowly();
    """)
    command = [PROGRAM, "dead", "purge", "jobs", "--all", "--yes"]
    with subprocess.Popen(command, cwd=folder, env=environment(PGQ_OPS_DSN=database.dsn)) as process:
        wait_until(lambda: database.value("SELECT count(*) FROM jobs") < 3_000, 30, "some batches")
        process.kill()
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    wait_until(lambda: database.value(others) == 0, 30, "the end of its session")
    [file] = exports(folder)
    whole = [json.loads(line)["row"]["id"] for line in file.read_text().split("\n")[:-1]]
    left = {job for (job,) in database.rows("SELECT id FROM jobs")}
    assert 0 < len(left) < 3_000
    assert set(range(1, 4_001)) - left <= set(whole)
    assert len(whole) - (4_000 - len(left)) <= 500


def test_what_could_not_be_had_is_told_and_is_no_failure(dead: Dead, database: Database) -> None:
    with database.connect(autocommit=False) as other:
        other.execute("SELECT FROM jobs WHERE id IN (2, 5) FOR UPDATE")
        result = dead("retry", "jobs", "--id", "2", "--id", "5", "--id", "7", "--id", "99", "--yes")
    assert result.returncode == 0
    assert "jobs: 1 dead job was retried with fresh attempts" in result.stdout
    assert "  passed over, as another session has them: 2, 5\n" in result.stdout
    assert "  not dead, or not there: 99\n" in result.stdout


@pytest.mark.parametrize("mode", ["SHARE", "ACCESS EXCLUSIVE"])
@pytest.mark.parametrize("verb", ["retry", "purge"])
def test_a_table_that_is_locked_however_strongly_is_told_as_locked_and_is_no_failure(
    dead: Dead, database: Database, verb: str, mode: str
) -> None:
    words = [verb, "jobs", "--all", "--id", "2", "--yes"]
    with database.connect(autocommit=False) as other:
        other.execute(f"LOCK TABLE jobs IN {mode} MODE")
        told, document = dead(*words), dead(*words, "--json")
    assert (told.returncode, told.stderr, document.returncode) == (0, "", 0)
    assert "jobs: no dead job could be had\n" in told.stdout
    assert "locked by somebody else just now, and left as they are: public.jobs\n" in told.stdout
    assert "not there" not in told.stdout
    [report] = tables(document)
    assert (report["busy"], report["not_found"], report["error"]) == (["public.jobs"], [], None)
    assert statuses(database) == {"dead": 12}


@pytest.mark.parametrize(
    "words", [("retry", "--all", "--yes"), ("retry", "--all", "--dry-run"), ("purge", "--all", "--yes")]
)
def test_a_table_that_cannot_even_be_described_for_a_lock_is_told_alike(
    dead: Dead, database: Database, folder: Path, words: tuple[str, ...]
) -> None:
    kind = 'kind = { sql = "upper(queue)" }\n[job_tables.jobs.states]'
    (folder / "pgq-ops.toml").write_text(FIELD.replace("[job_tables.jobs.states]", kind))
    with database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs")
        result = dead(*words)
    assert (result.returncode, result.stderr) == (0, "")
    assert "locked by somebody else just now, and left as they are: jobs\n" in result.stdout


def test_a_purge_by_age_ends_with_2_where_it_is_not_known_when_a_job_died(
    dead: Dead, database: Database, folder: Path
) -> None:
    (folder / "pgq-ops.toml").write_text(FIELD.replace('finished_at = "finished_at"\n', ""))
    for words in (("--yes",), ("--dry-run",)):
        result = dead("purge", "--older-than", "1ms", *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert "job_tables.jobs.columns.finished_at: is not mapped" in result.stderr
        assert "say --all instead" in result.stderr
    assert (statuses(database), exports(folder)) == ({"dead": 12}, [])
    retried = dead("retry", "--older-than", "1ms", "--dry-run")
    assert "12 dead jobs (by when they were created) would be retried" in retried.stdout


def test_a_queue_that_is_not_mapped_is_refused_unless_it_is_the_one_that_is_shown(dead: Dead, folder: Path) -> None:
    (folder / "pgq-ops.toml").write_text(FIELD.replace('queue = "queue"\n', ""))
    refused = dead("retry", "--queue", "mail", "--dry-run")
    assert refused.returncode == 2
    assert "columns.queue: is not mapped, and --queue needs it" in refused.stderr
    assert "jobs: 12 dead jobs would be" in dead("retry", "--queue", "default", "--dry-run").stdout


def test_an_id_that_is_given_twice_is_one_job_and_one_that_is_missing_is_told_once(dead: Dead) -> None:
    told = dead("retry", "jobs", "--id", "7", "--id", "99", "--id", "7", "--id", "99", "--dry-run").stdout
    assert "jobs: 1 dead job would be retried" in told
    assert "  not dead, or not there: 99\n" in told


def test_what_the_database_fails_at_is_told_in_words(dead: Dead, folder: Path) -> None:
    kind = 'kind = { sql = "(1 / (id - 3))::text" }\n[job_tables.jobs.states]'
    (folder / "pgq-ops.toml").write_text(FIELD.replace("[job_tables.jobs.states]", kind))
    result = dead("retry", "--kind", "x", "--dry-run")
    assert result.returncode == 3
    assert result.stderr == "Error: could not retry the dead letters of jobs: division by zero\n"


def test_a_database_that_cannot_be_reached_or_does_not_permit_it_ends_with_3(
    dead: Dead, database: Database, make_role: Roles
) -> None:
    away = dead("retry", "--all", "--yes", "--json", dsn="host=127.0.0.1 port=1")
    assert (away.returncode, away.stdout) == (3, "")
    role = make_role("nobody")
    database.execute(f"GRANT SELECT ON jobs, others TO {role}")
    refused = dead("retry", "jobs", "--all", "--yes", dsn=database.dsn_as(role))
    assert (refused.returncode, "GRANT UPDATE" in refused.stderr) == (3, True)
    assert statuses(database) == {"dead": 12}
