"""The demo's claims, each judged by the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pgq_ops.demo.evidence import Evidence, Stranding

_IDS_SHOWN = 10

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
        text = text.replace("=", "is not")
        text += f"; {found.open} open, {found.missing} gone, {found.strange} that nobody enqueued"
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
        text = f"{len(lost)} of {len(stranded)} stranded jobs have not come back: {_jobs(lost)}"
        return Check("all_recovered", holds=False, text=text)
    causes = {
        "killed": "of killed workers",
        "hung": "of hung ones",
        "poisoned": "of poisoned ones",
        None: "of slow ones",
    }
    counted = ((sum(each.cause == cause for each in stranded), words) for cause, words in causes.items())
    told = ", ".join(f"{count} {words}" for count, words in counted if count)
    return Check("all_recovered", holds=True, text=f"all {len(stranded)} stranded jobs came back: {told}")


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
    text = f"{len(hung)} late completions by workers that had hung changed nothing"
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
    text = f"{len(poison)} poison jobs buried after exactly {max_attempts} attempts each"
    return Check("poison_buried", holds=bool(poison), text=text)


def trouble_happened(evidence: Evidence, _: int) -> Check:
    """Whether workers really were killed and hung with a job in hand: without that the rest proves nothing."""
    strandings = evidence.strandings
    killed = sum(each.cause == "killed" for each in strandings)
    hung = sum(each.cause == "hung" for each in strandings)
    text = f"{evidence.events.get('killed', 0)} workers killed and {evidence.events.get('hung', 0)} hung, jobs in hand"
    return Check("trouble_happened", killed > 0 and hung > 0, text)


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


def _jobs(strandings: Iterable[Stranding]) -> str:
    ids = [str(each.job) for each in strandings]
    return ", ".join(ids[:_IDS_SHOWN]) + (f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else "")
