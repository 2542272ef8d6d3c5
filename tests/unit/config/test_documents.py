"""What is written about the settings, against the settings there are."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pgq_ops.config.load import load
from pgq_ops.config.model import Config
from pgq_ops.config.presets import preset_names, read_preset
from pgq_ops.config.schema import all_paths
from pgq_ops.config.show import document

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "pgq-ops.example.toml").read_text()
NAMES = {"job_tables": "emails", "queues": "video"}
EVERYTHING = re.sub(r"^#(?=[\[a-z])", "", EXAMPLE, flags=re.MULTILINE)
OFF = "dsn direct_dsn owner_role preset heartbeat_at leased_at queue kind priority max_attempts created_at finished_at"
OFF += " order error payload blocked cancelled timeout missing_after max_runtime dead_letter_table done_after"
OFF += " dead_after"


def at(content: Any, path: tuple[str, ...]) -> Any:
    parent = ""
    for key in path:
        content, parent = content[NAMES[parent] if key == "<name>" else key], key
    return content


def setting_paths() -> list[tuple[str, ...]]:
    return [path for path in all_paths(Config) if "queues" not in path[:-1]]


@pytest.mark.parametrize("path", setting_paths(), ids=".".join)
def test_every_setting_is_in_the_example_file(path: tuple[str, ...]) -> None:
    at(tomllib.loads(EVERYTHING), path)


@pytest.mark.parametrize("path", setting_paths(), ids=".".join)
def test_every_setting_is_in_the_reference(path: tuple[str, ...]) -> None:
    text = (ROOT / "docs/config.md").read_text()
    assert re.search(rf"[`.\[]{path[-1]}[`.\]]", text)


@pytest.mark.parametrize("text", [EXAMPLE, EVERYTHING], ids=["as it is", "with everything on"])
def test_the_example_file_can_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    loaded = load(tmp_path / "a.toml", {}, {})
    assert loaded.config.agent.mode == "observe"


def test_the_example_file_asks_for_no_task() -> None:
    assert load(ROOT / "pgq-ops.example.toml", {}, {}).config.job_tables["emails"].requested_tasks == frozenset()


def test_the_example_file_shows_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(EVERYTHING)
    minimal = '[job_tables.emails]\ntable = "x"\npreset = "lease"\nretention = {}\nautovacuum = {}\n'
    (tmp_path / "minimal.toml").write_text(minimal)
    shown, default = (document(load(tmp_path / name, {}, {})) for name in ("all.toml", "minimal.toml"))
    sections = {path[:-1] for path in setting_paths()}
    for path in setting_paths():
        if path not in sections and path[-1] not in {*OFF.split(), "table", "queues", "<name>"}:
            assert at(shown, path) == at(default, path), path


def test_the_presets_are_those_of_the_articles() -> None:
    assert set(preset_names()) >= {"lease", "started-at"}


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_a_valid_mapping_that_asks_for_no_task(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.toml").write_text(f'[job_tables.a]\ntable = "a"\npreset = "{name}"')
    loaded = load(tmp_path / "a.toml", {}, {})
    assert loaded.config.job_tables["a"].requested_tasks == frozenset()
    assert not {"table", "preset", "retention", "autovacuum"} & set(read_preset(name))


def test_configuration_needs_neither_database_nor_terminal_libraries() -> None:
    code = "import sys, pgq_ops.config.load, pgq_ops.config.show; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"psycopg", "apscheduler", "rich", "typer", "prometheus_client"} & set(modules)
