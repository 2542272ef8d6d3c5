"""What other users of the machine can see of the demo and its server: command lines, and files."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgq_ops.demo.sidecar import Sidecar
from tests.support.agent import wait_until
from tests.support.article_tables import LEASE_TABLE

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.postgres import Server


def command_lines() -> str:
    """Those of all processes, as everybody can read them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(entry.read_bytes().decode(errors="replace"))
        except OSError:  # it has ended
            continue
    return "\n".join(found)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.case("C2")
def test_the_demo_s_agent_has_the_password_neither_on_its_command_line_nor_in_its_files(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if database.server.embedded is None:
        pytest.skip("the server is not the embedded one")
    database.execute(LEASE_TABLE)
    # What the person who starts the demo has for other databases is none of its processes' business.
    monkeypatch.setenv("PGQ_OPS_DATABASE__DIRECT_DSN", "host=elsewhere password=elsewhere-only")
    sidecar = Sidecar(database.dsn, tmp_path)
    try:
        wait_until(sidecar.is_ready, 30, "the agent is ready")
        seen = command_lines()
        environment = Path(f"/proc/{sidecar._process.pid}/environ").read_text()
    finally:
        sidecar.end()
    assert str(sidecar.config) in seen
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    for public in (seen, written):
        assert database.server.embedded.password not in public
    assert "elsewhere" not in environment


def test_the_embedded_server_s_folder_can_be_passed_through_and_not_looked_into(server: Server) -> None:
    if server.embedded is None:
        pytest.skip("the server is not the embedded one")
    folder = server.embedded.folder
    assert mode(folder.path) == 0o711
    assert mode(folder.data) == 0o700
    assert mode(folder.sockets) == 0o700
    assert {path.name for path in folder.path.iterdir()} == {"data", "sockets", "server.log", "owner"}
    for path in (folder.log, folder.data / "pg_hba.conf"):
        assert server.embedded.password not in path.read_text(errors="replace")
