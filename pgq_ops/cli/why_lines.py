"""The lives of the jobs of one id as lines of a terminal: a line that names the job, then its sentences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.why_history import of as history_of
from pgq_ops.cli.why_life import told
from pgq_ops.cli.why_wording import Said
from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.cli.why_report import Report

_STYLES = {"running": "bold", "ready": "bold green", "dead": "bold red", "unknown": "bold yellow"}


def lines(report: Report, width: int | None) -> Iterator[Text]:
    """All that was found, an empty line between two jobs; without what went wrong: that is the report's failure."""
    first = True
    for found in report.tables:
        named = Counter((facts.life.table, facts.life.id) for facts in found.jobs)
        for facts in found.jobs:
            if not first:
                yield Text()
            first = False
            yield _head(facts, keyed=named[facts.life.table, facts.life.id] > 1)
            for said in told(facts):
                yield from _said(said, width)
        if found.forgotten:
            if not first:
                yield Text()
            first = False
            yield Text.assemble((printable(found.name), "bold"), f"  {printable(report.id)}  not there any more")
            yield from _said(Said("The job is in none of its tables; the reap log remembers it."), width)
            yield from _said(history_of(found.forgotten, found.now), width)


def _head(facts: JobFacts, *, keyed: bool) -> Text:
    """The line that names the job; `keyed`: by its whole key too, as others there have the same id."""
    life = facts.life
    parts = [printable(life.table), printable(life.id if life.id is not None else life.key)]
    if keyed and life.id is not None:
        parts.append(f"key {printable(life.key)}")
    head = Text.assemble((printable(facts.table.name), "bold"), f"  {'  '.join(parts)}  ")
    head.append(life.state, _STYLES.get(life.state, ""))
    about = [f"queue {printable(shown(life.queue))}"] if facts.has("queue") else []
    about += [
        f"{word} {printable(value)}" for word, value in (("kind", life.kind), ("priority", life.priority)) if value
    ]
    created = life.times.get("created_at")
    if created is not None and created.seconds_ago is not None:
        about.append(f"created {ago(created.seconds_ago)} ago")
    head.append("".join(f"  {part}" for part in about), "dim")
    return head


def _said(said: Said, width: int | None) -> Iterator[Text]:
    yield from map(Text, said.wrapped(width))
    yield from (Text(f"  {printable(one)}", "bold") for one in said.commands)
