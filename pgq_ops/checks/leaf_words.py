"""The tables that hold the jobs as findings name them: in a sentence, as evidence, in SQL to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.table_health import LeafHealth

# A sentence names few of a hundred partitions, evidence and commands some more.
_MOST_IN_A_SENTENCE = 3
MOST_NAMED = 10


def named(leaves: Sequence[LeafHealth]) -> str:
    """`public.jobs`, or the first of several and how many more."""
    names = ", ".join(str(leaf.relation) for leaf in leaves[:_MOST_IN_A_SENTENCE])
    more = len(leaves) - _MOST_IN_A_SENTENCE
    return f"{names} and {counted(more, 'other table')}" if more > 0 else names


def numbers(leaves: Sequence[LeafHealth], number: Callable[[LeafHealth], float | None]) -> dict[str, float | None]:
    """A number of each of the first leaves, by name."""
    return {str(leaf.relation): number(leaf) for leaf in leaves[:MOST_NAMED]}


def vacuum(look: Look, leaves: Sequence[LeafHealth], *options: str) -> str:
    """The VACUUM of these leaves; of all of them through the job table where they are many.

    Without truncation, whose lock every claim would wait for.
    """
    given = ", ".join((*options, "TRUNCATE off"))
    relations = [leaf.relation for leaf in leaves] if len(leaves) <= MOST_NAMED else [look.table.relation]
    return "\n".join(f"VACUUM ({given}) {plain(relation.sql)};" for relation in relations)
