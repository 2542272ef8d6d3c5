"""The whole configuration. Defaults are those of `pgq-ops.example.toml`."""

import re
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from pgq_ops.config.duration import Interval
from pgq_ops.config.job_table import JobTableConfig
from pgq_ops.config.section import Section, refusal
from pgq_ops.config.time_zone import known_time_zone
from pgq_ops.config.transactions import Transactions

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^\s:\[\]/]*):(?P<port>\d{1,5})")
_MAX_PORT = 65_535


def _split_address(text: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if match and int(match["port"]) <= _MAX_PORT:
        return match["host"].strip("[]"), int(match["port"])
    if match or (text.isdecimal() and int(text) > _MAX_PORT):
        hint = f"a port is a number up to {_MAX_PORT}"
    elif text.isdecimal():
        hint = f'did you mean ":{text}"?'
    else:
        hint = 'write host:port, such as "127.0.0.1:9788", "[::1]:9788" or ":9788"'
    raise refusal("is not an address to listen on", hint)


def _check_address(text: str) -> str:
    _split_address(text)
    return text


class Database(Section):
    """How the database is reached. Without a dsn, libpq's own PG* variables and files decide."""

    dsn: SecretStr | None = None
    direct_dsn: SecretStr | None = None
    owner_role: Annotated[str, Field(min_length=1)] | None = None
    timezone: Annotated[str, AfterValidator(known_time_zone)] = "UTC"


class Agent(Section):
    """How the sidecar behaves. It changes nothing unless its mode is "manage"."""

    mode: Literal["observe", "manage"] = "observe"
    listen: Annotated[str, AfterValidator(_check_address)] = "0.0.0.0:9788"
    collect_every: Interval = timedelta(seconds=5)
    log_format: Literal["text", "json"] = "text"

    @property
    def address(self) -> tuple[str, int]:
        """The host ("" is every interface, IPv6 without brackets) and port to listen on."""
        return _split_address(self.listen)


class Config(Section):
    """Everything that can be configured."""

    database: Database = Database()
    agent: Agent = Agent()
    job_tables: dict[str, JobTableConfig] = Field(default_factory=dict)
    transactions: Transactions = Transactions()
