"""The demo's claims, each judged by the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pgq_ops.demo.evidence import Evidence, Stranding

_IDS_SHOWN = 10

_CAUSES = ("killed", "hung", "poisoned", None)

# What can be judged of a run that was cut short: the others hold only once the queue has drained.
JUDGED_AT_ANY_TIME = frozenset({"no_double_completion", "not_too_early"})


@dataclass(frozen=True, slots=True)
class Check:
    """One claim: its name, whether it holds, and a sentence with the numbers."""

    name: str
    holds: bool
    text: str


def nothing_lost(evidence: Evidence, _: int) -> Check:
    """Whether every job that was enqueued is done or dead, and no other row is there."""
    found = evidence.outcomes
    holds = found.enqueued == found.done + found.dead and not found.strange
    text = f"{found.enqueued} jobs enqueued = {found.done} done + {found.dead} dead"
    if not holds:
        rest = f"{found.open} open, {found.missing} gone, {found.strange} that nobody enqueued"
        text = f"{found.enqueued} jobs enqueued: {found.done} done, {found.dead} dead, {rest}"
    return Check("nothing_lost", holds, text)


def no_double_completion(evidence: Evidence, _: int) -> Check:
    """Whether each done job was completed once, under the claim that was current."""
    wrong = evidence.double_completions
    if wrong:
        told = "; ".join(f"job {job} {what}" for job, what in wrong[:_IDS_SHOWN])
        return Check("no_double_completion", holds=False, text=f"completions that must not be: {told}")
    completed = evidence.events.get("completed", 0)
    text = f"no job completed twice: {completed} completions, each under its job's last claim"
    return Check("no_double_completion", completed == evidence.outcomes.done, text)


def all_recovered(evidence: Evidence, _: int) -> Check:
    """Whether each job whose worker died or hung came back."""
    stranded = evidence.strandings
    lost = [stranding for stranding in stranded if stranding.taken_back is None]
    if lost:
        text = f"of {_times(len(stranded), 'job')} left behind {len(lost)} did not come back: {_jobs(lost)}"
        return Check("all_recovered", holds=False, text=text)
    counted = ((sum(each.cause == cause for each in stranded), cause or "slow") for cause in _CAUSES)
    told = ", ".join(f"{count} {cause}" for count, cause in counted if count)
    text = f"all {_times(len(stranded), 'job')} left behind came back ({told or 'no'} workers)"
    return Check("all_recovered", holds=True, text=text)


def not_too_early(evidence: Evidence, _: int) -> Check:
    """Whether no lease was taken before it ended."""
    early = [each for each in evidence.strandings if each.seconds is not None and each.seconds < 0]
    if early:
        return Check("not_too_early", holds=False, text=f"leases taken before they ended: {_jobs(early)}")
    return Check("not_too_early", holds=True, text="no lease was taken before it ended")


def late_completions_refused(evidence: Evidence, _: int) -> Check:
    """Whether each worker that hung past its lease tried to complete its job, in vain."""
    hung = [each for each in evidence.strandings if each.cause == "hung" and each.taken_back]
    silent = [each for each in hung if not each.tried_late]
    if silent:
        text = f"hung workers of which no late completion was seen: {_jobs(silent)}"
        return Check("late_completions_refused", holds=False, text=text)
    text = f"{_times(len(hung), 'late completion')} by workers that had hung: nothing was changed"
    return Check("late_completions_refused", holds=True, text=text)


def poison_buried(evidence: Evidence, max_attempts: int) -> Check:
    """Whether poison jobs are dead, and all dead jobs were tried exactly as often as allowed."""
    poison = [each for each in evidence.burials if each.poison]
    wrong = [
        each for each in evidence.burials if each.status != "failed" or not each.attempts == each.claims == max_attempts
    ]
    if wrong:
        told = "; ".join(f"job {each.job} is {each.status} after {each.claims} claims" for each in wrong[:_IDS_SHOWN])
        return Check("poison_buried", holds=False, text=f"not buried after exactly {max_attempts} attempts: {told}")
    dead = _times(len(evidence.burials), "dead job")
    text = f"{dead}, {len(poison)} of them poison: each was tried exactly {max_attempts} times"
    return Check("poison_buried", holds=bool(poison), text=text)


def trouble_happened(evidence: Evidence, _: int) -> Check:
    """Whether workers really were killed and hung with a job in hand: without that the rest proves nothing."""
    killed, hung, poisoned = (evidence.events.get(event, 0) for event in ("killed", "hung", "poisoned"))
    text = f"trouble: {_times(killed, 'worker')} killed, {hung} hung, {poisoned} killed by poison jobs"
    return Check("trouble_happened", killed > 0 and hung > 0 and poisoned > 0, text)


# In the order in which they are told.
CHECKS: tuple[Callable[[Evidence, int], Check], ...] = (
    trouble_happened,
    all_recovered,
    not_too_early,
    nothing_lost,
    no_double_completion,
    late_completions_refused,
    poison_buried,
)


def _times(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _jobs(strandings: Iterable[Stranding]) -> str:
    ids = [str(each.job) for each in strandings]
    return ", ".join(ids[:_IDS_SHOWN]) + (f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else "")
