"""Commands on one job to paste, with what must be written into a file before one that acts can be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.wording import command

if TYPE_CHECKING:
    from pgq_ops.cli.why_facts import JobFacts


def reap(facts: JobFacts, *options: str) -> tuple[str, ...]:
    """What takes the table's expired leases back, once for each text of options (none: once without)."""
    names = [facts.table.name]
    return acting(facts, *(command("pgq-ops", "reap", operands=names, options=one.split()) for one in options or ("",)))


def acting(facts: JobFacts, *commands: str) -> tuple[str, ...]:
    """Commands that change the table."""
    if not facts.section:
        return commands
    first = "# a command that changes the table needs a file that describes it; in pgq-ops.toml:"
    return (first, *facts.section.splitlines(), "# then, in a shell:", *commands)
