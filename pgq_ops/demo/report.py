"""The summary as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.demo.schedule import REAP_EVERY
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.demo.summary import Summary
    from pgq_ops.demo.verdict import Check

_NEXT = """\
Next: README.md shows the few lines of pgq-ops.toml that point pgq-ops at your
own job table. `pgq-ops inspect` then shows its queues, and `pgq-ops agent` runs
beside your workers. To look around in this one: `pgq-ops demo --keep`."""


def lines(summary: Summary) -> Iterator[Text]:
    """Yield the summary line by line."""
    yield Text(f"\nChecked against the job table and the workers' own record, {summary.seconds:.0f} s:\n", "bold")
    for check in summary.checks:
        yield _verdict(summary, check)
    if times := summary.recovery:
        told = f"median {times.median:.2f} s, p95 {times.p95:.2f} s, longest {times.max:.2f} s"
        yield Text(
            f"\nFrom the end of a lease, with the reaper coming by every {format_duration(REAP_EVERY)}, until its job"
        )
        yield Text(f"was back: {told}.")
    yield Text()
    if summary.interrupted:
        yield Text("Interrupted: what has no verdict could not be judged yet.", "bold yellow")
    elif summary.holds:
        yield Text("All of it holds.\n", "bold green")
        yield Text(_NEXT)
    elif summary.agent:
        yield Text("Not all of it holds.", "bold red")
    else:
        yield Text("Not all of it holds: no agent took back what the workers left behind.", "bold red")


def _verdict(summary: Summary, check: Check) -> Text:
    if not summary.is_judged(check):
        return Text(f"  --  {check.text}")
    word, style = ("ok", "green") if check.holds else ("NO", "bold red")
    return Text.assemble("  ", (word, style), "  ", check.text)
