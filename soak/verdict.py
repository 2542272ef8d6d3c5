"""Holds the workers' record against the tables and the reap log: every difference is a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soak.terms import CAP, SETTLE_SECONDS, JobTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from soak.final import Final, Row
    from soak.history import History

_DEAD = frozenset({"failed", "dead"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """One job table's record and end. `starts_us`: when the server was started, in microseconds of the epoch."""

    table: JobTable
    history: History
    final: Final
    starts_us: frozenset[int] = frozenset()

    def violations(self) -> Iterator[str]:
        """What must not be, in words; nothing if all is well."""
        for check in (self._lost, self._ends, self._claims, self._log, self._live, self._settled, self._errors):
            for found in check():
                yield f"{self.table.name}: {found}"

    def taken_back(self) -> tuple[dict[tuple[int, int], str], set[tuple[int, int]]]:
        """What the reaper must have done, by job and version; and the claims that it or their worker may have ended."""
        must: dict[tuple[int, int], str] = {}
        may: set[tuple[int, int]] = set()
        for row in self.final.rows:
            for version in range(1, row.version + 1):
                claim = self.history.claims.get((row.job, version))
                last = version == row.version
                if (claim is not None and claim.ended) or (last and row.status not in _DEAD):
                    continue
                # A completion that was committed would have been the job's end; so would giving it up.
                doubt = "give_up" if last and not row.moved else "release" if not last else ""
                if claim is not None and doubt in claim.tried:
                    may.add((row.job, version))
                else:
                    must[row.job, version] = "dead_lettered" if last else "requeued"
        return must, may

    def _lost(self) -> Iterator[str]:
        rows = {row.job for row in self.final.rows}
        yield from (f"job {job} was enqueued and is nowhere" for job in sorted(self.history.enqueued - rows))
        yield from (f"job {job} is there {times} times" for job, times in self.final.copies().items())
        if len(more := rows - self.history.enqueued) > self.history.unknown_jobs:
            yield f"{len(more)} jobs that nobody enqueued, but only {self.history.unknown_jobs} may have been"

    def _ends(self) -> Iterator[str]:
        """Each job's end is the one that a worker or the reaper gave it, under its last version."""
        for row in self.final.rows:
            if row.status not in {"done", *_DEAD}:
                yield f"job {row.job} is still {row.status}"
            if row.attempts > CAP or row.attempts != row.version:
                yield f"job {row.job} has {row.attempts} attempts after {row.version} claims, the cap is {CAP}"
            claim = self.history.claims.get((row.job, row.version))
            ends = set() if claim is None else {*claim.ended, *claim.tried}
            if row.status == "done" and "complete" not in ends:
                yield f"job {row.job} is done under version {row.version}, which nobody completed"
            if row.moved and row.attempts < CAP:
                yield f"job {row.job} was buried after {row.attempts} of {CAP} attempts"

    def _claims(self) -> Iterator[str]:
        """No version was given twice or ended twice, and what a worker was told had happened stands."""
        rows = {row.job: row for row in self.final.rows}
        seen = Counter(job for job, _ in self.history.claims)
        unrecorded = sum(row.version - seen[row.job] for row in rows.values())
        if unrecorded > self.history.unknown["claim"]:
            yield f"{unrecorded} claims that no worker made, but only {self.history.unknown['claim']} may have been"
        for (job, version), claim in self.history.claims.items():
            if len(claim.holders) > 1:
                yield f"version {version} of job {job} was given to {', '.join(claim.holders)}"
            if len(claim.ended) > 1:
                yield f"version {version} of job {job} was ended twice: {', '.join(claim.ended)}"
            row = rows.get(job)
            if row is not None and version > row.version:
                yield f"version {version} of job {job} was undone: the row has version {row.version}"
            elif row is not None and claim.ended and not _stands(row, version, claim.ended[0]):
                yield f"job {job}: {claim.ended[0]} of version {version} was undone: {row.status} {row.version}"

    def _log(self) -> Iterator[str]:
        """The reap log has a line for each job taken back, and no other."""
        must, may = self.taken_back()
        logged = Counter((line.job, line.version, line.outcome) for line in self.final.log)
        for (job, version, outcome), times in logged.items():
            if times > 1:
                yield f"version {version} of job {job} was {outcome} {times} times in the log"
            if must.get((job, version)) != outcome and (job, version) not in may:
                yield f"the log says that version {version} of job {job} was {outcome}: it was not"
            if (version >= CAP) != (outcome == "dead_lettered"):
                yield f"job {job} was {outcome} after {version} of {CAP} attempts"
        for (job, version), outcome in must.items():
            if (job, version, outcome) not in logged:
                yield f"version {version} of job {job} was {outcome}, and the log does not say so"

    def _live(self) -> Iterator[str]:
        """Nothing was taken from a worker before the end of the lease that it was told of, and the grace."""
        grace_us = round(self.table.grace_seconds * 1e6)
        taken = {(line.job, line.version): line.at_us for line in self.final.log}
        claims = self.history.claims
        for (job, version), claim in claims.items():
            moments: list[tuple[str, int, int]] = []
            if (at_us := taken.get((job, version))) is not None:
                moments.append(("taken back", at_us, claim.until_us))
            if not claim.ended and not claim.tried and (later := claims.get((job, version + 1))) is not None:
                moments.append(("claimed by another", later.claimed_us, claim.until_us))
            if not claim.tried:
                moments += [("refused to its worker", at_us, until_us) for at_us, until_us in claim.refused]
            for what, at_us, until_us in moments:
                if at_us < until_us + grace_us:
                    early = (until_us + grace_us - at_us) / 1e6
                    yield f"version {version} of job {job} was {what} {early:.3f} s before lease and grace were over"

    def _settled(self) -> Iterator[str]:
        """Nothing was taken back right after the server was started."""
        for line in self.final.log:
            for start_us in self.starts_us:
                if 0 <= (after := (line.at_us - start_us) / 1e6) < SETTLE_SECONDS:
                    yield f"job {line.job} was {line.outcome} {after:.3f} s after the server started"

    def _errors(self) -> Iterator[str]:
        """Workers see no errors but those of a lost connection (classes 08 and 57)."""
        for state, times in self.history.errors.items():
            if state != "lost" and state[:2] not in {"08", "57"}:
                yield f"workers met the error {state} {times} times"


def _stands(row: Row, version: int, ended: str) -> bool:
    """Whether the job looks as it must after a worker was told that its version had ended so."""
    if ended == "release":
        return row.version > version
    return row.version == version and row.status in ({"done"} if ended == "complete" else _DEAD)


def all_violations(verdicts: Iterable[Verdict]) -> list[str]:
    """Those of every job table."""
    return [found for verdict in verdicts for found in verdict.violations()]
