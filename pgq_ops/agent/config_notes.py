"""What of a configuration may not be as its author thinks, told when it is taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.config.schema import dotted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.agent.registry import TaskKind
    from pgq_ops.config.load import LoadedConfig

log = logs.get("agent")


def tell_notes(loaded: LoadedConfig, kinds: Sequence[TaskKind]) -> None:
    """Log the notes, and that an agent that should manage has nothing to manage."""
    for note in loaded.notes:
        log.info("config.note", note=note)
    tables = loaded.config.job_tables
    asked_for = {section for table in tables.values() for section in table.requested_tasks}
    asked = not asked_for.isdisjoint(kind.section for kind in kinds)
    if loaded.config.agent.mode == "manage" and not (asked or loaded.config.transactions.ends_sessions):
        wanted = dict.fromkeys(kind.section for kind in kinds)
        sections = " or ".join(f"[{dotted(('job_tables', next(iter(tables)), section))}]" for section in wanted)
        hint = f'add a section such as {sections} to the configuration, or set agent.mode = "observe"'
        log.warning("config.nothing_to_manage", hint=hint)
