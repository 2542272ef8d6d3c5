"""Numbers as the screen shows them: what is not exact is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.cli.inspection.rows import QueueRow
    from pgq_ops.stats.depth import Count

UNKNOWN = "?"
_MILLION = 1_000_000
# A live screen is two seconds old anyway.
_OLD_SECONDS = 5.0


def count(number: Count | None) -> str:
    """`1,200`; `~12,000` for an estimate, `~11.2M` from a million on; `?` where nothing is known."""
    if number is None:
        return UNKNOWN
    if number.exact:
        return f"{number.value:,}"
    return f"~{number.value:,}" if number.value < _MILLION else f"~{number.value / _MILLION:,.1f}M"


def waiting(row: QueueRow) -> str:
    """How long the oldest ready job has waited against what was promised: `7m12s > 5m`; `-` with none ready."""
    age = row.oldest_ready
    if age is None:
        return UNKNOWN if row.promised_seconds is not None else "-"
    if not age.seconds and age.exact and not row.jobs("ready"):
        return "-"
    waited = ("" if age.exact else "~") + ago(age.seconds)
    if row.promised_seconds is None:
        return waited
    return f"{waited} {'>' if row.lateness else '<'} {format_duration(row.promised_seconds)}"


def ago(seconds: float) -> str:
    """A duration with its two largest units, whole seconds."""
    return format_duration(max(0.0, float(round(seconds))))


def as_of(age_seconds: float) -> str:
    """` (12s ago)` for what was not read just now, else nothing."""
    return f" ({ago(age_seconds)} ago)" if age_seconds >= _OLD_SECONDS else ""
