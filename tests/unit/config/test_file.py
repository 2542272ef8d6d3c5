from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.load import load
from pgq_ops.errors import ConfigError

if TYPE_CHECKING:
    from tests.unit.config.conftest import Refused

SECRET = "hunter2"  # noqa: S105  # of no database


def message(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, {}, {})
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_the_file_is_the_named_one_else_the_variable_s_else_the_one_here(folder: Path) -> None:
    for name in ("pgq-ops.toml", "variable.toml", "named.toml"):
        (folder / name).write_text(f'[database]\nowner_role = "{name}"')
    variable = {"PGQ_OPS_CONFIG": "variable.toml"}
    assert load(Path("named.toml"), variable, {}).config.database.owner_role == "named.toml"
    assert load(None, variable, {}).config.database.owner_role == "variable.toml"
    assert load(None, {"PGQ_OPS_CONFIG": ""}, {}).config.database.owner_role == "pgq-ops.toml"
    assert load(None, variable, {}).path == Path("variable.toml")


def test_a_named_file_must_be_there(folder: Path) -> None:
    assert message(folder / "no.toml") == f"{folder}/no.toml: there is no such file"
    with pytest.raises(ConfigError, match=r"no\.toml: there is no such file"):
        load(None, {"PGQ_OPS_CONFIG": "no.toml"}, {})


def test_a_folder_is_no_file(folder: Path) -> None:
    assert "is a folder, not a file" in message(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_must_be_readable(folder: Path) -> None:
    (folder / "a.toml").touch(mode=0)
    assert "may not be read by this user" in message(folder / "a.toml")


@pytest.mark.parametrize("text", ["", "  \n\n"])
def test_an_empty_file_is_one_that_is_being_written(folder: Path, text: str) -> None:
    (folder / "a.toml").write_text(text)
    assert "is empty (is it written completely?)" in message(folder / "a.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_read(folder: Path) -> None:
    (folder / "a.toml").write_bytes('\ufeff[agent]\r\nlisten = ":1"\r\n'.encode())
    assert load(Path("a.toml"), {}, {}).config.agent.listen == ":1"


@pytest.mark.parametrize(
    ("content", "position"),
    [(b"[agent]\n# \xe4\n", "line 2, column 3"), ("[agent]".encode("utf-16"), "line 1, column 1")],
)
def test_a_file_in_another_encoding_is_refused_with_the_place(folder: Path, content: bytes, position: str) -> None:
    (folder / "a.toml").write_bytes(content)
    assert message(folder / "a.toml") == f"{folder}/a.toml: {position}: is not UTF-8 (save it as UTF-8)"


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    ("text", "position"),
    [
        (f'[database]\ndsn = "postgresql://u:{SECRET}@db', "line 2, column 33"),
        (f'[database]\ndsn = "postgresql://u:{SECRET}@db\nowner_role = "x"\n', "line 2, column 33"),
        (f"[database]\ndsn = postgresql://u:{SECRET}@db\n", "line 2, column 7"),
        (f'[database]\ndsn = "host=a password={SECRET}\\q"\n', "line 2, column"),
        (f'[database]\ndsn = "a"\ndsn = "password={SECRET}"\n', "line 3, column"),
        (f'[database]\ndsn = """password={SECRET}', "line 2, column"),
        (f'[database]\ndsn "password={SECRET}"', "line 2, column 5"),
        (f'[database]\ndsn = "password={SECRET}" x', "line 2, column"),
        (f'[database]\ndsn = ["password={SECRET}"\n', "line 3, column 1"),
        ("[agent]\n[agent]\n", "line 2, column 7"),
        ("[agent]\nlisten", "line 2, column 7"),
        ("[agent]\nlisten =", "line 2, column 9"),
        ("[agent", "line 1, column 7"),
        ("x = " + "[" * 3000, ""),
        ("x = " + "9" * 5000, ""),
    ],
)
def test_what_is_no_toml_is_one_message_with_the_place_and_without_the_text(
    folder: Path, text: str, position: str
) -> None:
    (folder / "a.toml").write_text(text)
    told = message(folder / "a.toml")
    assert told.startswith(f"{folder}/a.toml: {position}")
    assert "\n" not in told
    assert SECRET not in told


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_a_half_written_file_is_refused_or_is_a_whole_one(folder: Path, cut: int) -> None:
    text = (Path(__file__).parents[3] / "pgq-ops.example.toml").read_text()
    start = text.index("[job_tables.emails]")
    (folder / "a.toml").write_text(text[: start + cut])
    with pytest.raises(ConfigError) as caught:
        load(Path("a.toml"), {}, {})
    assert str(caught.value).startswith("a.toml: ")


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    "line",
    [
        f'dsn = ["{SECRET}"]',
        f'dns = "postgresql://u:{SECRET}@db"',
        f'password = "{SECRET}"',
        f'timezone = "{SECRET}"',
        f'dsn = {{ password = "{SECRET}" }}',
    ],
)
def test_a_wrong_setting_of_the_database_is_refused_without_its_value(refused: Refused, line: str) -> None:
    assert SECRET not in refused(f"[database]\n{line}")


@pytest.mark.case("C2")
@pytest.mark.parametrize("key", ["COLLECT_EVERY", "MODE", "LISTEN", "LOG_FORMAT"])
def test_a_dsn_in_the_wrong_variable_is_not_repeated(refused: Refused, key: str) -> None:
    assert SECRET not in refused(environment={f"PGQ_OPS_AGENT__{key}": f"postgresql://u:{SECRET}@db/app"})
