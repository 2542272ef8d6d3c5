"""The record's entries as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.demo.look import Entry


def sentence(entry: Entry) -> str:
    """Tell what happened to a job."""
    if entry.event == "refused":
        return f"{entry.worker} woke up; its late completion of job {entry.job} changed nothing"
    after = "" if entry.lease_over_seconds is None else f", {entry.lease_over_seconds:.2f} s after its lease ended"
    return f"reaper {entry.event} job {entry.job} of {entry.worker}{after}"
