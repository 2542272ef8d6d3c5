"""The storage parameters that pgq-ops may set, and those whose place in the list it may move."""

from __future__ import annotations

import re

TOAST = "toast."

# Each is changed under SHARE UPDATE EXCLUSIVE (reloptions.c). `autovacuum_enabled` is none of them: it is the DBA's. A
# revert puts back none but these, so none may leave the list.
_OF_BOTH = (
    "autovacuum_vacuum_threshold",
    "autovacuum_vacuum_max_threshold",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_freeze_min_age",
    "autovacuum_freeze_max_age",
    "autovacuum_freeze_table_age",
    "autovacuum_multixact_freeze_min_age",
    "autovacuum_multixact_freeze_max_age",
    "autovacuum_multixact_freeze_table_age",
    "vacuum_index_cleanup",
    "vacuum_truncate",
)
_OF_TABLES = ("autovacuum_analyze_threshold", "autovacuum_analyze_scale_factor")
SETTABLE = frozenset((*_OF_TABLES, *_OF_BOTH, *(f"{TOAST}{name}" for name in _OF_BOTH)))

# A number or a switch, in any form in which a DBA may have written it.
_VALUE = re.compile(r"[-+. 0-9A-Za-z]{1,40}")
# Of what PostgreSQL knows, only user_catalog_table takes a stronger lock; what a later version brings may too.
_MOVABLE = re.compile(r"(auto)?vacuum_\w+|log_autovacuum_\w+|fillfactor|toast_tuple_target|parallel_workers")


def require_settable(parameter: str, value: str) -> None:
    """Raise ValueError for a parameter that pgq-ops never sets, and for a value that is no number or switch."""
    if parameter not in SETTABLE:
        raise ValueError(f'"{parameter}" is no storage parameter that pgq-ops sets')
    if not _VALUE.fullmatch(value):
        raise ValueError(f'"{value}" is no value of {parameter}')


def is_movable(name: str) -> bool:
    """Whether a parameter (without `toast.`) can be set to what it is, so that it moves to the end, under that lock."""
    return _MOVABLE.fullmatch(name) is not None
