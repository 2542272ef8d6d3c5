"""Options by which a person says which dead letters are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from pgq_ops.job_table.dead_filter import DeadFilter

QueueOption = Annotated[
    str | None, typer.Option("--queue", metavar="QUEUE", help="Only of this queue, as it is shown.")
]
KindOption = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Only of this kind.")]
OlderThanOption = Annotated[
    str | None, typer.Option("--older-than", metavar="AGE", help='Only what died longer ago, such as "7d".')
]
NewerThanOption = Annotated[
    str | None, typer.Option("--newer-than", metavar="AGE", help='Only what died since then, such as "1h30m".')
]
ErrorOption = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="Only with this text in the error, whatever its case.")
]
IdsOption = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="Only this job; may be given several times.")
]


def dead_filter(
    *,
    queue: str | None = None,
    kind: str | None = None,
    older_than: str | None = None,
    newer_than: str | None = None,
    error: str | None = None,
    ids: Sequence[str] | None = None,
) -> DeadFilter:
    """The filter that the options say. Raises UsageError for an age, or a text, that is none."""
    from pgq_ops.errors import UsageError
    from pgq_ops.job_table.dead_filter import DeadFilter

    texts = {"--queue": [queue], "--kind": [kind], "--error": [error], "--id": ids or []}
    for option, values in texts.items():
        for value in values:
            if value is not None and not _is_text(value):
                raise UsageError(f"{option}: {value!a} is not valid UTF-8, so no job can have it")
    return DeadFilter(
        queue=queue,
        kind=kind,
        older_than=_age("--older-than", older_than),
        newer_than=_age("--newer-than", newer_than),
        error=error,
        ids=tuple(ids or ()),
    )


def _is_text(value: str) -> bool:
    """Whether the words were text: bytes that are none come as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _age(option: str, text: str | None) -> timedelta | None:
    from pgq_ops.errors import UsageError
    from pgq_ops.units import parse_duration

    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
