"""Which sessions the agent may end: those that `end_only` names, and no others."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.config.transactions import EndOnly
    from pgq_ops.stats.transactions import Transaction


def matching(rules: Iterable[EndOnly], transaction: Transaction) -> EndOnly | None:
    """The first rule whose every key fits the session; None where there is none, so that no rules fit nobody."""
    return next((rule for rule in rules if _fits(rule, transaction)), None)


def _fits(rule: EndOnly, transaction: Transaction) -> bool:
    pairs = ((rule.application_name, transaction.application_name), (rule.user, transaction.user))
    return all(_pattern(wanted).fullmatch(found) for wanted, found in pairs if wanted is not None)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """`*` stands for any text, `?` for one character, everything else for itself, its case included."""
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(char, re.escape(char)) for char in text), re.DOTALL)
