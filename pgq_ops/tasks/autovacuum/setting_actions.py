"""The actions of an ALTER TABLE that bring a leaf's storage parameters to what they ought to be, in order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier, literal
from pgq_ops.tasks.autovacuum.settable import TOAST, is_movable
from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from psycopg.sql import Composable

    from pgq_ops.job_table.table import Relation
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow

_PLAIN_NAME = re.compile(r"[a-z_]+")
# What PostgreSQL keeps as it is written also without quotes.
_PLAIN_VALUE = re.compile(r"-?(0|[1-9][0-9]{0,8})(\.[0-9]+)?|on|off|auto")


def actions(changes: Iterable[SettingChange]) -> Composable:
    """SET those that have a value after, in their order, and RESET the others; never all."""
    listed = list(changes)
    kept = [
        sql.SQL("{} = {}").format(_name(change.parameter), _value(change.after))
        for change in listed
        if change.after is not None
    ]
    removed = [_name(change.parameter) for change in listed if change.after is None]
    parts = [sql.SQL("SET ({})").format(sql.SQL(", ").join(kept))] if kept else []
    parts += [sql.SQL("RESET ({})").format(sql.SQL(", ").join(removed))] if removed else []
    return sql.SQL(", ").join(parts)


def statement(relation: Relation, changes: Iterable[SettingChange]) -> str:
    """The whole statement, to paste."""
    whole = sql.SQL("ALTER TABLE ONLY {} {}").format(relation.sql, actions(changes))
    return f"{pasted(whole)};"


def in_order(
    leaf: LeafNow, changes: Sequence[SettingChange], orders: Mapping[str, Sequence[str]]
) -> tuple[SettingChange, ...]:
    """The changes, and others that change nothing but the places, so that names stand in the orders afterwards.

    `orders`: of the table's own parameters (key "") and of its TOAST table's (key `toast.`); names that are not there
    come last. PostgreSQL takes what is SET out of its place and appends it: what ought to stand behind it is set too,
    to what it is. Where that would take a stronger lock, the order is left to PostgreSQL.
    """
    ordered: list[SettingChange] = []
    for prefix in ("", TOAST):
        here = [change for change in changes if change.parameter.startswith(TOAST) == bool(prefix)]
        ordered += _rewritten(prefix, leaf.parameters(prefix), here, orders.get(prefix, ())) if here else []
    return tuple(ordered)


def _rewritten(
    prefix: str, now: Mapping[str, str], changes: Sequence[SettingChange], order: Sequence[str]
) -> list[SettingChange]:
    """Those of one of the two tables."""
    changed = {change.parameter.removeprefix(prefix): change for change in changes}
    after = [name for name in now if name not in changed or changed[name].after is not None]
    after += [name for name, change in changed.items() if name not in now and change.after is not None]
    wanted = [name for name in order if name in after] + [name for name in after if name not in order]
    places = {name: place for place, name in enumerate(now)}
    stay, last = 0, -1
    while stay < len(wanted) and wanted[stay] not in changed and places[wanted[stay]] > last:
        last = places[wanted[stay]]
        stay += 1
    behind = wanted[stay:]
    if not all(name in changed or is_movable(name) for name in behind):
        return list(changes)
    removed = [change for change in changes if change.after is None]
    same = {name: SettingChange(f"{prefix}{name}", now[name], now[name]) for name in behind if name not in changed}
    return [(changed | same)[name] for name in behind] + removed


def _name(parameter: str) -> Composable:
    name = parameter.removeprefix(TOAST)
    plain = sql.SQL(name) if _PLAIN_NAME.fullmatch(name) else identifier(name)
    return sql.SQL("toast.{}").format(plain) if parameter.startswith(TOAST) else plain


def _value(value: str) -> Composable:
    return sql.SQL(value) if _PLAIN_VALUE.fullmatch(value) else literal(value)
