"""What `--help` says, and that it is there at once.

The golden files are written anew by `PGQ_OPS_WRITE_GOLDEN=1 make test TESTS=tests/acceptance/test_help.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from pgq_ops.cli.app import COMMANDS
from tests.support.command import PROGRAM, environment, run
from tests.support.pages import ROOT

GOLDEN = Path(__file__).parent / "golden"
WRITE = "PGQ_OPS_WRITE_GOLDEN" in os.environ
SUBCOMMANDS = [
    ("config", "check"),
    ("config", "show"),
    ("dead", "list"),
    ("dead", "show"),
    ("dead", "retry"),
    ("dead", "export"),
    ("dead", "purge"),
    ("transactions", "list"),
    ("transactions", "end"),
    ("autovacuum", "plan"),
    ("autovacuum", "apply"),
    ("autovacuum", "revert"),
]
COMMAND_LINES = [(), *((entry.name,) for entry in COMMANDS), *SUBCOMMANDS]

HEAVY = ("psycopg", "apscheduler", "prometheus_client", "pydantic", "rich", "pgq_ops.config", "pgq_ops.db")
LIST_MODULES = """
import sys
from pgq_ops.cli.app import main
sys.argv[0] = "pgq-ops"
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""

# performance.md: at most 0.15 s where the bare interpreter takes 0.02 s.
MOST_TIMES_BARE = 7.5


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(("pgq-ops", *words)))
def test_help_is_as_written_down(words: tuple[str, ...], tmp_path: Path) -> None:
    result = run(*words, "--help", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    path = GOLDEN / f"{'-'.join(('pgq-ops', *words))}.txt"
    if WRITE:
        path.write_text(result.stdout, encoding="utf-8")
    assert result.stdout == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(("pgq-ops", *words)))
def test_help_tells_choices_and_no_python_types(words: tuple[str, ...], tmp_path: Path) -> None:
    text = run(*words, "--help", cwd=tmp_path).stdout
    assert "list[" not in text
    assert "<str>" not in text


def test_no_help_is_written_down_for_a_command_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {"-".join(("pgq-ops", *words)) for words in COMMAND_LINES}


def test_the_list_of_commands_names_each_once_and_on_one_line(tmp_path: Path) -> None:
    lines = run("--help", cwd=tmp_path).stdout.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in listed] == [entry.name for entry in COMMANDS]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["reap", "--help"], ["grants", "--help"], ["dead", "list", "--help"]]
)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, *arguments], env=environment(), capture_output=True, text=True, check=True
    )
    loaded = set(result.stderr.split())
    assert "pgq_ops.cli.app" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_version_needs_no_search_for_it() -> None:
    result = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, "--version"], env=environment(), capture_output=True, text=True, check=True
    )
    assert "importlib.metadata" not in result.stderr.split()


def test_the_version_is_the_package_s(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run("--version", cwd=tmp_path).stdout == f"pgq-ops {project['version']}\n"


def test_help_takes_little_more_than_the_interpreter() -> None:
    def seconds(command: list[str]) -> float:
        began = time.perf_counter()
        subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    # The fastest of several, taken in turns: whatever else the machine does only ever adds.
    bare, ours = zip(
        *((seconds([sys.executable, "-c", "pass"]), seconds([PROGRAM, "--help"])) for _ in range(7)), strict=True
    )
    assert min(ours) <= MOST_TIMES_BARE * min(bare)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["isntall"], "No such command 'isntall'. Did you mean 'install'?"),
        (["config", "shwo"], "Did you mean 'show'?"),
        (["xyz"], "No such command 'xyz'."),
        (["install", "--jsno"], "No such option: --jsno"),
        (["grants"], "Missing argument"),
        (["grants", "x", "--tier", "root"], "root"),
    ],
)
def test_what_was_mistyped_is_told_with_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["install", "--sql"], ["config", "show"]])
def test_a_full_disk_is_one_clear_message(arguments: list[str], tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    message = "Error: the output could not be written: No space left on device\n"
    assert (result.returncode, result.stderr) == (4, message)


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    for arguments in (["install", "--sql"], ["config", "show"]):
        process = subprocess.Popen(
            [PROGRAM, *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        assert (process.wait(30), process.stderr.read()) == (141, "")
        process.stderr.close()
