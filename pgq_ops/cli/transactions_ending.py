"""What `transactions end` does with the sessions that were named, and what it says of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.errors import ActionFailed, NotPermitted, UsageError
from pgq_ops.stats.session_ending import printed
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_result import EndResult
from pgq_ops.tasks.end_session import Fate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.tasks.end_session import SessionEnd

    Named = tuple[int, str]

_SESSION = re.compile(r"([1-9]\d{0,9})@(\d{1,12}\.\d{1,6})", re.ASCII)
_MOST_PID = 2**31 - 1  # PostgreSQL's type for it


def parsed(words: Sequence[str]) -> list[Named]:
    """Each session's pid and the start of its transaction, once; raises UsageError for a word that is no PID@START."""
    found: dict[Named, None] = {}
    for word in words:
        match = _SESSION.fullmatch(word)
        if match is None or int(match[1]) > _MOST_PID:
            raise UsageError(
                f'"{word}" is no PID@START, such as 4242@1764518400.123456: copy it from `pgq-ops transactions list`'
            )
        found[int(match[1]), match[2]] = None
    return list(found)


def end_sessions(loaded: LoadedConfig, wanted: Sequence[Named], *, dry_run: bool) -> EndResult:
    """End each, or plan to. Raises DatabaseUnreachable, and the errors of a statement, where none was ended yet."""
    ended: list[SessionEnd] = []
    with session(loaded, "end sessions", changes=not dry_run) as connection:
        for pid, started in wanted:
            if dry_run:
                ended.append(end_session.plan(connection, pid, started))
                continue
            try:
                ended.append(end_session.end(connection, pid, started, "asked for by pgq-ops transactions end"))
            except (Exception, KeyboardInterrupt) as error:
                done = [one.session for one in ended if one.fate is Fate.ENDED]
                if not done:
                    raise
                stopped = f"ended {', '.join(done)}, and stopped at {printed(pid, started)}"
                raise ActionFailed(f"{stopped}: {str(error) or 'interrupted'}") from error
    return EndResult(tuple(ended), dry_run=dry_run)


def question(going: Sequence[SessionEnd]) -> str:
    """What to ask before they are ended."""
    return (
        f"End {'; '.join(map(str, going))}? Its work is rolled back."
        if len(going) == 1
        else (f"End {len(going)} sessions, and roll back their work: {'; '.join(map(str, going))}?")
    )


def lines(result: EndResult) -> Iterator[str]:
    """The result for people, without what went wrong: that is its failure."""
    for one in result.with_fate(Fate.ENDED):
        yield f"{'would end' if result.dry_run else 'ended'} {one}"
    for one in result.with_fate(Fate.GONE):
        yield f"{one.session}: {one.reason}; nothing was ended"


def failure(result: EndResult) -> PgqOpsError | None:
    """What the command ends with where a session would not end, it was not permitted, or such are never ended."""
    verb = "would not be ended" if result.dry_run else "was not ended"
    return united(_error(one, verb) for one in result.sessions if one.fate not in (Fate.ENDED, Fate.GONE))


def _error(one: SessionEnd, verb: str) -> PgqOpsError:
    message = f"{one} {verb}: {one.reason}"
    if one.fate is Fate.STILL_THERE:
        return ActionFailed(message)
    if one.fate is Fate.NOT_PERMITTED:
        return NotPermitted(message, one.remedy)
    return UsageError(message)
