"""Commands, settings, log events, files, links and make targets that the pages name are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from pgq_ops.cli.app import COMMANDS, app
from pgq_ops.config.model import Config
from pgq_ops.config.schema import all_paths
from tests.support.pages import PAGES, ROOT, quoted, steps

if TYPE_CHECKING:
    from pathlib import Path

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

# What users write, or what is made: not in the repository.
THEIRS = {"pgq-ops.toml"}
SECTIONS = "database|agent|columns|states|claim|lease|slo|reaper|retention|autovacuum|transactions"


def commands(page: Path) -> set[str]:
    written = quoted(page) | {step.command.partition("|")[0] for step in steps(page)}
    return {text for text in written if re.match(r"pgq-ops [a-z]", text)}


def resolved(words: list[str]) -> Any:
    """The command that these words name."""
    found: Any = get_command(app)
    while words and hasattr(found, "get_command") and not words[0].startswith("-"):
        found = found.get_command(found.make_context("pgq-ops", [], resilient_parsing=True), words.pop(0))
        assert found is not None
    return found


def options(command: Any) -> set[str]:
    written = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return written | {"--help"}


def log_events() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "pgq_ops").rglob("*.py"))
    return {event for source in sources for event in re.findall(r"\blog\.\w+\(\s*\"([a-z_.]+)\"", source)}


@every_page
def test_commands_that_are_named_exist_with_their_options(page: Path) -> None:
    for written in commands(page):
        words = written.split()[1:]
        command = resolved(words)
        given = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert given <= options(command), written


@every_page
def test_settings_that_are_named_exist(page: Path) -> None:
    known = {".".join(path) for path in all_paths(Config)}
    named = {text for text in quoted(page) if re.fullmatch(rf"({SECTIONS})(\.[a-z_]+)+", text)} - log_events()
    assert {name for name in named if not any(f".{path}".endswith(f".{name}") for path in known)} == set()


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    named = {text for text in quoted(page) - THEIRS if re.fullmatch(r"[\w./-]+(/|\.(py|sql|toml|sh|md|service))", text)}
    places = (ROOT, ROOT / "pgq_ops", page.parent)
    for name in named:
        bare = "/" not in name and any((ROOT / "pgq_ops").rglob(name))
        assert bare or any((place / name).exists() for place in places), name


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@every_page
def test_make_targets_that_are_named_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {match[1] for text in quoted(page) if (match := re.match(r"make ([a-z]+)", text))}
    assert named <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_every_command_is_named_in_the_readme() -> None:
    named = {written.split()[1] for written in commands(ROOT / "README.md")} | {"demo"}
    assert {entry.name for entry in COMMANDS} - named == set()


def test_something_of_each_kind_was_looked_at() -> None:
    texts = set().union(*map(quoted, PAGES))
    assert {"agent.listen", "pgq_ops/scheduler/timetable.py", "make venv"} <= texts
    assert "pgq-ops reap --dry-run" in commands(ROOT / "README.md")
