"""Words that several checks need: counted nouns, queues by name, commands to paste."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pgq_ops.checks.look import Look

# Evidence names the worst queues, not fifty thousand.
_MOST_QUEUES = 10


def counted(number: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def indexes(number: int) -> str:
    """`1 index`, `2 indexes`."""
    return f"{number:,} {'index' if number == 1 else 'indexes'}"


def command(*words: str, operands: Sequence[str] = (), options: Sequence[str] = ()) -> str:
    """A command line for a shell, on one line: `words`, then the operands (names, ids), then the options.

    An operand that begins with `-` would be taken for an option: then they come last, after `--`.
    """
    if any(one.startswith("-") for one in operands):
        return " ".join(map(_word, (*words, *options, "--", *operands)))
    return " ".join(map(_word, (*words, *operands, *options)))


def _word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(char if char.isprintable() else _octal(char) for char in escaped) + "'"


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def reap_commands(look: Look, *options: str) -> str:
    """The command that takes the table's expired leases back, once for each text of options (none: once without).

    Where no configuration file knows the table, first what to write into one.
    """
    commands = [command("pgq-ops", "reap", operands=[look.table.name], options=one.split()) for one in options or ("",)]
    if look.section:
        first = "# a command that changes the table needs a file that describes it; in pgq-ops.toml:"
        commands = [first, look.section, "# then, in a shell:", *commands]
    return "\n".join(commands)


def oldest_first(ages: Iterable[tuple[str | None, float | None]]) -> list[dict[str, str | float | None]]:
    """The queues with the oldest, each with its age in seconds (None: not known, these last)."""
    ranked = sorted(ages, key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), shown(pair[0])))
    return [
        {"queue": shown(queue), "seconds": None if seconds is None else round(seconds, 1)}
        for queue, seconds in ranked[:_MOST_QUEUES]
    ]


def by_queue(numbers: Iterable[tuple[str | None, int]]) -> dict[str, int]:
    """The queues with the highest numbers, those with none left out."""
    ranked = sorted(
        ((shown(queue), number) for queue, number in numbers if number), key=lambda pair: (-pair[1], pair[0])
    )
    return dict(ranked[:_MOST_QUEUES])
