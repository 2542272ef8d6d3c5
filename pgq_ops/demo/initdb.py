"""A fresh data folder for the embedded server."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from pgq_ops.demo.account import hand_over
from pgq_ops.demo.lifeline import ENVIRONMENT
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from pgq_ops.demo.account import Account
    from pgq_ops.demo.binaries import Binaries
    from pgq_ops.demo.server_folder import ServerFolder


class EmbeddedServerError(PgqOpsError):
    """The embedded server could not be made, started or stopped."""

    exit_code = 3


def make_data(folder: ServerFolder, binaries: Binaries, account: Account, password: str) -> None:
    """Run initdb: superuser `postgres`, UTF8, byte-wise sorting, passwords over TCP.

    Everybody on this machine can reach the server's port, and a superuser can run programs: so a
    password is asked for there. The sockets' folder is closed to others. Raises EmbeddedServerError.
    """
    for owned in (folder.data, folder.sockets):
        owned.mkdir(mode=0o700)
        hand_over(owned, account)
    password_file = folder.path / "password"
    password_file.touch(mode=0o600)
    hand_over(password_file, account)
    password_file.write_text(password)
    options = [
        *("-D", str(folder.data), "-U", "postgres", f"--pwfile={password_file}", "-E", "UTF8", "--locale=C"),
        *("--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync", "--no-instructions"),
    ]
    made = subprocess.run(
        [binaries.program("initdb"), *options],
        cwd=folder.path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        **account,
    )
    password_file.unlink()
    if made.returncode:
        raise EmbeddedServerError(f"initdb failed:\n{made.stdout}{made.stderr}")
