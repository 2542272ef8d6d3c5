"""What a run found, as numbers and sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from soak.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from soak.counters import Balance
    from soak.final import Final
    from soak.history import History
    from soak.run import Run
    from soak.watch import Watch

_SHARES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "longest": 1.0}


@dataclass(frozen=True, slots=True)
class Result:
    """One run. Sections of numbers by what they are, and the violations; without any the run has passed."""

    sections: Mapping[str, Mapping[str, object]]
    violations: tuple[str, ...]

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 (all that there is to tell of)
        cls,
        run: Run,
        seconds: float,
        histories: Mapping[str, History],
        ends: Mapping[str, Final],
        balance: Balance,
        violations: list[str],
    ) -> Result:
        """Put the numbers together."""
        sections: dict[str, Mapping[str, object]] = {"troubles": _troubles(run, seconds)}
        for name, history in histories.items():
            sections[f"job table {name}"] = _jobs(history, ends[name])
            for troubled, when in {False: "", True: ", after trouble"}.items():
                found = [one for (table, *_), one in run.watch.overdue.items() if table == name]
                times = sorted(one.late for one in found if one.troubled is troubled)
                sections[f"{name}: last seen running after lease and grace{when}, s"] = _spread(times)
        sections["watch"] = {
            "looks": run.watch.looks,
            "longest gap, s": round(run.watch.longest_gap, 2),
            "longest beyond what is allowed, s": round(
                max((one.beyond for one in run.watch.overdue.values()), default=0), 2
            ),
        }
        for what, counts in {
            "taken back, by the log": balance.logged,
            "taken back, by the agents' counters": balance.counted,
            "with nobody killed, by the log": balance.calm_logged,
            "with nobody killed, by the counters": balance.calm_counted,
            "counted just before the immediate shutdown": balance.undone,
        }.items():
            sections[what] = {f"{table} {outcome}": number for (table, outcome), number in sorted(counts.items())}
        return cls(sections, tuple(violations))

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"passed": not self.violations, "violations": self.violations, **self.sections}

    def lines(self) -> Iterator[str]:
        """For people."""
        for section, numbers in self.sections.items():
            yield f"{section}"
            yield "  " + ", ".join(f"{name} {number}" for name, number in numbers.items())
        yield "PASSED: no violation" if not self.violations else f"FAILED: {len(self.violations)} violations"
        yield from (f"  {violation}" for violation in self.violations)


def overdue(watch: Watch, slack_seconds: float) -> Iterator[str]:
    """The jobs that stayed running for longer than they may, in words."""
    for (table, job, version, _), one in watch.overdue.items():
        if one.beyond > slack_seconds:
            yield (
                f"{table}: version {version} of job {job} ran on for {one.late:.1f} s after lease and grace,"
                f" {one.beyond:.1f} s longer than the interval and the last trouble explain"
            )


def _troubles(run: Run, seconds: float) -> dict[str, object]:
    return {
        **{str(kind): run.done[kind] for kind in Kind},
        "leaders among the killed": run.agents.leaders_killed,
        "agents in all": len(run.agents.everybody),
        "workers in all": run.crew.hired,
        "workers dead": run.crew.died,
        "of these killed from outside": run.crew.killed,
        "workers stopped": run.crew.stopped,
        "seconds": round(seconds),
    }


def _jobs(history: History, end: Final) -> dict[str, object]:
    claims = history.claims.values()
    states = Counter("moved" if row.moved else row.status for row in end.rows)
    return {
        "jobs": len(end.rows),
        **dict(sorted(states.items())),
        "claims": len(claims),
        "heartbeats": history.attempts["extend"],
        "completed": sum("complete" in claim.ended for claim in claims),
        "failed": sum("release" in claim.ended or "give_up" in claim.ended for claim in claims),
        "refused": sum(bool(claim.refused) for claim in claims),
        "taken back": len(end.log),
        "unknown outcomes": dict(sorted(history.unknown.items())),
        "errors": dict(sorted(history.errors.items())),
    }


def _spread(values: list[float]) -> dict[str, object]:
    """Of the sorted values, those with so large a share at or below them."""
    found: dict[str, object] = {"n": len(values)}
    for name, share in _SHARES.items():
        if values:
            found[name] = round(values[min(len(values) - 1, int(len(values) * share))], 2)
    return found
