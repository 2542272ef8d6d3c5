"""Whatever workers, reapers, deaths, clocks and migrations do, in whatever order: nothing is lost or done twice.

`make proof` makes many and longer runs, and makes one that fails as short as can be. PGQ_OPS_PROOF_SEED repeats it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.proof_ground import GROUNDS
from tests.support.proof_machine import QueueMachine
from tests.support.proof_stage import Stage

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.proof_ground import Ground

# As many as the default suite has time for: about 250 steps a job table.
FEW_EXAMPLES, STEPS = 6, 40
MANY_EXAMPLES = int(os.environ.get("PGQ_OPS_PROOF_EXAMPLES", "0"))
SEED = int(os.environ.get("PGQ_OPS_PROOF_SEED", "1"))
# To make a failing run short takes minutes: `make proof` does.
PHASES = (Phase.generate, Phase.shrink) if MANY_EXAMPLES else (Phase.generate,)


@pytest.mark.timeout(0 if MANY_EXAMPLES else 300)
@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.name)
def test_nothing_is_lost_or_done_twice_in_any_order_of_events(database: Database, ground: Ground) -> None:
    print(f"PGQ_OPS_PROOF_SEED={SEED}")  # noqa: T201 (shown where it fails)

    @hypothesis.seed(f"{SEED} {ground.name}")
    class Machine(QueueMachine):
        stage = Stage(database, ground)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=MANY_EXAMPLES or FEW_EXAMPLES,
            stateful_step_count=STEPS,
            phases=PHASES,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    seen = Machine.stage.seen
    print(ground.name, ", ".join(f"{what}: {number}" for what, number in sorted(seen.items())))  # noqa: T201 (-rP)
    assert set(seen) >= {"requeued", "dead_lettered", "retried"}, "the runs have tried next to nothing"
