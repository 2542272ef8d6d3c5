"""What the collection says of itself: whether, when and how fast it looked, and what it found wrong."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from pgq_ops.metrics import Family

if TYPE_CHECKING:
    from pgq_ops.metrics import Sample

_TABLE = ("database", "job_table")

UP = Family("up", "1 where the last look at the jobs succeeded.", _TABLE)
TIMESTAMP = Family(
    "collection_timestamp_seconds", "When the jobs were last looked at with success, by the database's clock.", _TABLE
)
DURATION = Family("collection_duration_seconds", "How long a probe's last look took.", (*_TABLE, "probe"))
SUCCESS = Family("probe_success", "1 where a probe's last look succeeded.", (*_TABLE, "probe"))
FINDINGS = Family("findings", "What is wrong now: 1 for each open finding.", (*_TABLE, "finding", "severity"))
BUILD = Family("build_info", "The version of pgq-ops.", ("version",))

FAMILIES = (UP, TIMESTAMP, DURATION, SUCCESS, FINDINGS, BUILD)


def build_info() -> Sample:
    """The sample that tells the version."""
    return BUILD.sample(1, version("pgq-ops"))
