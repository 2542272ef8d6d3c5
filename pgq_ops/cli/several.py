"""What a command ends with where several of its job tables could not be worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.errors import ActionFailed, ConfigError, PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Iterable


def united(errors: Iterable[PgqOpsError]) -> PgqOpsError | None:
    """One error that tells all of them; None where there is none.

    Its exit code is that of an action that failed, else that of a wrong configuration, else the first one's.
    """
    found = list(errors)
    wrong = [error for error in found if isinstance(error, ConfigError)]
    problems = tuple(dict.fromkeys(problem for error in wrong for problem in error.problems))
    parts: list[PgqOpsError] = [ConfigError(problems)] if wrong else []
    parts += [error for error in found if not isinstance(error, ConfigError)]
    if len(parts) <= 1:
        return parts[0] if parts else None
    message = "\n".join(dict.fromkeys(map(str, parts)))
    if any(isinstance(error, ActionFailed) for error in parts):
        return ActionFailed(message)
    return PgqOpsError(message) if wrong else type(parts[0])(message)
