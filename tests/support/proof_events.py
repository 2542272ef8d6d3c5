"""All that can happen in the proof, how often, when, and with which details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from tests.support.proof_passes import GOES_ON, KILLED, STOPPED, Cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from tests.support.proof_machine import QueueMachine

_WHO = st.integers(0, 2)
_EITHER = st.booleans()
# By how many seconds a worker's clock is ahead: -45 makes its leases of 30 s end before they begin.
_OFFSETS = st.sampled_from([0, 0, 0, 7, 45, -7, -45])
# Some jobs have been tried before: the next attempt of one with 2 is its last.
ATTEMPTS = st.sampled_from([0, 1, 2, 2])
_MEANWHILE = st.tuples(
    st.sampled_from(["heartbeat", "complete", "fail", "claim", "end", "time", "reap", "agent", "column"]), _WHO
)
_CUTS = st.none() | st.builds(
    Cut,
    at=st.sampled_from([1, 2, 2, 3, 4, 4, 5, 6]),
    meanwhile=st.lists(_MEANWHILE, max_size=3).map(tuple),
    ending=st.sampled_from([GOES_ON, KILLED, STOPPED]),
)
_MOST_JOBS = 14


class Event(NamedTuple):
    """A method of the machine, how often it is chosen beside others, when it fits, and its arguments."""

    name: str
    weight: int
    fits: Callable[[QueueMachine], object]
    arguments: dict[str, SearchStrategy[Any]]


EVENTS = (
    Event(
        "time_passes",
        2,
        lambda _: True,
        {"seconds": st.sampled_from([1, 4, 9, 31, 60, 310]), "dice": st.sampled_from([0, 0.5, 0.75])},
    ),
    Event(
        "time_comes_to_an_edge",
        4,
        lambda machine: machine.edges(),
        {
            "which": st.integers(0, 3),
            "beside": st.sampled_from([-1, 0, 0, 1]),
            "stale": st.integers(0, 7),
            "reap": _EITHER,
        },
    ),
    Event(
        "enqueue",
        2,
        lambda machine: len(machine.world.enqueued) < _MOST_JOBS,
        {
            "attempts": st.lists(ATTEMPTS, min_size=1, max_size=4),
            "delay": st.sampled_from([0, 0, 0, 40]),
            "stranded": st.integers(0, 4),
        },
    ),
    Event(
        "claim",
        4,
        lambda machine: machine.world.model.due() and machine.idle(),
        {"workers": st.integers(1, 3), "offset": _OFFSETS, "leave_open": _EITHER},
    ),
    Event(
        "worker_goes_on",
        5,
        lambda machine: machine.working(),
        {
            "who": _WHO,
            "what": st.sampled_from(["heartbeat", "complete", "fail"]),
            "offset": _OFFSETS,
            "leave_open": _EITHER,
        },
    ),
    Event("transaction_ends", 3, lambda machine: machine.in_transaction(), {"who": _WHO, "commit": _EITHER}),
    Event("worker_dies", 1, lambda machine: machine.busy(), {"who": _WHO}),
    Event("agent_acts", 3, lambda machine: machine.edges(), {"who": st.integers(0, 1), "cut": _CUTS}),
    Event("the_interval_passes", 3, lambda machine: machine.edges(), {"second_first": _EITHER}),
    Event("somebody_reaps", 2, lambda machine: machine.edges(), {"include_stale": _EITHER, "cut": _CUTS}),
    Event(
        "somebody_retries_the_dead",
        2,
        lambda machine: machine.world.model.deceased(),
        {"rate": st.sampled_from([0, 0.1, 2]), "extra_attempts": st.sampled_from([None, None, 1]), "cut": _CUTS},
    ),
    Event(
        "agent_dies",
        1,
        lambda machine: machine.connected(),
        {"who": _WHO, "offset": st.sampled_from([-600, 0, 600]), "session_only": _EITHER},
    ),
    Event(
        "column_is_added",
        2,
        lambda machine: machine.world.may_add_column(),
        {"to_dead": _EITHER, "default": st.sampled_from([None, "none yet"])},
    ),
)


def what_may_happen(machine: QueueMachine) -> SearchStrategy[tuple[str, dict[str, Any]]]:
    """One of the events that fit now, with its arguments."""
    fitting = [event for event in EVENTS if event.fits(machine) for _ in range(event.weight)]
    return st.sampled_from(fitting).flatmap(
        lambda event: st.tuples(st.just(event.name), st.fixed_dictionaries(event.arguments))
    )
