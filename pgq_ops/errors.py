"""What can go wrong, as one family of exceptions: the message is what the user reads.

Each class carries the exit code that the command line ends with (design: 2 usage or config,
3 database unreachable or not permitted, 4 an action failed part way).
"""

from __future__ import annotations

from dataclasses import dataclass


class PgqOpsError(Exception):
    """Something the user can act on. `str()` is one clear message, without secrets."""

    exit_code = 2


class UsageError(PgqOpsError):
    """The command cannot be carried out as it was typed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a configuration or a mapping.

    `key` is the dotted path, `where` the file or environment variable it came from,
    `hint` what would be right (may be empty).
    """

    key: str
    what: str
    hint: str = ""
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.key}: {self.what}{hint}"


class ConfigError(PgqOpsError):
    """The configuration, or the table it points at, is not as it must be; lists every problem found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class DatabaseUnreachable(PgqOpsError):
    """No connection could be made, or it was lost."""

    exit_code = 3


class DatabaseFailed(PgqOpsError):
    """The database could not carry out a statement, for a reason of its own (what is stored, a limit, a defect)."""

    exit_code = 3


class NotPermitted(PgqOpsError):
    """The role may not do this; `remedy` is the statement (usually a GRANT) that would allow it."""

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message}\n  {remedy}" if remedy else message)
        self.remedy = remedy


class TableChanged(PgqOpsError):
    """The table is not as it was bound; it is to be bound anew."""

    exit_code = 4


class NotInstalled(PgqOpsError):
    """The `pgq_ops` schema is needed and not there; run `pgq-ops install`."""


class ActionFailed(PgqOpsError):
    """An action was begun and failed part way; the message says what was done and what was not."""

    exit_code = 4
