"""What it takes to bring a leaf's storage parameters back to what they were before pgq-ops set them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pgq_ops.tasks.autovacuum.settable import SETTABLE, TOAST
from pgq_ops.tasks.autovacuum.setting_actions import in_order
from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange

if TYPE_CHECKING:
    from collections.abc import Collection

    from pgq_ops.schema.settings import Setting
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow


@dataclass(frozen=True, slots=True)
class Undo:
    """Of one leaf. `steps`: the changes, and what is set to what it is so that the order is as it was too.

    `back`: the settings that are as before then; `overridden`: those that somebody else changed since, which stay.
    """

    changes: tuple[SettingChange, ...]
    steps: tuple[SettingChange, ...]
    left: tuple[SettingChange, ...]
    back: tuple[Setting, ...]
    overridden: tuple[Setting, ...]

    @classmethod
    def of(cls, leaf: LeafNow, settings: Collection[Setting], parameters: Collection[str] | None) -> Self:
        """From all settings of the leaf, those of the parameters (None: of all) undone."""
        changes: list[SettingChange] = []
        left: list[SettingChange] = []
        back: list[Setting] = []
        overridden: list[Setting] = []
        for one in settings:
            now = leaf.value(one.parameter)
            # What somebody else wrote there is no licence to change anything else.
            if one.parameter not in (SETTABLE if parameters is None else SETTABLE.intersection(parameters)):
                continue
            if now not in (one.set_value, one.old_value):
                left.append(SettingChange(one.parameter, one.set_value, now))
                overridden.append(one)
                continue
            back.append(one)
            if now != one.old_value:
                changes.append(SettingChange(one.parameter, now, one.old_value))
        steps = in_order(leaf, changes, _orders(settings))
        return cls(tuple(changes), steps, tuple(left), tuple(back), tuple(overridden))


def _orders(settings: Collection[Setting]) -> dict[str, tuple[str, ...]]:
    """The order of the names before the first of the settings, of the table and of its TOAST table."""
    orders: dict[str, tuple[str, ...]] = {}
    for one in sorted(settings, key=lambda one: one.row):
        orders.setdefault(TOAST if one.parameter.startswith(TOAST) else "", one.order_before)
    return orders
