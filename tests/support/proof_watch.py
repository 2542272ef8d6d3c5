"""What a pass over the jobs may do and what it must do, held against what it did."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tests.support.proof_fates import Standing

if TYPE_CHECKING:
    from tests.support.proof_fates import Action
    from tests.support.proof_model import Model
    from tests.support.proof_stage import Snapshot, Stage

_FIRST_NUMBER = re.compile(r"\d+")


class Watch:
    """Begins before a pass; is paused while others act in the middle of it; ends after it.

    A row that is not in `may` must not be touched at all. Those in `must` have to be taken. `changed`: each job that
    was, and what became of it.
    """

    def __init__(self, stage: Stage, model: Model, action: Action) -> None:
        self._stage, self._model, self.action = stage, model, action
        self.may = action.takes()
        self.must = set(self.may)
        self.changed: list[tuple[int, str]] = []
        self._moments = [stage.clock.seconds]
        self._exported = stage.exported()
        self._before = self._look()

    def settle(self) -> None:
        """Take over into the model what the pass has done so far, if it was allowed to."""
        after = self._stage.snapshot()
        taken: dict[int, Standing] = {}
        for job, before in self._before.prints.items():
            if after.prints.get(job) != before:
                assert job in self.may, f"job {job} was touched, and must not be: {self._standing(self._before, job)}"
                taken[job] = self._judge(job, after)
        for job, now in taken.items():
            self._model.put(job, now.row, moved=now.moved)
        self._must_be_as_the_model_says(after)
        self._before = after

    def go_on(self) -> None:
        """Others have acted in the middle of the pass; the model knows what they did."""
        unchanged = {
            job for job in self.may if self._standing(self._before, job) == Standing(*self._model.standing(job))
        }
        still = self.action.takes()
        self.may = (still | unchanged) - set(self._model.held)
        self.must &= unchanged & still
        self._moments.append(self._stage.clock.seconds)
        self._before = self._look()

    def end(self, counted: Counter[str], *, whole: bool) -> None:
        """The pass is over: hold its results, the metrics and the log against what has happened in the tables."""
        self.settle()
        done = Counter(outcome for _, outcome in self.changed)
        if whole:
            left = self.must - {job for job, _ in self.changed}
            assert not left, f"in nobody's hands, but not taken: {left}"
        assert done == +counted, f"{done} has happened, and {counted} was told"
        exported = {name: value - self._exported[name] for name, value in self._stage.exported().items()}
        assert exported == {name: done[name] for name in exported}
        if self._stage.ground.logged:
            logged = [(int(_FIRST_NUMBER.findall(key)[0]), outcome) for key, outcome in self._stage.new_log_rows()]
            assert sorted(logged) == sorted(self.changed)

    def _look(self) -> Snapshot:
        snapshot = self._stage.snapshot()
        self._must_be_as_the_model_says(snapshot)
        return snapshot

    def _must_be_as_the_model_says(self, found: Snapshot) -> None:
        assert (found.jobs, found.dead) == (self._model.jobs, self._model.dead)

    def _standing(self, snapshot: Snapshot, job: int) -> Standing:
        moved = job in snapshot.dead
        return Standing(snapshot.dead[job] if moved else snapshot.jobs[job], moved)

    def _judge(self, job: int, after: Snapshot) -> Standing:
        assert job in after.prints, f"job {job} is lost"
        was, now = self._standing(self._before, job), self._standing(after, job)
        outcome = self.action.outcome(was, now, self._moments)
        assert outcome, f"job {job} was\n{was}\nand is now\n{now}"
        self.changed.append((job, outcome))
        return now
