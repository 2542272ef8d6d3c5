"""Options by which a person says which dead letters are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from pgq_ops.job_table.dead_filter import DeadFilter

# Each is taken as a list: of two, an option for one value would keep the last and say nothing.
QueueOption = Annotated[
    list[str] | None, typer.Option("--queue", metavar="QUEUE", help="Only of this queue, as it is shown.")
]
KindOption = Annotated[list[str] | None, typer.Option("--kind", metavar="KIND", help="Only of this kind.")]
OlderThanOption = Annotated[
    list[str] | None, typer.Option("--older-than", metavar="AGE", help='Only what died longer ago, such as "7d".')
]
NewerThanOption = Annotated[
    list[str] | None, typer.Option("--newer-than", metavar="AGE", help='Only what died since then, such as "1h30m".')
]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option("--error", metavar="TEXT", help="Only with this text in the error, whatever its case."),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, max=1_000_000_000, metavar="N", help="At most so many of each job table."),
]
IdsOption = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="Only this job; may be given several times.")
]


def dead_filter(
    *,
    queue: Sequence[str] | None = None,
    kind: Sequence[str] | None = None,
    older_than: Sequence[str] | None = None,
    newer_than: Sequence[str] | None = None,
    error: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    ids_by: str = "--id",
) -> DeadFilter:
    """The filter that the options say; `ids_by` is how the command at hand takes ids.

    Raises UsageError for an age or a text that is none, an empty one, and all but ids that are given twice.
    """
    from pgq_ops.errors import UsageError
    from pgq_ops.job_table.dead_filter import DeadFilter

    for option, values in {"--queue": queue, "--kind": kind, "--error": error, ids_by: ids}.items():
        for value in values or ():
            if not value:
                hint = ' (a queue without a name is shown as "(empty)")' if option == "--queue" else ""
                way = "leave it out, or fill it in" if option.startswith("--") else "give one"
                raise UsageError(f"{option} is empty, which says nothing: {way}{hint}")
            if not _is_text(value):
                raise UsageError(f"{option}: {value!a} is not valid UTF-8, so no job can have it")
    return DeadFilter(
        queue=_once("--queue", queue),
        kind=_once("--kind", kind),
        older_than=_age("--older-than", older_than),
        newer_than=_age("--newer-than", newer_than),
        error=_once("--error", error),
        ids=tuple(dict.fromkeys(ids or ())),
    )


def _once(option: str, values: Sequence[str] | None) -> str | None:
    from pgq_ops.errors import UsageError

    if not values:
        return None
    if len(values) > 1:
        raise UsageError(f"{option} is there {len(values)} times, and one job has one: run the command for each")
    return values[0]


def _is_text(value: str) -> bool:
    """Whether the words were text: bytes that are none come as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _age(option: str, values: Sequence[str] | None) -> timedelta | None:
    from pgq_ops.errors import UsageError
    from pgq_ops.units import parse_duration

    if (text := _once(option, values)) is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
