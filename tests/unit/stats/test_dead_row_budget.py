"""How many dead rows a claim bears, by what claims have cost: on made-up looks, with noise."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgq_ops.stats.dead_row_budget import DEFAULT_ROWS, LEAST_ROWS, MOST_ROWS, derive

if TYPE_CHECKING:
    from collections.abc import Callable

Pairs = tuple[tuple[int, int], ...]


def looks(cost: Callable[[int, random.Random], float], *, most: int = 8_000, number: int = 240) -> Pairs:
    """Claims while dead rows rise from 0 and are vacuumed away, again and again."""
    chance = random.Random(7)
    dead = [round(most * ((step * 7) % 60) / 59) for step in range(number)]
    return tuple((rows, round(cost(rows, chance))) for rows in dead)


def risen(slope: float) -> Pairs:
    """Claims that read 4 pages, and so many more for each dead row."""
    return looks(lambda dead, _: 4 + dead * slope)


def test_the_budget_is_where_claims_come_to_read_what_is_bearable() -> None:
    # 50 pages at 4,600: 4 and one for each 100.
    budget = derive(risen(0.01))
    assert budget.rows == pytest.approx(4_600, rel=0.02)
    assert budget.reason.startswith(
        "claims read 4 pages at best and 10.0 more for each 1,000 dead rows (240 looks, up to"
    )
    assert budget.reason.endswith(f"50 pages at {budget.rows:,}")


def test_noise_and_outliers_do_not_bend_it_and_nine_of_ten_claims_keep_to_it() -> None:
    def noisy(dead: int, chance: random.Random) -> float:
        spike = 2_000 if chance.random() < 0.05 else 0
        return 4 + dead / 100 + chance.uniform(0, 10) + spike

    budget = derive(looks(noisy))
    # Nine of ten have up to 9.5 pages of noise, worth 950 rows; in the middle it is 5.
    assert 3_500 < budget.rows < 3_950


def test_what_claims_would_read_beyond_what_was_seen_is_reckoned_by_the_same_slope() -> None:
    """Otherwise a budget that is kept to would soon be forgotten, and found again."""
    small = derive(looks(lambda dead, _: 4 + dead / 100, most=1_500)).rows
    assert small == pytest.approx(4_600, rel=0.05)


@pytest.mark.parametrize(("pages_a_row", "rows"), [(1, LEAST_ROWS), (0.0001, MOST_ROWS)])
def test_it_is_kept_within_its_limits_and_says_so(pages_a_row: float, rows: int) -> None:
    budget = derive(looks(lambda dead, _: 4 + dead * pages_a_row, most=200_000))
    assert budget.rows == rows
    assert budget.reason.endswith("which is kept within 500 and 50,000")


def test_claims_of_many_partitions_may_read_twice_what_they_read_at_best() -> None:
    budget = derive(looks(lambda dead, _: 300 + dead / 100, most=40_000))
    assert budget.rows == pytest.approx(30_000, rel=0.02)
    assert "600 pages at" in budget.reason


def test_dead_rows_that_are_not_in_the_way_may_be_as_many_as_were_seen() -> None:
    budget = derive(looks(lambda _, chance: chance.choice([3, 4, 5]), most=20_000))
    assert budget.rows == 20_000
    assert budget.reason == "claims read up to 5 pages, at up to 20,000 dead rows too (240 looks)"
    assert derive(looks(lambda _, chance: chance.choice([3, 4, 5]), most=90_000)).rows == MOST_ROWS


def test_few_dead_rows_that_cost_nothing_say_nothing_of_more() -> None:
    budget = derive(looks(lambda _, chance: chance.choice([3, 4, 5]), most=900))
    assert budget.rows == DEFAULT_ROWS
    assert budget.reason == "claims read up to 5 pages, at up to 900 dead rows: 5,000 by default"


@pytest.mark.parametrize(("others", "told"), [(1, False), (30, True)])
def test_it_takes_looks_at_different_numbers_of_dead_rows(others: int, told: bool) -> None:  # noqa: FBT001
    budget = derive([(0, 3)] * others + [(1_200, 15)] * 60)
    assert budget.rows == (4_700 if told else DEFAULT_ROWS)


def test_claims_that_are_dear_whatever_is_dead_tell_nothing() -> None:
    budget = derive(looks(lambda _, chance: chance.choice([3, 900, 1_000])))
    assert budget.rows == DEFAULT_ROWS
    assert (
        budget.reason == "claims read 1,000 pages and more, whether there are many dead rows or few: 5,000 by default"
    )


def test_claims_that_are_cheaper_with_more_dead_rows_tell_nothing() -> None:
    assert derive(looks(lambda dead, _: 900 - dead / 10)).rows == DEFAULT_ROWS


@pytest.mark.parametrize(("number", "told"), [(19, False), (20, True)])
def test_it_takes_some_looks(number: int, told: bool) -> None:  # noqa: FBT001
    budget = derive(looks(lambda dead, _: 4 + dead / 100, number=number))
    assert (budget.rows == DEFAULT_ROWS) is not told
    assert (budget.reason == "19 looks at the claim do not tell yet (20 would): 5,000 by default") is not told


def test_without_any_look_it_is_the_default() -> None:
    assert derive(()).rows == DEFAULT_ROWS


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**6)), max_size=120))
def test_whatever_was_seen_it_is_within_its_limits_and_has_a_reason(claims: list[tuple[int, int]]) -> None:
    budget = derive(claims)
    assert LEAST_ROWS <= budget.rows <= MOST_ROWS
    assert budget.reason


@settings(max_examples=25)
@given(st.floats(0.002, 0.05), st.floats(1.2, 4))
def test_the_more_a_dead_row_costs_the_fewer_are_borne(slope: float, times: float) -> None:
    cheap, dear = derive(risen(slope)).rows, derive(risen(slope * times)).rows
    assert dear <= cheap
