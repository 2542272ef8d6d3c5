"""`pgq-ops inspect`, the installed command, as an on-call person and a script run it."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.command import PROGRAM, environment, run
from tests.support.jobs import FIELD, create_field_table
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

# performance.md: half a second where the bare interpreter takes 0.02 s.
MOST_TIMES_BARE = 25
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")
OWN_SCREEN, SHELLS_SCREEN, HOME = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H"


@pytest.fixture
def folder(database: Database, tmp_path: Path) -> Path:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, run_at, lease_until, locked_by) VALUES"
        " ('mail', 'pending', now() - interval '10 min', NULL, NULL),"
        " ('[red]x', 'running', now(), now() - interval '10 min', E'\\x1b[2Jworker')"
    )
    (tmp_path / "pgq-ops.toml").write_text(FIELD, encoding="utf-8")
    return tmp_path


def inspect(folder: Path, dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("inspect", *arguments, cwd=folder, variables={"PGQ_OPS_DSN": dsn})


def watching(folder: Path, dsn: str, *arguments: str, columns: int = 80, rows: int = 40) -> Terminal:
    command = [PROGRAM, "inspect", "--watch", "--every", "0.2", *arguments]
    return Terminal(command, folder, environment(PGQ_OPS_DSN=dsn), columns, rows)


def test_json_is_one_document_and_nothing_else(database: Database, folder: Path) -> None:
    result = inspect(folder, database.dsn, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    [table] = json.loads(result.stdout)["job_tables"]
    assert {queue["queue"]: (queue["ready"], queue["running"]) for queue in table["queues"]} == {
        "mail": (1, 0),
        "[red]x": (0, 1),
    }


def test_a_pipe_gets_remedies_and_sentences_whole_and_without_colours(database: Database, folder: Path) -> None:
    result = inspect(folder, database.dsn, "jobs")
    assert (result.returncode, result.stderr) == (0, "")
    [table] = json.loads(inspect(folder, database.dsn, "--json").stdout)["job_tables"]
    lines = result.stdout.splitlines()
    assert "\x1b" not in result.stdout
    for finding in table["findings"]:
        assert {f"  {line}" for line in finding["remedy"].splitlines()} <= set(lines)
    assert any(line.startswith("CRITICAL") and len(line) > 80 for line in lines)


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_sentences_fit_and_remedies_stay_whole(database: Database, folder: Path, columns: int) -> None:
    [table] = json.loads(inspect(folder, database.dsn, "--json").stdout)["job_tables"]
    remedies = {f"  {line}" for finding in table["findings"] for line in finding["remedy"].splitlines()}
    command = [PROGRAM, "inspect"]
    with Terminal(command, folder, environment(PGQ_OPS_DSN=database.dsn), columns) as terminal:
        code, written = terminal.ended()
    lines = ESCAPES.sub("", written).replace("\r", "").splitlines()
    assert code == 0
    assert remedies <= set(lines)
    assert max(len(line) for line in lines if line not in remedies) <= columns


def test_names_cannot_steer_the_terminal(database: Database, folder: Path) -> None:
    with Terminal([PROGRAM, "inspect"], folder, environment(PGQ_OPS_DSN=database.dsn)) as terminal:
        code, written = terminal.ended()
    assert code == 0
    assert "\x1b[2J" not in written
    assert "\\x1b[2Jworker" in written
    assert "[red]x" in ESCAPES.sub("", written)


def test_watch_follows_the_table_and_ctrl_c_leaves_the_last_screen(database: Database, folder: Path) -> None:
    with watching(folder, database.dsn) as terminal:
        terminal.until(OWN_SCREEN)
        terminal.until("every 0.2 s; Ctrl-C ends")
        database.execute("INSERT INTO jobs (queue) VALUES ('brand-new')")
        terminal.until("brand-new")
        terminal.press("\x03")
        terminal.until(SHELLS_SCREEN)
        code, left = terminal.ended()
    assert code == 0
    assert "brand-new" in left
    assert "Traceback" not in left


def test_watch_paints_over_and_never_clears(database: Database, folder: Path) -> None:
    with watching(folder, database.dsn) as terminal:
        for _ in range(3):
            terminal.until(HOME)
            painted = terminal.until("Ctrl-C ends")
            assert "\x1b[2J" not in painted
            assert "\n" in painted


def test_watch_on_a_small_screen_keeps_its_top_and_says_that_there_is_more(database: Database, folder: Path) -> None:
    with watching(folder, database.dsn, rows=12) as terminal:
        terminal.until(HOME)
        painted = terminal.until("Ctrl-C ends")
    assert painted.count("\n") < 12
    assert "CRITICAL" in painted
    assert re.search(r"\d+ more lines need a taller window", painted)


def test_watch_outlives_the_database(database: Database, folder: Path) -> None:
    end = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'pgq-ops/command' AND datname = current_database()"
    )
    with watching(folder, database.dsn) as terminal:
        terminal.until("mail")
        database.server.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false')
        database.rows(end)
        terminal.until("unreachable since")
        terminal.until("trying again")
        database.server.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS true')
        terminal.until("mail")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.until(SHELLS_SCREEN)
        assert terminal.ended()[0] == 0


def test_watch_into_a_pipe_prints_one_look_below_the_other(database: Database, folder: Path) -> None:
    command = [PROGRAM, "inspect", "--watch", "--every", "0.2"]
    variables = environment(PGQ_OPS_DSN=database.dsn)
    with subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = 0
        for line in process.stdout:
            assert "\x1b" not in line
            seen += line.startswith("jobs  public.jobs")
            if seen == 2:
                break
        process.stdout.close()
        assert process.wait(30) == 141


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["jbos"], 2, 'did you mean "jobs"?'),
        (["--watch", "--json"], 2, "give one of them"),
        (["--config", "no-such-file.toml"], 2, "no-such-file.toml"),
    ],
)
def test_what_is_mistyped_ends_with_one_message(
    database: Database, folder: Path, arguments: list[str], code: int, message: str
) -> None:
    result = inspect(folder, database.dsn, *arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--watch"]])
def test_an_unreachable_database_ends_with_3(folder: Path, arguments: list[str]) -> None:
    result = inspect(folder, "host=127.0.0.1 port=1 dbname=app password=hunter2", *arguments)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("Error: could not connect")
    assert "hunter2" not in result.stderr


def test_only_locked_tables_end_with_3_after_saying_so(database: Database, folder: Path) -> None:
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs")
        result = inspect(folder, database.dsn)
        document = json.loads(inspect(folder, database.dsn, "--json").stdout)
        holder.rollback()
    assert result.returncode == 3
    assert "locked by another session" in result.stdout
    assert "no job table could be read" in result.stderr
    assert document["job_tables"][0]["queues"] is None


def test_it_is_done_within_half_a_second(database: Database, folder: Path) -> None:
    def seconds(command: list[str]) -> float:
        """Processor time, which other work on the machine hardly changes; the server's part is small."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=folder, env=environment(PGQ_OPS_DSN=database.dsn), stdout=subprocess.DEVNULL, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # The fastest of several, taken in turns: whatever else the machine does only ever adds.
    rounds = [(seconds([sys.executable, "-c", "pass"]), seconds([PROGRAM, "inspect"])) for _ in range(7)]
    bare, ours = zip(*rounds, strict=True)
    assert min(ours) <= MOST_TIMES_BARE * min(bare)
