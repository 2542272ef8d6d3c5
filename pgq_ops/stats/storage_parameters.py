"""The storage parameters of a job table's leaves, as they are set now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.job_table.table import Relation


@dataclass(frozen=True, slots=True)
class LeafStorage:
    """One leaf's own parameters, by name, as texts; those of its TOAST table under `toast.` and their name.

    `owner`: who may change them, and `may_change` whether the role that looked does (superusers, the owner, and members
    that inherit). `toast`: whether there is a TOAST table. `closed`: no row that is inserted now comes to lie here, by
    the upper bound; None where the bounds do not tell.
    """

    relation: Relation
    parameters: Mapping[str, str] = field(default_factory=dict)
    toast: bool = False
    owner: str = ""
    may_change: bool = True
    closed: bool | None = None
